// A single drawing of the page, on light paper, with its title and the page's font.
import { make, makeSvg } from "./dom";
import { markerOf } from "./theme";

const kFont = "DejaVu Sans Condensed";
const kTitleRoom = 17;
const kTitleBaseline = 10;
const kLine = 13;
/// Wide enough for bold text.
const kCharacter = 6.2;
const kLegendMark = 12;
const kLegendGap = 12;

export interface Paper {
  svg: SVGSVGElement;
  title: string;
  /// Millimetres.
  width: number;
  height: number;
}

/// What a picture has above its drawing.
export interface PaperHead {
  title: string;
  /// The names of its curves, where they are not beside them.
  legend?: { label: string; style: number }[];
  notes?: string[];
}

/// Lines of at most so many characters; a longer word has a line of its own, and is cut.
export function linesWithin(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const whole of text.split(" ")) {
    const word = whole.length > most ? `${whole.slice(0, most - 1)}…` : whole;
    const line = lines[lines.length - 1];
    if (line !== undefined && line.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/// Places of names one after another, in rows of this width.
export function legendPlaces(labels: string[], width: number): { x: number; row: number }[] {
  let [x, row] = [0, 0];
  return labels.map((label) => {
    const here = kLegendMark + kCharacter * label.length;
    if (x > 0 && x + here > width) [x, row] = [0, row + 1];
    const place = { x, row };
    x += here + kLegendGap;
    return place;
  });
}

/// Its lines, and the height that they take.
function headOf({ title, legend, notes }: PaperHead, width: number): [SVGElement[], number] {
  let y = kTitleBaseline;
  const parts: SVGElement[] = [];
  const add = (role: string, words: string) => {
    parts.push(makeSvg("text", { class: role, x: "0", y: String(y) }, words));
    y += kLine;
  };
  const most = Math.floor(width / kCharacter);
  for (const line of linesWithin(title, most)) add("heading", line);
  const names = (legend ?? []).map(({ label }) => linesWithin(label, most - 4).join(" "));
  const places = legendPlaces(names, width);
  places.forEach(({ x, row }, k) => {
    const style = legend?.[k]?.style ?? 0;
    const baseline = y + row * kLine;
    const place = `translate(${x + 5} ${baseline - 3.5}) scale(.042)`;
    parts.push(
      makeSvg("path", { class: `mark s${style}`, transform: place, d: markerOf(style) }),
      makeSvg("text", { class: "figures", x: String(x + kLegendMark), y: String(baseline) },
        names[k] ?? ""),
    );
  });
  if (places.length > 0) y += kLine * ((places[places.length - 1]?.row ?? 0) + 1);
  for (const note of notes ?? []) for (const line of linesWithin(note, most)) add("name", line);
  return [parts, y - kTitleBaseline + kTitleRoom - kLine];
}

/// With its head above it, unless it has one inside.
export function paperOf(
  drawing: SVGSVGElement,
  head: PaperHead,
  titled: boolean,
  millimetres: number,
): Paper {
  const svg = drawing.cloneNode(true) as SVGSVGElement;
  for (const part of svg.querySelectorAll("title, desc, .over")) part.remove();
  const { width, height } = svg.viewBox.baseVal;
  const [parts, room] = titled ? headOf(head, width) : [[], 0];
  if (titled)
    svg.append(makeSvg("g", { transform: `translate(0 ${-room})` }, ...parts));
  svg.setAttribute("viewBox", `0 ${-room} ${width} ${height + room}`);
  const { title } = head;
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
