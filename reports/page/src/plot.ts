// One chart: uPlot draws axes, means and the cursor; bands, seeds and bounds are drawn under them.
import uPlot from "uplot";
import { placeAxis, valueAxis } from "./axes";
import { chartTable } from "./chart_table";
import { curvesOf, heights, nearest, type ChartCurves } from "./curve";
import { curveSvg } from "./curve_svg";
import type { AxisData, ChartData } from "./data";
import { make } from "./dom";
import { quoted } from "./csv";
import { keepSavable } from "./figures";
import { drawMarkers, drawUnderMeans, projection, type Projection } from "./lines";
import { formatPlace } from "./numbers";
import { fitted, type Range } from "./range";
import { fillReadout, finalValues, lastValues, valuesAt, type Reading } from "./readout";
import { addCsvButtons } from "./tables";
import { swatch, theme } from "./theme";

/// What the charts of a sweep point show alike. Null as the window: all of it.
export interface PointState {
  axis: AxisData;
  window: Range | null;
  full: Range;
  logarithmicX: boolean;
  /// Null: as each chart is by default.
  logarithmicY: boolean | null;
  bands: boolean;
  seeds: boolean;
  cursor: number | null;
}

/// What a chart asks of the point it belongs to.
export interface PlotOwner {
  readonly state: PointState;
  moveCursor(x: number | null, from: Plot): void;
  zoomTo(window: Range | null): void;
}

const kShortestDrag = 5;

export class Plot {
  readonly figure: HTMLElement;
  readonly surface: HTMLElement;
  private readonly readout = make("p", { class: "readout" });
  private readonly notes = make("div");
  private readonly fold = make("details", {}, make("summary", {}, "Data"));
  private uplot: uPlot | null = null;
  private held: { axis: string; curves: ChartCurves } | null = null;
  private height: Range = { min: 0, max: 1 };
  private linking = false;

  constructor(
    public chart: ChartData,
    private readonly owner: PlotOwner,
    hintId: string,
  ) {
    this.surface = make("div", {
      class: "surface",
      tabindex: "0",
      role: "img",
      "aria-label": chart.title,
      "aria-describedby": hintId,
    });
    this.figure = make(
      "figure",
      { class: "plot", "data-chart": chart.id },
      make("figcaption", {}, chart.title),
      this.surface,
      this.readout,
      this.notes,
      this.fold,
    );
    this.fold.addEventListener("toggle", () => this.tabulate());
    keepSavable(this.figure, this);
  }

  get drawn(): boolean {
    return this.uplot !== null;
  }

  get logarithmic(): boolean {
    return this.owner.state.logarithmicY ?? this.chart.logarithmic;
  }

  curves(): ChartCurves {
    const axis = this.owner.state.axis.key;
    if (this.held?.axis !== axis) this.held = { axis, curves: curvesOf(this.chart, axis) };
    return this.held.curves;
  }

  /// Newer data of the same chart; draws again what is drawn.
  replace(chart: ChartData): void {
    this.chart = chart;
    this.held = null;
  }

  /// Draws from nothing: after the axis or a scale changed, or the first time.
  build(): void {
    this.uplot?.destroy();
    this.uplot = new uPlot(this.options(), this.alignedMeans(), this.surface);
    this.describe();
    this.showCursor(this.owner.state.cursor);
  }

  /// Draws again after the window changed.
  showWindow(): void {
    if (!this.uplot) return;
    this.uplot.setScale("x", this.window());
    this.describe();
    this.showCursor(this.owner.state.cursor);
  }

  /// Draws again after colours, bands or seeds changed.
  redraw(): void {
    this.uplot?.redraw(false, true);
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.surface;
    if (this.uplot && width > 0 && (width !== this.uplot.width || height !== this.uplot.height))
      this.uplot.setSize({ width, height });
  }

  /// As it is now, for a file.
  svg(): SVGSVGElement {
    const { axis, logarithmicX, bands, seeds } = this.owner.state;
    this.fitHeight();
    return curveSvg(this.curves(), {
      width: 420,
      height: 236,
      title: this.chart.title,
      axis,
      window: this.window(),
      heightRange: this.height,
      logarithmicX,
      logarithmicY: this.logarithmic,
      bands,
      seeds,
      names: true,
    });
  }

  /// Every cell of every mean, also outside the window.
  csv(): string {
    const rows = this.curves().groups.flatMap(({ label, band: { x, mean, low, high } }) =>
      Array.from(x, (at, k) =>
        [quoted(label), at, mean[k], low[k], high[k]]
          .map((value) => (Number.isNaN(value) ? "" : String(value)))
          .join(","),
      ),
    );
    return [`label,${this.owner.state.axis.key},mean,ci_low,ci_high`, ...rows, ""].join("\n");
  }

  /// The cursor at x, and what is there in words; without a cursor, each group's last values.
  showCursor(x: number | null): void {
    if (!this.uplot) return;
    const left = x === null ? -10 : this.uplot.valToPos(x, "x");
    this.linking = true;
    this.uplot.setCursor(
      { left: left >= 0 && left <= this.uplot.over.clientWidth ? left : -10, top: 0 },
      false,
    );
    this.linking = false;
    this.readOut(x);
  }

  /// While the chart has the focus, screen readers are told what its cursor finds.
  announce(on: boolean): void {
    if (on) this.readout.setAttribute("aria-live", "polite");
    else this.readout.removeAttribute("aria-live");
  }

  private window(): Range {
    return this.owner.state.window ?? this.owner.state.full;
  }

  private readOut(x: number | null): void {
    const { axis, window } = this.owner.state;
    const curves = this.curves();
    const k = x === null ? -1 : nearest(curves.grid, x);
    const place = curves.grid[k];
    if (place === undefined)
      fillReadout(
        this.readout,
        window ? "at the right edge" : "final",
        this.lastReadings(),
      );
    else
      fillReadout(
        this.readout,
        `${axis.label}: ${formatPlace(axis.key, place, 4)}`,
        valuesAt(curves, k, this.chart.logarithmic),
      );
  }

  /// The page's final values; zoomed in, what the curves show at the right edge.
  private lastReadings(): Reading[] {
    const { window } = this.owner.state;
    return window ? lastValues(this.curves(), window.max) : finalValues(this.chart.groups);
  }

  private describe(): void {
    const { axis } = this.owner.state;
    const values = this.lastReadings().map(({ label, text }) => `${label} ${text}`);
    const scale = this.logarithmic ? ", logarithmic scale" : "";
    this.surface.setAttribute(
      "aria-label",
      `${this.chart.title} against ${axis.label}${scale}. ` +
        `${this.owner.state.window ? "At the right edge" : "Final values"}: ${values.join("; ") || "none"}.`,
    );
    this.notes.replaceChildren(
      ...this.curves().bounds.map((bound) =>
        make("p", { class: "note bound" }, swatch(bound.style), `${bound.label}: ${bound.note}`),
      ),
    );
    this.tabulate();
  }

  private tabulate(): void {
    if (!this.fold.open) return;
    const name = `curve-${this.chart.id}`.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    const { axis } = this.owner.state;
    const table = chartTable(this.chart.title, this.curves(), axis, this.window(), name);
    this.fold.replaceChildren(...[...this.fold.children].slice(0, 1), table);
    addCsvButtons(this.fold);
  }

  private alignedMeans(): uPlot.AlignedData {
    const { grid, groups } = this.curves();
    const floor = this.logarithmic ? 0 : -Infinity;
    const means = groups.map(({ onGrid }) =>
      grid.map((_, k) => {
        const mean = onGrid.mean[k] ?? NaN;
        return mean > floor ? mean : null;
      }),
    );
    return [grid, ...means];
  }

  private options(): uPlot.Options {
    const { logarithmicX } = this.owner.state;
    const logarithmicY = this.logarithmic;
    return {
      width: this.surface.clientWidth,
      height: this.surface.clientHeight,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { size: 7 },
        bind: {
          dblclick: () => () => {
            this.owner.zoomTo(null);
            return null;
          },
        },
      },
      scales: {
        x: {
          time: false,
          distr: logarithmicX ? 3 : 1,
          range: () => {
            const { min, max } = this.window();
            return [min, max];
          },
        },
        y: { distr: logarithmicY ? 3 : 1, range: () => this.fitHeight() },
      },
      series: [
        {},
        ...this.curves().groups.map(({ style }) => ({
          stroke: () => theme().colour(style),
          width: 1.9,
          dash: theme().dash(style),
          points: { show: false },
        })),
      ],
      axes: [placeAxis(this.owner.state.axis, logarithmicX), valueAxis(logarithmicY)],
      hooks: {
        drawAxes: [(plot) => this.drawUnder(plot)],
        draw: [(plot) => drawMarkers(plot.ctx, plot.bbox, this.placement(plot), this.curves(), theme())],
        setCursor: [(plot) => this.cursorMoved(plot)],
        setSelect: [(plot) => this.selected(plot)],
      },
    };
  }

  private fitHeight(): [number, number] {
    const found = heights(this.curves(), this.window(), this.logarithmic);
    this.height = fitted(found?.min ?? NaN, found?.max ?? NaN, this.logarithmic);
    return [this.height.min, this.height.max];
  }

  private placement(plot: uPlot): Projection {
    return projection(
      plot.bbox,
      this.window(),
      this.height,
      this.owner.state.logarithmicX,
      this.logarithmic,
      devicePixelRatio,
    );
  }

  private drawUnder(plot: uPlot): void {
    const at = this.placement(plot);
    drawUnderMeans(plot.ctx, plot.bbox, at, this.curves(), theme(), this.owner.state);
  }

  private cursorMoved(plot: uPlot): void {
    if (this.linking) return;
    const left = plot.cursor.left ?? -1;
    this.owner.moveCursor(left < 0 ? null : plot.posToVal(left, "x"), this);
    this.readOut(this.owner.state.cursor);
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width === 0) return;
    const window = { min: plot.posToVal(left, "x"), max: plot.posToVal(left + width, "x") };
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width >= kShortestDrag) this.owner.zoomTo(window);
  }
}
