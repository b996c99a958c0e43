// Buttons at every chart that save it for a paper: as SVG and as PDF at the width of a column, with
// the font within, and its data as CSV.
import { button, make } from "./dom";
import { drawingOf } from "./drawing";
import { pdfFile } from "./drawing_pdf";
import { svgFile } from "./drawing_svg";
import { readFont, type PaperFont } from "./font";
import { saveFile } from "./save";

const kColumnMillimetres = 84;
const kTextMillimetres = 174;
/// Drawings at least so wide do not fit a column.
const kWide = 600;

/// What a figure that is drawn on a canvas has for files.
export interface Savable {
  svg(): SVGSVGElement;
  csv(): string;
}

const savable = new WeakMap<Element, Savable>();

export function keepSavable(figure: Element, what: Savable): void {
  savable.set(figure, what);
}

function save(figure: HTMLElement, kind: "svg" | "pdf", font: PaperFont): void {
  const title = titleOf(figure);
  const name = nameOf(figure, title);
  const svg = savable.get(figure)?.svg() ?? figure.querySelector("svg:not(.swatch)");
  if (!(svg instanceof SVGSVGElement)) return;
  const wide = svg.viewBox.baseVal.width >= kWide;
  const drawing = drawingOf(svg, title, !svg.classList.contains("overview"));
  const width = wide ? kTextMillimetres : kColumnMillimetres;
  if (kind === "svg") saveFile(`${name}.svg`, "image/svg+xml", svgFile(drawing, width, font));
  else saveFile(`${name}.pdf`, "application/pdf", pdfFile(drawing, width, font));
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
  const font = readFont(document);
  if (!font) return;
  for (const figure of root.querySelectorAll<HTMLElement>("figure")) {
    if (figure.closest(".panels") || figure.querySelector(":scope > .save")) continue;
    if (!savable.has(figure) && !figure.querySelector("svg:not(.swatch)")) continue;
    const name = nameOf(figure, titleOf(figure));
    const one = (kind: string, act: () => void) =>
      button(kind, { "aria-label": `${kind}: ${name}`, title: `Save as ${kind}` }, act);
    const csv = () => savable.get(figure)?.csv() ?? figure.dataset["values"] ?? "";
    figure.append(
      make(
        "div",
        { class: "save" },
        one("SVG", () => save(figure, "svg", font)),
        one("PDF", () => save(figure, "pdf", font)),
        ...(savable.has(figure) || figure.dataset["values"]
          ? [one("CSV", () => saveFile(`${name}.csv`, "text/csv;charset=utf-8", csv()))]
          : []),
      ),
    );
  }
}
