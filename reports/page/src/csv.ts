// A table's text by RFC 4180, with the exact value of a cell before its rounded one.

export interface Cell {
  value: string;
  columns: number;
  rows: number;
}

const kFormula = /^[=+\-@\t\r]/;
const kNumber = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-?(inf|infinity|nan)$/i;

/// Quoted if it holds a separator; a quote inside is doubled. Text that a spreadsheet would take
/// for a formula gets an apostrophe before it, as in the files that acid writes.
export function quoted(text: string): string {
  const safe = kFormula.test(text) && !kNumber.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/// The lines of such a text, each with its end; a line break inside quotes ends none.
export function linesOf(csv: string): string[] {
  return csv.match(/(?:"[^"]*"|[^"\n])*\n|(?:"[^"]*"|[^"\n])+$/g) ?? [];
}

/// One line per row. A cell over several columns or rows is repeated, so that lines are complete.
export function csvOf(table: Cell[][]): string {
  const grid: string[][] = table.map(() => []);
  table.forEach((cells, row) => {
    let column = 0;
    for (const cell of cells) {
      while (grid[row]?.[column] !== undefined) ++column;
      for (let down = 0; down < cell.rows && row + down < grid.length; ++down)
        for (let along = 0; along < cell.columns; ++along) {
          const line = grid[row + down];
          if (line) line[column + along] = cell.value;
        }
    }
  });
  return grid
    .map((line) => Array.from(line, (value) => quoted(value ?? "")).join(",") + "\r\n")
    .join("");
}
