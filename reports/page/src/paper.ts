// A single drawing of the page, on light paper, with its title and the page's font.
import { make, makeSvg } from "./dom";

const kFont = "DejaVu Sans Condensed";
const kTitleRoom = 17;
const kTitleBaseline = 10;

export interface Paper {
  svg: SVGSVGElement;
  title: string;
  /// Millimetres.
  width: number;
  height: number;
}

/// With its title above it, unless it has one inside.
export function paperOf(
  drawing: SVGSVGElement,
  title: string,
  titled: boolean,
  millimetres: number,
): Paper {
  const svg = drawing.cloneNode(true) as SVGSVGElement;
  for (const part of svg.querySelectorAll("title, desc, .over")) part.remove();
  const { width, height } = svg.viewBox.baseVal;
  const room = titled ? kTitleRoom : 0;
  if (titled) {
    const place = { class: "heading", x: "0", y: String(kTitleBaseline - room) };
    svg.append(makeSvg("text", place, title));
  }
  svg.setAttribute("viewBox", `0 ${-room} ${width} ${height + room}`);
  return { svg, title, width: millimetres, height: (millimetres * (height + room)) / width };
}

const fontOf = (from: Document): string => from.getElementById("acid-font")?.textContent ?? "";

/// The default looks of shapes.
const kPlain: Record<string, string> = {
  fill: "#000000",
  stroke: "none",
  "stroke-width": "1",
  "stroke-dasharray": "none",
  "stroke-linejoin": "miter",
  opacity: "1",
};

/// "rgb(26, 26, 26)" → "#1a1a1a".
function plainColour(computed: string): string {
  if (computed === "rgba(0, 0, 0, 0)") return "none";
  return computed.replace(/^rgb\((\d+), (\d+), (\d+)\)$/, (_, ...parts) =>
    parts.slice(0, 3).reduce((hex, part) => hex + Number(part).toString(16).padStart(2, "0"), "#"),
  );
}

/// Writes looks as attributes instead of the style sheet's classes: for programs that read a file,
/// independent of the reader's screen and scheme.
function writeOut(element: Element): void {
  const style = getComputedStyle(element);
  if (style.display === "none") return element.remove();
  // Elements inside get their looks from these classes too.
  for (const child of [...element.children]) writeOut(child);
  const looks = Object.keys(kPlain).map((name) => {
    const value = plainColour(style.getPropertyValue(name)).replace(/px|,/g, "");
    return [name, value] as const;
  });
  const size = style.fontSize.replace("px", "");
  for (const name of element.getAttributeNames())
    if (/^(class|id|role|href|tabindex|data-.*|aria-.*)$/.test(name)) element.removeAttribute(name);
  if (!/^(path|rect|circle|text)$/.test(element.tagName)) return;
  if (looks.every(([name, value]) => !/^(fill|stroke)$/.test(name) || value === "none"))
    return element.remove();
  for (const [name, value] of looks) if (value !== kPlain[name]) element.setAttribute(name, value);
  if (element.tagName === "text") element.setAttribute("font-size", size);
}

/// Uses up the sheet's drawing.
export function svgFile({ svg, title, width, height }: Paper): string {
  const holder = make("div", { class: "for-paper", "aria-hidden": "true" }, svg);
  document.body.append(holder);
  writeOut(svg);
  holder.remove();
  svg.setAttribute("width", `${width}mm`);
  svg.setAttribute("height", `${height.toFixed(3)}mm`);
  const font = `src:url(data:font/ttf;base64,${fontOf(document)})`;
  const rules = `@font-face{font-family:acid;${font}}text{font-family:acid,'${kFont}',sans-serif}`;
  svg.prepend(makeSvg("title", {}, title), makeSvg("style", {}, rules));
  return `${new XMLSerializer().serializeToString(svg)}\n`;
}

/// Prints only the sheet, or lets the reader's browser make a file of it: vectors and text, as
/// large as the sheet.
export async function printSheet({ svg, width, height }: Paper, name: string): Promise<void> {
  const { classList } = document.documentElement;
  if (classList.contains("alone")) return;
  const font = Uint8Array.from(atob(fontOf(document)), (c) => c.charCodeAt(0));
  document.fonts.add(await new FontFace("acid", font).load());
  const size = new CSSStyleSheet();
  // A little higher than the drawing, so that rounding does not begin a second page.
  size.replaceSync(`@page{size:${width}mm ${(height + 0.4).toFixed(2)}mm;margin:0}`);
  const sheet = make("div", { class: "sheet" }, svg);
  const { title, body } = document;
  addEventListener(
    "afterprint",
    () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== size);
      classList.remove("alone");
      sheet.remove();
      document.title = title;
    },
    { once: true },
  );
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, size];
  classList.add("alone");
  body.append(sheet);
  document.title = name;
  print();
}
