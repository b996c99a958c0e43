// A chart's values at a place in words: every group's mean with its interval, every bound.
import { firstAtLeast, interpolated, type ChartCurves } from "./curve";
import type { ChartGroup } from "./data";
import { make } from "./dom";
import { formatInterval, formatNumber } from "./numbers";
import { swatch } from "./theme";

export interface Reading {
  label: string;
  style: number;
  text: string;
  bound?: boolean;
}

/// The values at one place of the grid. `geometric`: bounds are straight in logarithms.
export function valuesAt(curves: ChartCurves, k: number, geometric: boolean): Reading[] {
  const at = (numbers: ArrayLike<number>) => numbers[k] ?? NaN;
  const x = curves.grid[k] ?? NaN;
  return [
    ...curves.groups.map(({ label, style, zero, onGrid: { mean, low, high } }) => ({
      label,
      style,
      text: zero ? "0" : formatInterval(at(mean), at(low), at(high)),
    })),
    ...curves.bounds.flatMap(({ label, style, line }) => {
      const value = interpolated(line, x, geometric);
      return Number.isNaN(value) ? [] : [{ label, style, text: formatNumber(value), bound: true }];
    }),
  ];
}

/// The page's final values: each group's mean over its runs' last values.
export function finalValues(groups: ChartGroup[]): Reading[] {
  return groups.map(({ label, style, final: [mean, low, high] }) => ({
    label,
    style,
    text: formatInterval(mean ?? NaN, low ?? NaN, high ?? NaN),
  }));
}

/// Each group's last value not after `end`; groups without one are left out.
export function lastValues(curves: ChartCurves, end: number): Reading[] {
  return curves.groups.flatMap(({ label, style, zero, band: { x, mean, low, high } }) => {
    if (zero) return [{ label, style, text: "0" }];
    let k = firstAtLeast(x, end);
    if (k === x.length || (x[k] ?? NaN) > end) --k;
    while (k >= 0 && Number.isNaN(mean[k] ?? NaN)) --k;
    if (k < 0) return [];
    return [{ label, style, text: formatInterval(mean[k] ?? NaN, low[k] ?? NaN, high[k] ?? NaN) }];
  });
}

export function fillReadout(into: HTMLElement, place: string, readings: Reading[]): void {
  into.replaceChildren(
    make("span", { class: "place" }, place),
    ...readings.map(({ label, style, text, bound }) =>
      make(
        "span",
        bound ? { class: "bound" } : {},
        swatch(style),
        make("b", { dir: "auto" }, label),
        " ",
        text,
      ),
    ),
  );
}
