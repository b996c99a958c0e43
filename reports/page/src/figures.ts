// Buttons at every chart: as SVG and as a sheet of its own at the width of a column, and its data.
import { button, make } from "./dom";
import { paperOf, printSheet, svgFile, type Paper } from "./paper";
import { saveFile } from "./save";

const kColumnMillimetres = 84;
const kTextMillimetres = 174;
/// Drawings at least so wide do not fit a column.
const kWide = 600;

const csvs = new WeakMap<Element, () => string>();

/// The data of a figure that the script draws.
export function keepCsv(figure: Element, csv: () => string): void {
  csvs.set(figure, csv);
}

/// The one shown: the script's stands before the page's own.
const drawingOf = (figure: HTMLElement) =>
  figure.querySelector<SVGSVGElement>("svg:not(.swatch)");

function sheetOf(figure: HTMLElement): Paper | null {
  const svg = drawingOf(figure);
  if (!svg) return null;
  const wide = svg.viewBox.baseVal.width >= kWide;
  const title = titleOf(figure);
  const titled = !svg.classList.contains("overview");
  return paperOf(svg, title, titled, wide ? kTextMillimetres : kColumnMillimetres);
}

function titleOf(figure: HTMLElement): string {
  const caption = figure.querySelector("figcaption");
  return (caption?.firstChild?.textContent ?? "chart").trim();
}

/// "staleness AD-PSGD": a title that only names an algorithm, after the kind of its drawing.
function nameOf(figure: HTMLElement, title: string): string {
  const id = figure.querySelector("svg > title")?.id ?? "";
  const kind = /^(timeline|staleness|pairing|topology)-/.exec(id)?.[1];
  return kind ? `${kind} ${title}` : title;
}

/// Figures below `root` that have a drawing and no buttons yet. Those of the static charts are not
/// shown beside the script's.
export function addFigureButtons(root: ParentNode): void {
  for (const figure of root.querySelectorAll<HTMLElement>("figure")) {
    if (figure.closest(".panels") || figure.querySelector(":scope > .save")) continue;
    const csv = csvs.get(figure);
    const values = figure.dataset["values"];
    if (!csv && !drawingOf(figure)) continue;
    const name = nameOf(figure, titleOf(figure));
    const one = (kind: string, title: string, act: () => void) =>
      button(kind, { "aria-label": `${kind}: ${name}`, title }, act);
    const withSheet = (act: (sheet: Paper) => void) => () => {
      const sheet = sheetOf(figure);
      if (sheet) act(sheet);
    };
    const saveSvg = (sheet: Paper) => saveFile(`${name}.svg`, "image/svg+xml", svgFile(sheet));
    const saveCsv = () =>
      saveFile(`${name}.csv`, "text/csv;charset=utf-8", csv?.() ?? values ?? "");
    figure.append(
      make(
        "div",
        { class: "save" },
        one("SVG", "Save as SVG", withSheet(saveSvg)),
        one(
          "PDF",
          "Print this chart alone, or save it as PDF",
          withSheet((sheet) => void printSheet(sheet, name)),
        ),
        ...(csv || values ? [one("CSV", "Save as CSV", saveCsv)] : []),
      ),
    );
  }
}
