// Colours and dashes as the style sheet has them now: canvases cannot inherit them.

export interface Theme {
  ink: string;
  soft: string;
  rule: string;
  paper: string;
  font: string;
  colour(style: number): string;
  dash(style: number): number[];
}

const kColours = 5;
const kFamilies =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

/// "90px, 28px" → [9, 2.8]: the swatches are drawn in tenths of a pixel.
export function dashOf(strokeDasharray: string): number[] {
  const numbers = strokeDasharray.split(/[\s,]+/).map(parseFloat);
  return numbers.every((value) => value >= 0) ? numbers.map((value) => value / 10) : [];
}

function readTheme(): Theme {
  const root = getComputedStyle(document.documentElement);
  const colour = (name: string) => root.getPropertyValue(name).trim() || "#888";
  const colours = Array.from({ length: kColours }, (_, k) => colour(`--k${k}`));
  const dashes = new Map<number, number[]>();
  return {
    ink: colour("--ink"),
    soft: colour("--soft"),
    rule: colour("--rule"),
    paper: colour("--paper"),
    font: `11px ${kFamilies}`,
    colour: (style) => colours[style % kColours] ?? "#888",
    dash(style) {
      let dash = dashes.get(style);
      if (!dash) {
        const line = document.querySelector(`svg.swatch.s${style} .mean`);
        dash = line ? dashOf(getComputedStyle(line).strokeDasharray) : [];
        dashes.set(style, dash);
      }
      return dash;
    },
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

/// A copy of the legend's line for a style, to stand before text; nothing where there is none.
export function swatch(style: number): Node[] {
  const drawn = document.querySelector(`svg.swatch.s${style}`);
  return drawn ? [drawn.cloneNode(true)] : [];
}
