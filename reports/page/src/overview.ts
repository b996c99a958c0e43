// The overview of a sweep: the rows that are shown, and their drawings.
import { linesOf } from "./csv";
import { make } from "./dom";
import { keepCsv, keepSheet, titleOf } from "./figures";

/// The settings of a sweep: swept keys, each setting's values of them, and its number of lines in
/// the overview's data.
export interface Settings {
  keys: string[];
  values: string[][];
  lines: number[];
}

/// The head of the overview's data, and the lines of these settings.
export function dataOf(csv: string, settings: Settings, shown: number[]): string {
  const [head = "", ...lines] = linesOf(csv);
  let from = 0;
  const begins = settings.lines.map((count) => (from += count) - count);
  return [
    head,
    ...shown.flatMap((k) => {
      const begin = begins[k] ?? 0;
      return lines.slice(begin, begin + (settings.lines[k] ?? 0));
    }),
  ].join("");
}

/// By number of the setting: shown if every key has its chosen value; null: any.
export function chosenSettings(settings: Settings, wanted: (string | null)[]): number[] {
  return settings.values.flatMap((values, k) =>
    wanted.every((value, key) => value === null || values[key] === value) ? [k] : [],
  );
}

/// A key's values, in the order they come.
export function valuesOf(settings: Settings, key: number): string[] {
  return [...new Set(settings.values.map((values) => values[key] ?? ""))];
}

/// "task.partition.alpha" → "partition.alpha", as in the drawing's heads.
export const briefKey = (key: string): string => key.split(".").slice(-2).join(".");

function placeOf(row: Element): number {
  return Number(/ ([\d.]+)\)/.exec(row.getAttribute("transform") ?? "")?.[1] ?? 0);
}

/// Moves the rows together over hidden ones.
function reflow(svg: SVGSVGElement, shown: Set<number>, top: number, each: number): void {
  const legend = placeOf(svg.querySelector("g.below-legend") ?? svg);
  let y = top;
  for (const row of svg.querySelectorAll<SVGAElement>("a.row")) {
    const here = shown.has(Number(row.dataset["point"]));
    row.classList.toggle("gone", !here);
    if (!here) continue;
    row.setAttribute("transform", `translate(0 ${y})`);
    y += each;
  }
  const box = svg.viewBox.baseVal;
  svg.setAttribute("viewBox", `0 0 ${box.width} ${legend + y + 4}`);
}

export class Overview {
  private readonly svg: SVGSVGElement;
  private readonly facets = make("div", { class: "facets" });
  private readonly top: number;
  private readonly each: number;

  constructor(
    private readonly figure: HTMLElement,
    private readonly settings: Settings,
    choose: (setting: number) => void,
  ) {
    const svg = figure.querySelector("svg");
    if (!svg) throw new Error("the overview has no drawing");
    this.svg = svg;
    const rows = [...svg.querySelectorAll("a.row")].map(placeOf);
    this.top = rows[0] ?? 0;
    this.each = (rows[1] ?? 0) - this.top;
    (svg.closest(".scroll") ?? svg).after(this.facets);
    figure.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<SVGAElement>("a.row");
      if (!row) return;
      event.preventDefault();
      choose(Number(row.dataset["point"]));
    });
  }

  mark(setting: number): void {
    for (const row of this.figure.querySelectorAll<SVGAElement>("a.row"))
      row.classList.toggle("chosen", Number(row.dataset["point"]) === setting);
  }

  /// Shows one drawing, or one for each value of the key `facet`. `filters`: what all the chosen
  /// have in common by choice, in words.
  show(chosen: number[], facet: number | null, filters: string[]): void {
    this.facets.replaceChildren();
    this.svg.closest(".scroll")?.classList.toggle("gone", facet !== null);
    const csv = this.figure.dataset["values"] ?? "";
    const saved = (figure: HTMLElement, settings: number[], words: string[]) => {
      const title = [titleOf(this.figure), ...(words.length > 0 ? [words.join(", ")] : [])];
      keepSheet(figure, () => ({ title: title.join(": ") }));
      if (csv) keepCsv(figure, () => dataOf(csv, this.settings, settings));
    };
    saved(this.figure, chosen, filters);
    if (facet === null) return reflow(this.svg, new Set(chosen), this.top, this.each);
    for (const value of valuesOf(this.settings, facet)) {
      const here = chosen.filter((k) => this.settings.values[k]?.[facet] === value);
      if (here.length === 0) continue;
      const title = `${briefKey(this.settings.keys[facet] ?? "")} = ${value}`;
      const copy = this.svg.cloneNode(true) as SVGSVGElement;
      copy.removeAttribute("aria-labelledby");
      copy.setAttribute("aria-label", title);
      for (const one of copy.querySelectorAll("[id]")) one.removeAttribute("id");
      reflow(copy, new Set(here), this.top, this.each);
      const figure = make(
        "figure",
        { class: "chart" },
        make("figcaption", {}, title),
        make("div", { class: "scroll" }, copy),
      );
      saved(figure, here, [...filters, title]);
      this.facets.append(figure);
    }
  }
}
