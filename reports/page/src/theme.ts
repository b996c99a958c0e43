// How styles look: colours as the style sheet has them now, since canvases cannot inherit them;
// dashes and markers as the data block has them (reports/drawing/looks.hpp).
import type { Looks } from "./data";
import { makeSvg } from "./dom";

export interface Theme {
  ink: string;
  soft: string;
  rule: string;
  paper: string;
  font: string;
  colour(style: number): string;
  dash(style: number): number[];
}

export const kColours = 8;
let looks: Looks = { dashes: [], markers: [] };

/// Before anything is drawn.
export function setLooks(those: Looks): void {
  looks = those;
}

/// The dash and the marker of a style have the same number.
function shapeOf(style: number): number {
  return ((style % kColours) + Math.floor(style / kColours)) % kColours;
}

/// Path data about 0 0, as far as 100 from it.
export function markerOf(style: number): string {
  return looks.markers[shapeOf(style)] ?? "";
}
const kFamilies =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

/// "90 28" → [9, 2.8]: dashes are in tenths of a pixel.
export function dashOf(tenths: string): number[] {
  const numbers = tenths.split(" ").map(parseFloat);
  return numbers.every((value) => value >= 0) ? numbers.map((value) => value / 10) : [];
}

function readTheme(): Theme {
  const root = getComputedStyle(document.documentElement);
  const colour = (name: string) => root.getPropertyValue(name).trim() || "#888";
  const colours = Array.from({ length: kColours }, (_, k) => colour(`--k${k}`));
  return {
    ink: colour("--ink"),
    soft: colour("--soft"),
    rule: colour("--rule"),
    paper: colour("--paper"),
    font: `11px ${kFamilies}`,
    colour: (style) => colours[style % kColours] ?? "#888",
    dash: (style) => dashOf(looks.dashes[shapeOf(style)] ?? ""),
  };
}

let current: Theme | null = null;

export function theme(): Theme {
  current ??= readTheme();
  return current;
}

/// Calls back after the reader switched between light and dark.
export function onThemeChange(changed: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    current = null;
    changed();
  });
}

/// The legend's line for a style, to stand before text.
export function swatch(style: number): SVGElement {
  return makeSvg(
    "svg",
    { class: `swatch s${style}`, viewBox: "0 0 300 90", "aria-hidden": "true" },
    makeSvg("path", { class: `mean s${style}`, d: "M0 45h300" }),
    makeSvg("path", {
      class: `mark s${style}`,
      transform: "translate(150 45) scale(.42)",
      d: markerOf(style),
    }),
  );
}
