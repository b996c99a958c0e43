// The charts of one sweep point: axis, zoom, cursor and switches are shared by all of them.
import { reach, reaches } from "./curve";
import type { AxisData, ChartData, PageData } from "./data";
import { button, make } from "./dom";
import { Plot, type PointState } from "./plot";
import { View } from "./view";

type Switch = "logX" | "logY" | "bands" | "seeds";

export class Point {
  private readonly state: PointState;
  private readonly view = new View(
    () => this.draw(),
    () => this.plots.forEach((plot) => plot.showCursor()),
  );
  private readonly plots: Plot[];
  private readonly area = make("div", { class: "plots" });
  private readonly tools: HTMLElement;
  private readonly switches: Record<Switch, HTMLButtonElement>;
  private begun = false;
  private place: HTMLElement | null = null;
  private readonly seen = new IntersectionObserver((entries) => this.cameNear(entries), {
    rootMargin: "600px",
  });

  /// Puts charts and switches into `place`, a `.curves` element of the page. `before`: the point
  /// that this one replaces, with the reader's settings.
  constructor(
    place: HTMLElement,
    readonly number: number,
    private axes: AxisData[],
    charts: ChartData[],
    before?: Point,
  ) {
    this.state = before?.state ?? {
      axis: axes[0] ?? { key: "gradients", label: "gradients" },
      logarithmicY: null,
      bands: true,
      seeds: true,
    };
    this.view.window = before?.view.window ?? null;
    this.view.logarithmic = before?.view.logarithmic ?? false;
    const toggle = (which: Switch, text: string) => button(text, {}, () => this.toggle(which));
    this.switches = {
      logX: toggle("logX", "log x"),
      logY: toggle("logY", "log y"),
      bands: toggle("bands", "bands"),
      seeds: toggle("seeds", "seeds"),
    };
    const hintId = `plots-hint-${number}`;
    this.tools = make(
      "div",
      { class: "tools", role: "group", "aria-label": "How the curves are drawn" },
      ...Object.values(this.switches),
      button("reset zoom", {}, () => this.view.zoomTo(null)),
      // Written once; the other points' charts refer to hidden ones of their own.
      make(
        "span",
        { class: "note", id: hintId, ...(number > 0 && { hidden: "" }) },
        "Drag to zoom. In a focused chart: arrows move the cursor, + and − zoom, 0 resets.",
      ),
    );
    this.plots = charts.map((chart) => new Plot(chart, this.state, this.view, hintId));
    this.arrange();
    this.attach(place);
    this.showSwitches();
  }

  /// Moves charts and switches into the element that replaced theirs, with newer data. Returns
  /// false if the charts are others: then the point must be made anew.
  adopt(place: HTMLElement, data: PageData, charts: ChartData[]): boolean {
    const sameCharts =
      charts.length === this.plots.length &&
      charts.every(
        (chart, k) =>
          chart.id === this.plots[k]?.chart.id && chart.folded === this.plots[k]?.chart.folded,
      );
    if (!sameCharts) {
      this.seen.disconnect();
      return false;
    }
    this.axes = data.axes;
    charts.forEach((chart, k) => this.plots[k]?.replace(chart));
    this.attach(place);
    return true;
  }

  /// For paper, including the charts that were never near.
  drawAll(): void {
    if (this.area.isConnected) this.begin(this.plots);
  }

  private draw(): void {
    for (const plot of this.plots) if (plot.drawn) plot.draw();
  }

  /// Puts secondary charts under a fold of their own.
  private arrange(): void {
    const grid = (folded: boolean) => {
      const plots = this.plots.filter(({ chart }) => (chart.folded ?? false) === folded);
      return make("div", { class: "grid-of-plots" }, ...plots.map(({ figure }) => figure));
    };
    const more = grid(true);
    this.area.append(grid(false));
    if (more.firstChild)
      this.area.append(make("details", {}, make("summary", {}, "More curves"), more));
    for (const { surface } of this.plots) this.seen.observe(surface.element);
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
    if (axis.key !== this.state.axis.key) this.view.cursor = this.view.window = null;
    this.state.axis = axis;
    this.rebuild();
  }

  /// Called after a change of the axis, its scale or the data. Decodes nothing before a chart is
  /// near.
  private rebuild(): void {
    const { axis } = this.state;
    // Not every run has a place on every axis.
    for (const { figure, chart } of this.plots) figure.hidden = !reaches(chart, axis.key);
    if (!this.begun) return;
    const found = reach(
      this.plots.map((plot) => plot.curves()),
      this.view.logarithmic,
    );
    this.view.reach(found ?? { min: 0.1, max: 1 });
    this.draw();
  }

  private toggle(which: Switch): void {
    const { state, view } = this;
    if (which === "logX") view.logarithmic = !view.logarithmic;
    if (which === "logY") state.logarithmicY = this.nextLogarithmicY();
    if (which === "bands" || which === "seeds") state[which] = !state[which];
    this.showSwitches();
    this.rebuild();
  }

  /// As each chart is → all logarithmic → none → as each chart is; if all charts are of one kind,
  /// only between the two kinds.
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
    const { bands, seeds, logarithmicY } = this.state;
    const logY = logarithmicY ?? this.commonLogarithmicY() ?? "mixed";
    const pressed = { logX: this.view.logarithmic, logY, bands, seeds };
    for (const which of ["logX", "logY", "bands", "seeds"] as const)
      this.switches[which].setAttribute("aria-pressed", String(pressed[which]));
  }

  private cameNear(entries: IntersectionObserverEntry[]): void {
    const near = entries.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target);
    this.begin(this.plots.filter(({ surface }) => near.includes(surface.element)));
  }

  private begin(plots: Plot[]): void {
    if (plots.length === 0) return;
    if (!this.begun) {
      this.begun = true;
      this.rebuild();
    }
    for (const plot of plots) {
      this.seen.unobserve(plot.surface.element);
      if (!plot.drawn) plot.draw();
    }
  }
}
