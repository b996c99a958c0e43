// One chart: its curves, and below them the values at the cursor, the theory, and a table.
import { chartTable } from "./chart_table";
import { quoted } from "./csv";
import { curvesOf, heights, nearest, stepped, type ChartCurves } from "./curve";
import { curveSvg, heightOf, namesOf, wordsBelow } from "./curve_svg";
import type { AxisData, ChartData } from "./data";
import { make, makeSvg } from "./dom";
import { keepCsv, keepSheet } from "./figures";
import { clampedY } from "./lines";
import type { PaperHead } from "./paper";
import { formatPlace } from "./numbers";
import { fitted } from "./range";
import { fillReadout, finalValues, lastValues, valuesAt, type Reading } from "./readout";
import { Surface, type Subject } from "./surface";
import { addCsvButtons } from "./tables";
import { swatch } from "./theme";
import type { View } from "./view";

/// The state that the charts of a sweep point share.
export interface PointState {
  axis: AxisData;
  /// Null: each chart's default.
  logarithmicY: boolean | null;
  bands: boolean;
  seeds: boolean;
}

export class Plot implements Subject {
  readonly figure: HTMLElement;
  readonly surface: Surface;
  private readonly notes = make("div");
  private readonly fold = make("details", {}, make("summary", {}, "Data"));
  /// What the drawing leaves out.
  private words: string[] = [];
  private held: { axis: string; curves: ChartCurves } | null = null;

  constructor(
    public chart: ChartData,
    private readonly state: PointState,
    private readonly view: View,
    hintId: string,
  ) {
    this.surface = new Surface(view, this, hintId, chart.title);
    this.figure = make(
      "figure",
      { class: "plot", "data-chart": chart.id },
      make("figcaption", {}, chart.title),
      this.surface.element,
      this.surface.readout,
      this.notes,
      this.fold,
    );
    this.fold.addEventListener("toggle", () => this.tabulate());
    keepCsv(this.figure, () => this.csv());
    keepSheet(this.figure, () => ({ title: this.chart.title, notes: this.words, ...this.wholeNames() }));
  }

  get drawn(): boolean {
    return this.surface.drawn !== null;
  }

  private get logarithmic(): boolean {
    return this.state.logarithmicY ?? this.chart.logarithmic;
  }

  curves(): ChartCurves {
    const axis = this.state.axis.key;
    if (this.held?.axis !== axis) this.held = { axis, curves: curvesOf(this.chart, axis) };
    return this.held.curves;
  }

  /// A legend, if a name beside its curve is cut.
  private wholeNames(): Pick<PaperHead, "legend"> {
    const { groups } = this.curves();
    return namesOf(this.curves()).every((name, k) => name === groups[k]?.label)
      ? {}
      : { legend: groups };
  }

  /// Draws newer data of the same chart.
  replace(chart: ChartData): void {
    this.chart = chart;
    this.held = null;
  }

  draw(): void {
    const { axis, bands, seeds } = this.state;
    const { shown: window, logarithmic: logarithmicX } = this.view;
    const curves = this.curves();
    const found = heights(curves, window, this.logarithmic);
    const drawn = curveSvg(curves, {
      width: 420,
      height: heightOf(curves),
      title: this.chart.title,
      axis,
      window,
      heightRange: found && fitted(found.min, found.max, this.logarithmic),
      logarithmicX,
      logarithmicY: this.logarithmic,
      bands,
      seeds,
      names: true,
    });
    const values = this.lastReadings().map(({ label, text }) => `${label} ${text}`);
    const scale = this.logarithmic ? ", logarithmic scale" : "";
    this.surface.show(
      drawn,
      `${this.chart.title} against ${axis.label}${scale}. ` +
        `${this.view.window ? "At the right edge" : "Final values"}: ` +
        `${values.join("; ") || "none"}.`,
    );
    this.words = found ? wordsBelow(curves, drawn.at) : [];
    this.notes.replaceChildren(
      ...this.words.map((words) => make("p", { class: "note" }, words)),
      ...curves.bounds.map((bound) =>
        make("p", { class: "note bound" }, swatch(bound.style), `${bound.label}: ${bound.note}`),
      ),
    );
    this.tabulate();
    this.showCursor();
  }

  /// Shows the cursor, and its values in words; without a cursor, each group's last values.
  showCursor(): void {
    if (!this.surface.drawn) return;
    const { at } = this.surface.drawn;
    const { axis } = this.state;
    const { cursor, window } = this.view;
    const curves = this.curves();
    const k = cursor === null ? -1 : nearest(curves.grid, cursor);
    const place = curves.grid[k];
    const x = at.x(place ?? 0);
    const heightsThere = curves.groups.flatMap(({ style, onGrid }) => {
      const mean = onGrid.mean[k] ?? NaN;
      const y = at.y(mean);
      return mean > at.floor && y === clampedY(y, at) ? [{ style, y }] : [];
    });
    this.surface.showCursor(
      heightsThere.map(({ style, y }) =>
        makeSvg("circle", { class: `mark s${style}`, cx: String(x), cy: String(y), r: "3" }),
      ),
    );
    const { readout } = this.surface;
    // Curves of such a chart are geometric means; final values are means as everywhere in the page.
    const [geometric, arithmetic] = this.chart.logarithmic
      ? [", geometric means", ", arithmetic means"]
      : ["", ""];
    if (place === undefined)
      fillReadout(
        readout,
        window ? `at the right edge${geometric}` : `final${arithmetic}`,
        this.lastReadings(),
      );
    else
      fillReadout(
        readout,
        `${axis.label}: ${formatPlace(axis.key, place, 4)}${geometric}`,
        valuesAt(curves, k, this.chart.logarithmic),
      );
  }

  next(direction: 1 | -1): number | null {
    return stepped(this.curves().grid, this.view.cursor, direction, this.view.shown);
  }

  end(of: "first" | "last"): number | null {
    const { grid } = this.curves();
    const { min } = this.view.full;
    return (of === "first" ? grid.find((x) => x >= min) : grid[grid.length - 1]) ?? null;
  }

  /// Every cell of every mean, also outside the window.
  private csv(): string {
    const rows = this.curves().groups.flatMap(({ label, band: { x, mean, low, high } }) =>
      Array.from(x, (at, k) =>
        [quoted(label), at, mean[k], low[k], high[k]]
          .map((value) => (Number.isNaN(value) ? "" : String(value)))
          .join(","),
      ),
    );
    return [`label,${this.state.axis.key},mean,ci_low,ci_high`, ...rows, ""].join("\n");
  }

  /// The page's final values; when zoomed in, the values at the right edge.
  private lastReadings(): Reading[] {
    const { window } = this.view;
    return window ? lastValues(this.curves(), window.max) : finalValues(this.chart.groups);
  }

  private tabulate(): void {
    if (!this.fold.open) return;
    const name = `curve-${this.chart.id}`.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    const { axis } = this.state;
    const table = chartTable(this.chart.title, this.curves(), axis, this.view.shown, name);
    this.fold.replaceChildren(...[...this.fold.children].slice(0, 1), table);
    addCsvButtons(this.fold);
  }
}
