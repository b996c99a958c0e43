// The font of files, as the page has it (reports/html/page.cpp).

export interface PaperFont {
  /// TrueType, in base64.
  file: string;
  /// By code point: its number in the file, and its width in thousandths of the size.
  glyphs: Record<string, [number: number, width: number]>;
  /// Of all others.
  missing: [number, number];
}

/// Null in a page without one.
export function readFont(from: Document): PaperFont | null {
  const text = from.getElementById("acid-font")?.textContent;
  return text ? (JSON.parse(text) as PaperFont) : null;
}

export const glyphOf = (font: PaperFont, character: string): [number, number] =>
  font.glyphs[character.codePointAt(0) ?? 0] ?? font.missing;

/// As wide as the text is at a size.
export function textWidth(font: PaperFont, text: string, size: number): number {
  let sum = 0;
  for (const character of text) sum += glyphOf(font, character)[1];
  return (sum * size) / 1000;
}
