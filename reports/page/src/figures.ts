// Buttons at every chart: save as SVG, print as a sheet as wide as a column, save its data.
import { button, make } from "./dom";
import { paperOf, printSheet, svgFile, type Paper, type PaperHead } from "./paper";
import { saveFile } from "./save";

const kColumnMillimetres = 84;
const kTextMillimetres = 174;
/// Drawings at least this wide do not fit a column.
const kWide = 600;

const csvs = new WeakMap<Element, () => string>();
const heads = new WeakMap<Element, () => PaperHead>();

/// Keeps the data of a figure that the script draws.
export function keepCsv(figure: Element, csv: () => string): void {
  csvs.set(figure, csv);
}

/// Keeps what a figure's picture alone needs above it, other than its caption.
export function keepSheet(figure: Element, head: () => PaperHead): void {
  heads.set(figure, head);
}

/// The visible drawing: the script's is before the page's own.
const drawingOf = (figure: HTMLElement) =>
  figure.querySelector<SVGSVGElement>("svg:not(.swatch)");

function sheetOf(figure: HTMLElement): Paper | null {
  const svg = drawingOf(figure);
  if (!svg) return null;
  const wide = svg.viewBox.baseVal.width >= kWide;
  const head = heads.get(figure)?.() ?? { title: titleOf(figure) };
  const titled = !svg.classList.contains("overview");
  return paperOf(svg, head, titled, wide ? kTextMillimetres : kColumnMillimetres);
}

export function titleOf(figure: HTMLElement): string {
  const caption = figure.querySelector("figcaption");
  return (caption?.firstChild?.textContent ?? "chart").trim();
}

/// "staleness AD-PSGD": a title that only names an algorithm gets the kind of its drawing.
function nameOf(figure: HTMLElement, title: string): string {
  const id = figure.querySelector("svg > title")?.id ?? "";
  const kind = /^(timeline|staleness|pairing|topology)-/.exec(id)?.[1];
  return kind ? `${kind} ${title}` : title;
}

/// Adds buttons to figures below `root` that have a drawing and no buttons. Static charts are
/// hidden beside the script's and get none.
export function addFigureButtons(root: ParentNode): void {
  for (const figure of root.querySelectorAll<HTMLElement>("figure")) {
    if (figure.closest(".panels") || figure.querySelector(":scope > .save")) continue;
    const csv = () => csvs.get(figure)?.() ?? figure.dataset["values"] ?? "";
    const hasCsv = csvs.has(figure) || Boolean(figure.dataset["values"]);
    if (!hasCsv && !drawingOf(figure)) continue;
    const name = nameOf(figure, titleOf(figure));
    // A filter changes what is shown, and so the name of its file.
    const fileName = () => nameOf(figure, heads.get(figure)?.().title ?? titleOf(figure));
    const one = (kind: string, title: string, act: () => void) =>
      button(kind, { "aria-label": `${kind}: ${name}`, title }, act);
    const withSheet = (act: (sheet: Paper) => void) => () => {
      const sheet = sheetOf(figure);
      if (sheet) act(sheet);
    };
    const saveSvg = (sheet: Paper) => saveFile(`${fileName()}.svg`, "image/svg+xml", svgFile(sheet));
    const saveCsv = () =>
      saveFile(`${fileName()}.csv`, "text/csv;charset=utf-8", csv());
    figure.append(
      make(
        "div",
        { class: "save" },
        one("SVG", "Save as SVG", withSheet(saveSvg)),
        one(
          "PDF",
          "Print this chart alone, or save it as PDF",
          withSheet((sheet) => void printSheet(sheet, fileName())),
        ),
        ...(hasCsv ? [one("CSV", "Save as CSV", saveCsv)] : []),
      ),
    );
  }
}
