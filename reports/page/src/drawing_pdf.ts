// A drawing as PDF 1.7 (ISO 32000-1): one page, and one font that holds its glyphs by number (9.7).
// As reports/figure/figure_pdf.cpp writes it.
import { short, type Drawing, type Item } from "./drawing";
import { glyphOf, textWidth, type PaperFont } from "./font";

const kPointsPerMillimetre = 72 / 25.4;
const kRoundness = 0.5522847498; // of a quarter circle's control points

const operands = (...numbers: number[]): string =>
  numbers.map((value) => short(value, 4)).join(" ");

function colour(hex: string): string {
  return operands(...[1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255));
}

/// Path data of SVG, of the commands that drawings use, as the operators of a page.
export function pathOperators(data: string): string {
  const tokens = data.match(/[a-z]|-?\d*\.?\d+(?:e-?\d+)?/gi) ?? [];
  const out: string[] = [];
  let [k, command] = [0, "M"];
  let [x, y, beginX, beginY] = [0, 0, 0, 0];
  const number = (): number => {
    const value = Number(tokens[k++] ?? NaN);
    if (Number.isNaN(value)) throw new Error(`path data: ${data.slice(0, 80)}`);
    return value;
  };
  const to = (nextX: number, nextY: number, operator: string) => {
    [x, y] = [nextX, nextY];
    out.push(`${operands(x, y)} ${operator}`);
  };
  /// Half a circle to a point on the same level.
  const halfCircle = (dx: number) => {
    const [r, c, middle, top] = [dx / 2, (kRoundness * dx) / 2, x + dx / 2, y - dx / 2];
    out.push(`${operands(x, y - c, middle - c, top, middle, top)} c`);
    out.push(`${operands(middle + c, top, x + dx, y - c, x + 2 * r, y)} c`);
    x += dx;
  };
  while (k < tokens.length) {
    if (/[a-z]/i.test(tokens[k] ?? "")) command = tokens[k++] ?? "";
    const relative = command >= "a";
    const [fromX, fromY] = relative ? [x, y] : [0, 0];
    switch (command.toLowerCase()) {
      case "m":
        to(fromX + number(), fromY + number(), "m");
        [beginX, beginY] = [x, y];
        command = relative ? "l" : "L";
        break;
      case "l":
        to(fromX + number(), fromY + number(), "l");
        break;
      case "h":
        to(fromX + number(), y, "l");
        break;
      case "v":
        to(x, fromY + number(), "l");
        break;
      case "a": {
        for (let flag = 0; flag < 5; ++flag) number();
        const dx = number();
        number();
        halfCircle(dx);
        break;
      }
      case "z":
        out.push("h");
        [x, y] = [beginX, beginY];
        break;
      default:
        throw new Error(`path command ${command}`);
    }
  }
  return out.join("\n");
}

const hex = (value: number): string => value.toString(16).toUpperCase().padStart(4, "0");

function textOperators({ text, anchor, x, y, look }: Item, font: PaperFont): string {
  const width = textWidth(font, text, look.size);
  const shift = anchor === "end" ? width : anchor === "middle" ? width / 2 : 0;
  const glyphs = [...text].map((character) => hex(glyphOf(font, character)[0])).join("");
  return `BT /F1 ${short(look.size)} Tf 1 0 0 -1 ${operands(x - shift, y)} Tm <${glyphs}> Tj ET`;
}

/// Graphics states by opacity: /G30 is 0.30.
const percent = ({ look }: Item): number => Math.round(100 * look.opacity);

function itemOperators(item: Item, font: PaperFont): string {
  const { look, scale, dx, dy, clip, path } = item;
  const [fills, strokes] = [look.fill !== "none", look.stroke !== "none"];
  const lines = ["q"];
  if (clip) lines.push(`${operands(clip.left, clip.top, clip.width, clip.height)} re W n`);
  lines.push(`${short(scale, 6)} 0 0 ${short(scale, 6)} ${operands(dx, dy)} cm /G${percent(item)} gs`);
  if (fills) lines.push(`${colour(look.fill)} rg`);
  if (strokes) lines.push(`${colour(look.stroke)} RG ${short(look.width)} w [${look.dash}] 0 d`);
  if (path) lines.push(pathOperators(path), fills && strokes ? "B" : fills ? "f" : "S");
  else lines.push(textOperators(item, font));
  return [...lines, "Q"].join("\n");
}

/// From glyphs back to characters, so that text can be searched and copied.
function unicodeMap(characters: string[], font: PaperFont): string {
  const lines = characters.map((character) => {
    const [glyph] = glyphOf(font, character);
    return `1 beginbfchar <${hex(glyph)}> <${hex(character.codePointAt(0) ?? 0)}> endbfchar`;
  });
  return [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
    "/CMapName /acid def /CMapType 2 def",
    "1 begincodespacerange <0000> <FFFF> endcodespacerange",
    ...lines,
    "endcmap end end",
  ].join("\n");
}

const stream = (content: string, more = ""): string =>
  `<< /Length ${content.length}${more} >>\nstream\n${content}\nendstream`;

function objectsOf(drawing: Drawing, points: number, font: PaperFont): string[] {
  const { width, height, items } = drawing;
  const used = new Set(items.flatMap(({ text }) => [...text]));
  const characters = [...used].filter((character) => (character.codePointAt(0) ?? 0) in font.glyphs).sort();
  const states = [...new Set(items.map(percent))].sort((a, b) => a - b);
  const widths = characters.map((character) => glyphOf(font, character));
  const unit = points / width;
  const content = [
    `${short(unit, 6)} 0 0 ${short(-unit, 6)} 0 ${operands(unit * height)} cm 1 j`,
    ...items.map((item) => itemOperators(item, font)),
  ].join("\n");
  const name = "ACIDFG+DejaVuSansCondensed";
  const file = atob(font.file);
  return [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${operands(points, unit * height)}] ` +
      "/Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /ExtGState << " +
      states.map((p) => `/G${p} << /ca ${p / 100} /CA ${p / 100} >> `).join("") +
      ">> >> >>",
    stream(content),
    `<< /Type /Font /Subtype /Type0 /BaseFont /${name} /Encoding /Identity-H ` +
      "/DescendantFonts [6 0 R] /ToUnicode 8 0 R >>",
    `<< /Type /Font /Subtype /CIDFontType2 /BaseFont /${name} /CIDSystemInfo << /Registry ` +
      "(Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 7 0 R " +
      `/CIDToGIDMap /Identity /DW 600 /W [ ${widths.map(([id, w]) => `${id} [${w}] `).join("")}] >>`,
    `<< /Type /FontDescriptor /FontName /${name} /Flags 4 /FontBBox [-918 -463 1614 1232] ` +
      "/ItalicAngle 0 /Ascent 928 /Descent -236 /CapHeight 729 /StemV 80 /FontFile2 9 0 R >>",
    stream(unicodeMap(characters, font)),
    stream(file, ` /Length1 ${file.length}`),
  ];
}

/// `millimetres` wide.
export function pdfFile(drawing: Drawing, millimetres: number, font: PaperFont) {
  let out = "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";
  let table = "";
  const objects = objectsOf(drawing, millimetres * kPointsPerMillimetre, font);
  objects.forEach((object, k) => {
    table += `${String(out.length).padStart(10, "0")} 00000 n \n`;
    out += `${k + 1} 0 obj\n${object}\nendobj\n`;
  });
  out +=
    `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n` +
    `<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${out.length}\n%%EOF\n`;
  return Uint8Array.from(out, (character) => character.charCodeAt(0));
}
