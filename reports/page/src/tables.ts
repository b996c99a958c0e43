// A button at every table that downloads it.
import { csvOf, type Cell } from "./csv";
import { button, make } from "./dom";
import { saveFile } from "./save";

function cellOf(cell: HTMLTableCellElement): Cell {
  const text = (cell.textContent ?? "").replace(/\s+/g, " ").trim();
  return { value: cell.dataset["value"] ?? text, columns: cell.colSpan, rows: cell.rowSpan };
}

export function tableCsv(table: HTMLTableElement): string {
  return csvOf([...table.rows].map((row) => [...row.cells].map(cellOf)));
}

/// Adds a button to tables below `root` that have none. The button is before the box that the table
/// scrolls in, so that it stays visible. Static charts are hidden beside the script's and get none.
export function addCsvButtons(root: ParentNode): void {
  for (const table of root.querySelectorAll<HTMLTableElement>("table[data-csv]")) {
    if (table.closest(".panels")) continue;
    const name = table.dataset["csv"] ?? "table";
    const box = table.closest(".scroll") ?? table;
    if (box.previousElementSibling?.classList.contains("csv")) continue;
    box.before(
      make(
        "div",
        { class: "csv" },
        button("CSV", { "aria-label": `CSV: ${name}`, title: `Download ${name}.csv` }, () =>
          saveFile(`${name}.csv`, "text/csv;charset=utf-8", tableCsv(table)),
        ),
      ),
    );
  }
}
