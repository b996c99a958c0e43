// Parts common to all drawings: texts, and the axis below.
import { makeSvg } from "./dom";
import type { Projection } from "./lines";

/// A drawing, and the places of values in it.
export interface Drawn {
  svg: SVGSVGElement;
  at: Projection;
}

/// In tenths of a unit: shapes scaled by .1 have short numbers.
export const tenths = (value: number): number => Math.round(10 * value);

export const scaled = (...parts: SVGElement[]): SVGElement =>
  makeSvg("g", { transform: "scale(.1)" }, ...parts);

export function label(
  x: number,
  y: number,
  anchor: "start" | "middle" | "end",
  words: string,
  role?: string,
): SVGElement {
  const place = { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor };
  return makeSvg("text", { ...place, ...(role && { class: role }) }, words);
}

/// The height of an axis below the box.
export const kAxisRoom = 34;

/// Adds an axis with ticks at these values and a name.
export function placeAxis(
  at: Projection,
  marks: number[],
  texts: string[],
  name: string,
): SVGElement[] {
  const { left, width } = at.box;
  const ticks = marks.map((value) => `M${at.x(value).toFixed(1)} ${at.bottom}v4`);
  return [
    makeSvg("path", { class: "grid", d: ticks.join("") }),
    makeSvg("path", { class: "axis", d: `M${left} ${at.bottom}h${width}` }),
    ...marks.map((value, k) => label(at.x(value), at.bottom + 16, "middle", texts[k] ?? "")),
    label(left + width / 2, at.bottom + 31, "middle", name, "name"),
  ];
}
