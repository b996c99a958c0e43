// A sweep's page: filters and facets its overview, and unpacks the settings that a reader asks for.
import { curveSvg, wordsBelow } from "./curve_svg";
import { curvesOf, heights, reach, reaches } from "./curve";
import type { ChartData, PageData } from "./data";
import { button, make } from "./dom";
import { addFigureButtons, keepSheet } from "./figures";
import { briefKey, chosenSettings, Overview, valuesOf, type Settings } from "./overview";
import { fitted, robust } from "./range";
import { parsed, unpack } from "./unpack";

interface Details {
  html: string;
  data: PageData;
}

function choice(label: string, options: [value: string, text: string][], chosen: string) {
  const select = make(
    "select",
    { "aria-label": label },
    ...options.map(([value, text]) => make("option", { value }, text)),
  );
  select.value = chosen;
  return select;
}

const labelled = (text: string, select: HTMLSelectElement) => make("label", {}, `${text} `, select);

export class Sweep {
  private settings: Settings = { keys: [], values: [], lines: [] };
  private wanted: (string | null)[] = [];
  private facet: number | null = null;
  private chosen = 0;
  private metric = "";
  private axis = "";
  private overview: Overview | null = null;
  private readonly held = new Map<Element, Promise<Details>>();
  private readonly count = make("span", { class: "note", role: "status" });
  private readonly place = make("div", { class: "one-setting" });
  private readonly many = make("div", { class: "multiples" });
  private picker: HTMLSelectElement | null = null;

  /// `draw`: draws the data of curves and timelines that came into the page.
  constructor(private readonly draw: (data: PageData) => void) {}

  /// Called again after a live page got newer parts; does nothing on a page of few settings.
  attach(): void {
    const figure = document.getElementById("overview-figure");
    const block = document.getElementById("acid-settings");
    const section = document.getElementById("setting");
    if (!figure || !block || !section || figure.dataset["attached"]) return;
    figure.dataset["attached"] = "";
    this.held.clear();
    this.settings = JSON.parse(block.textContent ?? "") as Settings;
    this.wanted.length = this.settings.keys.length;
    this.wanted = Array.from(this.wanted, (value) => value ?? null);
    this.overview = new Overview(figure, this.settings, (setting) => void this.open(setting, true));
    figure.querySelector(".scroll")?.before(this.tools());
    figure.after(this.multiples());
    this.arrange(section);
    this.showRows();
    void this.open(this.chosen, false);
  }

  /// The filters, one for each key, and the facet.
  private tools(): HTMLElement {
    const { keys } = this.settings;
    const filters = keys.map((key, k) => {
      const values = valuesOf(this.settings, k);
      const select = choice(
        briefKey(key),
        [["", "all"], ...values.map((value): [string, string] => [`=${value}`, value])],
        this.wanted[k] === null ? "" : `=${this.wanted[k]}`,
      );
      select.addEventListener("change", () => {
        this.wanted[k] = select.value === "" ? null : select.value.slice(1);
        this.showRows();
      });
      return labelled(briefKey(key), select);
    });
    const facet = choice(
      "one chart for each",
      [["", "no key"], ...keys.map((key, k): [string, string] => [String(k), briefKey(key)])],
      this.facet === null ? "" : String(this.facet),
    );
    facet.addEventListener("change", () => {
      this.facet = facet.value === "" ? null : Number(facet.value);
      this.showRows();
    });
    return make(
      "div",
      { class: "tools", role: "group", "aria-label": "Which settings are shown" },
      ...filters,
      labelled("one chart for each", facet),
      this.count,
    );
  }

  private get shown(): number[] {
    return chosenSettings(this.settings, this.wanted);
  }

  /// What the filters ask for, in words.
  private get filters(): string[] {
    return this.settings.keys.flatMap((key, k) => {
      const value = this.wanted[k] ?? null;
      return value === null ? [] : [`${briefKey(key)} = ${value}`];
    });
  }

  private showRows(): void {
    const { shown } = this;
    this.overview?.show(shown, this.facet, this.filters);
    this.overview?.mark(this.chosen);
    addFigureButtons(document);
    this.count.textContent = `${shown.length} of ${this.settings.values.length} settings`;
    const fold = this.many.closest("details");
    if (fold?.open) void this.drawMany();
  }

  /// The keys that differ among the settings shown, without those that are filtered.
  private titleOf(setting: number, all: boolean): string {
    const values = this.settings.values[setting] ?? [];
    return this.settings.keys
      .flatMap((key, k) =>
        all || this.wanted[k] === null ? [`${briefKey(key)} = ${values[k] ?? ""}`] : [],
      )
      .join(", ");
  }

  private arrange(section: HTMLElement): void {
    const { values } = this.settings;
    const picker = choice(
      "setting",
      values.map((_, k): [string, string] => [String(k), this.titleOf(k, true)]),
      String(this.chosen),
    );
    picker.addEventListener("change", () => void this.open(Number(picker.value), false));
    const step = (by: number) => () =>
      void this.open((this.chosen + by + values.length) % values.length, false);
    this.picker = picker;
    section.append(
      make(
        "div",
        { class: "tools", role: "group", "aria-label": "Which setting is shown" },
        picker,
        button("previous", {}, step(-1)),
        button("next", {}, step(1)),
      ),
      this.place,
    );
  }

  private details(setting: number): Promise<Details | null> {
    const packed = document.querySelector(`script[data-setting="${setting}"]`);
    if (!packed) return Promise.resolve(null);
    let details = this.held.get(packed);
    if (!details) {
      details = unpack(packed).then((text) => JSON.parse(text) as Details);
      this.held.set(packed, details);
    }
    return details;
  }

  private async open(setting: number, scroll: boolean): Promise<void> {
    this.chosen = setting;
    const details = await this.details(setting);
    if (!details || this.chosen !== setting) return;
    if (this.picker) this.picker.value = String(setting);
    this.overview?.mark(setting);
    this.place.replaceChildren(parsed(details.html));
    this.draw(details.data);
    if (scroll) document.getElementById("setting")?.scrollIntoView();
  }

  private multiples(): HTMLElement {
    const fold = make(
      "details",
      { class: "many" },
      make("summary", {}, "Curves of these settings, side by side"),
      this.many,
    );
    fold.addEventListener("toggle", () => {
      if (fold.open) void this.drawMany();
    });
    return fold;
  }

  /// Draws one small chart per setting shown, all on one scale; settings outside it are cut off.
  private async drawMany(): Promise<void> {
    const numbers = this.shown;
    const all = await Promise.all(numbers.map((k) => this.details(k)));
    const first = all.find((one) => one !== null)?.data;
    if (!first || numbers.join() !== this.shown.join()) return;
    const charts = first.charts.filter(({ folded }) => !folded);
    if (!charts.some(({ metric }) => metric === this.metric)) this.metric = charts[0]?.metric ?? "";
    if (!first.axes.some(({ key }) => key === this.axis)) this.axis = first.axes[0]?.key ?? "";
    const axis = first.axes.find(({ key }) => key === this.axis);
    if (!axis) return;
    const drawn = all.flatMap((one, k) => {
      const chart = one?.data.charts.find(({ metric }) => metric === this.metric);
      if (!chart || !reaches(chart, this.axis)) return [];
      const curves = curvesOf(chart, this.axis);
      const window = reach([curves], false) ?? { min: 0, max: 1 };
      return [{ chart, curves, window, setting: numbers[k] ?? 0 }];
    });
    const logarithmic = drawn[0]?.chart.logarithmic ?? false;
    const ranges = drawn.flatMap(({ curves, window }) => heights(curves, window, logarithmic) ?? []);
    const common = robust(ranges, logarithmic);
    const heightRange = fitted(common.min, common.max, logarithmic);
    this.many.replaceChildren(
      this.choices(charts, first),
      make(
        "div",
        { class: "smalls" },
        ...drawn.map(({ chart, curves, window, setting }) => {
          const whole = this.titleOf(setting, true);
          const title = this.titleOf(setting, false) || whole;
          const { svg, at } = curveSvg(curves, {
            width: 260,
            height: 160,
            title: `${chart.title}: ${whole}`,
            axis,
            window,
            heightRange,
            logarithmicX: false,
            logarithmicY: logarithmic,
            bands: true,
            seeds: false,
            names: false,
          });
          const figure = make("figure", { class: "small" }, make("figcaption", {}, title), svg);
          keepSheet(figure, () => ({
            title: `${chart.title}: ${whole}`,
            legend: curves.groups,
            notes: wordsBelow(curves, at),
          }));
          return figure;
        }),
      ),
    );
    addFigureButtons(this.many);
  }

  private choices(charts: ChartData[], { axes }: PageData): HTMLElement {
    const metric = choice(
      "curve",
      charts.map((chart): [string, string] => [chart.metric, chart.title]),
      this.metric,
    );
    const axis = choice(
      "against",
      axes.map(({ key, label }): [string, string] => [key, label]),
      this.axis,
    );
    metric.addEventListener("change", () => {
      this.metric = metric.value;
      void this.drawMany();
    });
    axis.addEventListener("change", () => {
      this.axis = axis.value;
      void this.drawMany();
    });
    return make("div", { class: "tools" }, metric, labelled("against", axis));
  }
}
