// A drawing as an SVG file with its font within.
import { short, type Drawing, type Item, type Look } from "./drawing";
import type { PaperFont } from "./font";

const escaped = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

/// Its name apart from its brackets: no element of the page may seem to end within its script.
const tag = (name: string, content: string): string => `<${name}>${content}</${name}>\n`;

function paint({ fill, stroke, width, dash, opacity }: Look): string {
  let out = ` fill="${fill}"`;
  if (stroke !== "none")
    out += ` stroke="${stroke}" stroke-width="${short(width)}" stroke-linejoin="round"`;
  if (dash) out += ` stroke-dasharray="${dash}"`;
  return opacity < 1 ? `${out} opacity="${opacity}"` : out;
}

function element({ scale, dx, dy, path, text, anchor, x, y, look }: Item): string {
  const moved = scale !== 1 || dx !== 0 || dy !== 0;
  const place = moved
    ? ` transform="translate(${short(dx)} ${short(dy)}) scale(${short(scale, 6)})"`
    : "";
  return path
    ? `<path${paint(look)} d="${path}"${place}/>`
    : `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${look.size}"` +
        `${paint(look)}${place}>${escaped(text)}</text>`;
}

/// What may leave its box is drawn in a view of its own, which cuts it off.
function clipped(item: Item): string {
  if (!item.clip) return element(item);
  const { left, top, width, height } = item.clip;
  const [x, y, w, h] = [left, top, width, height].map((value) => short(value));
  return (
    `<svg x="${x}" y="${y}" width="${w}" height="${h}" viewBox="${x} ${y} ${w} ${h}" ` +
    `overflow="hidden">${element(item)}</svg>`
  );
}

/// `millimetres` wide.
export function svgFile(drawing: Drawing, millimetres: number, font: PaperFont): string {
  const { width, height, title, items } = drawing;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${millimetres}mm" ` +
    `height="${((millimetres * height) / width).toFixed(3)}mm" viewBox="0 0 ${short(width)} ` +
    `${short(height)}">\n` +
    tag("title", escaped(title)) +
    tag(
      "style",
      `@font-face{font-family:acid;src:url(data:font/ttf;base64,${font.file})}` +
        "text{font-family:acid,'DejaVu Sans Condensed',sans-serif}",
    ) +
    `${items.map((item) => clipped(item) + "\n").join("")}</svg>\n`
  );
}
