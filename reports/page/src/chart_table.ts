// A chart's means as a table, for readers who cannot see it or want the numbers.
import { nearest, type Band, type ChartCurves, type Numbers } from "./curve";
import type { AxisData } from "./data";
import { make } from "./dom";
import { formatNumber, formatPlace } from "./numbers";
import type { Range } from "./range";

const kRows = 9;

/// The places of the grid nearest to evenly spread places in the window, each once.
export function spread(grid: number[], window: Range, rows: number): number[] {
  const chosen: number[] = [];
  for (let k = 0; k < rows; ++k) {
    const at = nearest(grid, window.min + ((window.max - window.min) * k) / (rows - 1));
    const x = grid[at];
    if (x !== undefined && x >= window.min && x <= window.max && chosen[chosen.length - 1] !== at)
      chosen.push(at);
  }
  return chosen;
}

interface Column {
  name: string;
  values: Numbers;
}

/// A group's mean, and the ends of its interval if it has one: numbers only, for a file.
export function columnsOf(label: string, { mean, low, high }: Band): Column[] {
  const column = { name: label, values: mean };
  for (let k = 0; k < mean.length; ++k)
    if ((high[k] ?? NaN) > (low[k] ?? NaN))
      return [
        column,
        { name: `${label}, low`, values: low },
        { name: `${label}, high`, values: high },
      ];
  return [column];
}

function numberCell(text: string, exact: number): HTMLTableCellElement {
  const attributes: Record<string, string> = { class: "n" };
  if (Number.isFinite(exact)) attributes["data-value"] = String(exact);
  return make("td", attributes, Number.isFinite(exact) ? text : "–");
}

/// The table in a box that scrolls. `name`: its file's, see tables.ts.
export function chartTable(
  title: string,
  curves: ChartCurves,
  axis: AxisData,
  window: Range,
  name: string,
): HTMLElement {
  const columns = curves.groups.flatMap(({ label, onGrid }) => columnsOf(label, onGrid));
  const head = [axis.label, ...columns.map((column) => column.name)].map((text) =>
    make("th", { class: "n", scope: "col", dir: "auto" }, text),
  );
  const rows = spread(curves.grid, window, kRows).map((k) => {
    const x = curves.grid[k] ?? NaN;
    const cells = columns.map(({ values }) => {
      const value = values[k] ?? NaN;
      return numberCell(formatNumber(value), value);
    });
    return make("tr", {}, numberCell(formatPlace(axis.key, x, 4), x), ...cells);
  });
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `Data: ${title}` },
    make(
      "table",
      { "data-csv": name },
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows),
    ),
  );
}
