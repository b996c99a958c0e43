// The charts of one sweep point: axis, zoom, cursor and switches are shared by all of them.
import { reach, reaches, stepped } from "./curve";
import type { AxisData, ChartData, PageData } from "./data";
import { button, make } from "./dom";
import { actionOf, type Action } from "./keys";
import { Plot, type PlotOwner, type PointState } from "./plot";
import { clamped, panned, revealing, zoomed, type Range } from "./range";

const kZoomStep = 2;
const kPanStep = 0.25;

type Switch = "logX" | "logY" | "bands" | "seeds";

export class Point implements PlotOwner {
  readonly state: PointState;
  private plots: Plot[];
  private readonly area: HTMLElement;
  private readonly tools: HTMLElement;
  private readonly switches: Record<Switch, HTMLButtonElement>;
  private begun = false;
  private place: HTMLElement | null = null;
  private readonly seen = new IntersectionObserver((entries) => this.cameNear(entries), {
    rootMargin: "600px",
  });
  private readonly resized = new ResizeObserver((entries) => {
    for (const { target } of entries) this.plotAt(target)?.resize();
  });

  /// Puts charts and switches into `place`, a `.curves` element of the page. `before`: how the
  /// reader had set the point that this one replaces.
  constructor(
    place: HTMLElement,
    readonly number: number,
    private axes: AxisData[],
    charts: ChartData[],
    before?: PointState,
  ) {
    this.state = {
      axis: axes[0] ?? { key: "gradients", label: "gradients" },
      window: null,
      full: { min: 0, max: 1 },
      logarithmicX: false,
      logarithmicY: null,
      bands: true,
      seeds: true,
      ...before,
      cursor: null,
    };
    this.switches = {
      logX: button("log x", {}, () => this.toggle("logX")),
      logY: button("log y", {}, () => this.toggle("logY")),
      bands: button("bands", {}, () => this.toggle("bands")),
      seeds: button("seeds", {}, () => this.toggle("seeds")),
    };
    const hintId = `plots-hint-${number}`;
    this.tools = make(
      "div",
      { class: "tools", role: "group", "aria-label": "How the curves are drawn" },
      ...Object.values(this.switches),
      button("reset zoom", {}, () => this.zoomTo(null)),
      // Said once; the other points' charts refer to theirs unseen.
      make(
        "span",
        { class: "note", id: hintId, ...(number > 0 && { hidden: "" }) },
        "Drag to zoom. In a focused chart: arrows move the cursor, + and − zoom, 0 resets.",
      ),
    );
    this.plots = charts.map((chart) => new Plot(chart, this, hintId));
    this.area = make("div", { class: "plots" });
    this.arrange();
    this.attach(place);
    this.showSwitches();
  }

  /// Moves charts and switches into the element that replaced theirs, with newer data. False where
  /// the charts are not the same ones: then the point has to be made anew.
  adopt(place: HTMLElement, data: PageData, charts: ChartData[]): boolean {
    const sameCharts =
      charts.length === this.plots.length &&
      charts.every(
        (chart, k) =>
          chart.id === this.plots[k]?.chart.id && chart.folded === this.plots[k]?.chart.folded,
      );
    if (!sameCharts) {
      this.destroy();
      return false;
    }
    this.axes = data.axes;
    charts.forEach((chart, k) => this.plots[k]?.replace(chart));
    this.attach(place);
    return true;
  }

  redraw(): void {
    for (const plot of this.plots) plot.redraw();
  }

  moveCursor(x: number | null, from: Plot): void {
    this.state.cursor = x;
    for (const plot of this.plots) if (plot !== from) plot.showCursor(x);
  }

  zoomTo(window: Range | null): void {
    this.state.window = window && clamped(window, this.state.full, this.state.logarithmicX);
    for (const plot of this.plots) plot.showWindow();
  }

  private destroy(): void {
    this.seen.disconnect();
    this.resized.disconnect();
  }

  /// Secondary charts go under a fold of their own.
  private arrange(): void {
    const figures = (folded: boolean) =>
      this.plots
        .filter(({ chart }) => (chart.folded ?? false) === folded)
        .map(({ figure }) => figure);
    this.area.append(make("div", { class: "grid-of-plots" }, ...figures(false)));
    const more = figures(true);
    if (more.length > 0)
      this.area.append(
        make(
          "details",
          {},
          make("summary", {}, "More curves"),
          make("div", { class: "grid-of-plots" }, ...more),
        ),
      );
    for (const plot of this.plots) {
      this.seen.observe(plot.surface);
      this.resized.observe(plot.surface);
      plot.surface.addEventListener("keydown", (event) => this.pressed(event, plot));
      plot.surface.addEventListener("focus", () => plot.announce(true));
      plot.surface.addEventListener("blur", () => {
        plot.announce(false);
        // A live page takes the focus away and gives it back while it replaces its parts.
        setTimeout(() => {
          if (document.activeElement !== plot.surface) this.setCursor(null);
        });
      });
    }
  }

  private attach(place: HTMLElement): void {
    const panels = place.querySelector(":scope > .panels");
    const picks = [...place.querySelectorAll<HTMLInputElement>(":scope > input.pick")];
    if (place !== this.place) {
      place.insertBefore(this.tools, panels);
      place.insertBefore(this.area, panels);
      for (const pick of picks)
        pick.addEventListener("change", () => {
          if (pick.checked) this.chooseAxis(pick.value);
        });
    }
    this.place = place;
    this.chooseAxis(picks.find((pick) => pick.checked)?.value ?? this.state.axis.key);
  }

  private chooseAxis(key: string): void {
    const axis = this.axes.find((candidate) => candidate.key === key);
    if (!axis) return;
    if (axis.key !== this.state.axis.key) this.state.cursor = this.state.window = null;
    this.state.axis = axis;
    this.rebuild();
  }

  /// After anything that changes what there is to draw. Nothing is decoded before the first chart
  /// has come near.
  private rebuild(): void {
    const { state } = this;
    // Not every run has a place on every axis.
    for (const { figure, chart } of this.plots) figure.hidden = !reaches(chart, state.axis.key);
    if (!this.begun) return;
    state.full = reach(
      this.plots.map((plot) => plot.curves()),
      state.logarithmicX,
    ) ?? { min: 0.1, max: 1 };
    if (state.window) state.window = clamped(state.window, state.full, state.logarithmicX);
    for (const plot of this.plots) if (plot.drawn) plot.build();
  }

  private toggle(which: Switch): void {
    const { state } = this;
    if (which === "logX") state.logarithmicX = !state.logarithmicX;
    if (which === "logY") state.logarithmicY = this.nextLogarithmicY();
    if (which === "bands" || which === "seeds") state[which] = !state[which];
    this.showSwitches();
    if (which === "bands" || which === "seeds") this.redraw();
    else this.rebuild();
  }

  /// As each chart is → all logarithmic → none → as each chart is; where all charts are of one
  /// kind, only between the two kinds.
  private nextLogarithmicY(): boolean | null {
    const before = this.state.logarithmicY ?? this.commonLogarithmicY();
    if (before === null) return true;
    if (before) return false;
    return this.commonLogarithmicY() === null ? null : true;
  }

  private commonLogarithmicY(): boolean | null {
    const first = this.plots[0]?.chart.logarithmic ?? false;
    return this.plots.every(({ chart }) => chart.logarithmic === first) ? first : null;
  }

  private showSwitches(): void {
    const { state } = this;
    const y = state.logarithmicY ?? this.commonLogarithmicY();
    this.switches.logX.setAttribute("aria-pressed", String(state.logarithmicX));
    this.switches.logY.setAttribute("aria-pressed", y === null ? "mixed" : String(y));
    this.switches.bands.setAttribute("aria-pressed", String(state.bands));
    this.switches.seeds.setAttribute("aria-pressed", String(state.seeds));
  }

  private setCursor(x: number | null): void {
    this.state.cursor = x;
    for (const plot of this.plots) plot.showCursor(x);
  }

  private plotAt(surface: Element): Plot | undefined {
    return this.plots.find((plot) => plot.surface === surface);
  }

  private cameNear(entries: IntersectionObserverEntry[]): void {
    for (const { isIntersecting, target } of entries) {
      const plot = this.plotAt(target);
      if (!isIntersecting || !plot || plot.drawn) continue;
      this.seen.unobserve(target);
      if (!this.begun) {
        this.begun = true;
        this.rebuild();
      }
      plot.build();
    }
  }

  private pressed(event: KeyboardEvent, plot: Plot): void {
    const action = actionOf(event);
    if (!plot.drawn || !action || action === "up" || action === "down") return;
    event.preventDefault();
    this.act(action, plot);
  }

  private act(action: Action, plot: Plot): void {
    const { full, logarithmicX: log, cursor } = this.state;
    const window = this.state.window ?? full;
    const { grid } = plot.curves();
    if (action === "reset") return this.zoomTo(null);
    if (action === "in" || action === "out") {
      const factor = action === "in" ? kZoomStep : 1 / kZoomStep;
      const middle = log ? Math.sqrt(window.min * window.max) : (window.min + window.max) / 2;
      return this.zoomTo(zoomed(window, full, factor, cursor ?? middle, log));
    }
    if (action === "panLeft" || action === "panRight")
      return this.zoomTo(panned(window, full, action === "panLeft" ? -kPanStep : kPanStep, log));
    let to = stepped(grid, cursor, action === "left" ? -1 : 1, window);
    if (action === "first") to = grid.find((x) => x >= full.min) ?? null;
    if (action === "last") to = grid[grid.length - 1] ?? null;
    if (to !== null && (to < window.min || to > window.max))
      this.zoomTo(revealing(window, full, to, log));
    this.setCursor(to);
  }
}
