// Numbers for people, in the forms of reports/numbers.cpp: the same value gives the same text in
// the terminal, in the page's tables and under the cursor.
import type { AxisKey } from "./data";

function exponentOf(value: number): number {
  return value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
}

function isPlain(value: number): boolean {
  const exponent = exponentOf(value);
  return exponent >= -4 && exponent <= 5;
}

/// "1.500" → "1.5", "20.0" → "20".
function withoutTrailingZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/// "1.50e-7" → "1.50e-07".
function scientific(value: number, decimals: number): string {
  const [mantissa = "", exponent = ""] = value.toExponential(decimals).split("e");
  return `${mantissa}e${exponent.charAt(0)}${exponent.slice(1).padStart(2, "0")}`;
}

export function formatNumber(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  if (!isPlain(value)) return scientific(value, Math.min(digits - 1, 100));
  const decimals = Math.min(100, Math.max(0, digits - 1 - exponentOf(value)));
  return withoutTrailingZeros(value.toFixed(decimals));
}

/// Both numbers to the same decimal place, two significant digits of the half-width.
export function formatPlusMinus(value: number, half: number): string {
  if (!Number.isFinite(value) || !Number.isFinite(half) || half <= 0)
    return `${formatNumber(value)} ± ${formatNumber(half)}`;
  const larger = Math.max(Math.abs(value), half);
  const scale = isPlain(larger) ? 1 : Math.pow(10, exponentOf(larger));
  const most = Math.max(0, 7 - exponentOf(larger / scale));
  const decimals = Math.min(most, Math.max(0, 1 - exponentOf(half / scale)));
  let spread = (half / scale).toFixed(decimals);
  if (half / scale < Math.pow(10, -decimals)) spread = formatNumber(half / scale, 2);
  const text = `${(value / scale).toFixed(decimals)} ± ${spread}`;
  if (scale === 1) return text;
  const exponent = exponentOf(larger);
  return `(${text})e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/// A mean with its interval: "0.94 ± 0.01", "0.9 [0.5, 1.6]" where the interval is not symmetric
/// (a geometric mean's), the mean alone where there is no interval, "–" without a value.
export function formatInterval(mean: number, low: number, high: number): string {
  if (!Number.isFinite(mean)) return "–";
  if (!(high > low)) return formatNumber(mean);
  const above = high - mean;
  const skew = Math.abs(above - (mean - low));
  // Float32 leaves 7 digits of each end, so the two halves may differ by that much.
  if (skew <= 1e-2 * above + 1e-6 * Math.abs(mean)) return formatPlusMinus(mean, (high - low) / 2);
  return `${formatNumber(mean)} [${formatNumber(low, 3)}, ${formatNumber(high, 3)}]`;
}

type Unit = [size: number, name: string];
const kCounts: Unit[] = [
  [1, ""],
  [1e3, "k"],
  [1e6, "M"],
  [1e9, "G"],
];
const kBytes: Unit[] = [
  [1, " B"],
  [1e3, " kB"],
  [1e6, " MB"],
  [1e9, " GB"],
  [1e12, " TB"],
];

function inUnits(value: number, units: Unit[], digits: number): string {
  if (!Number.isFinite(value)) return formatNumber(value);
  let [size, name] = units[0] ?? [1, ""];
  for (const unit of units) if (Math.abs(value) >= unit[0]) [size, name] = unit;
  return `${formatNumber(value / size, digits)}${name}`;
}

/// A place on an axis: counts as "20k", bytes as "1.5 GB", all else as numbers.
export function formatPlace(axis: AxisKey, value: number, digits = 3): string {
  if (axis === "gradients") return inUnits(value, kCounts, digits);
  if (axis === "bytes") return inUnits(value, kBytes, digits);
  return formatNumber(value, digits);
}

/// The texts of an axis' ticks: three digits, more if neighbours would look equal, and powers of
/// ten without their zeros.
export function tickTexts(
  ticks: number[],
  format: (value: number, digits: number) => string,
): string[] {
  let gap = Infinity;
  for (let k = 1; k < ticks.length; ++k)
    gap = Math.min(gap, Math.abs((ticks[k] ?? 0) - (ticks[k - 1] ?? 0)));
  return ticks.map((tick) => {
    const needed = Number.isFinite(gap) ? exponentOf(tick) - exponentOf(gap) + 1 : 0;
    return format(tick, Math.min(12, Math.max(3, needed))).replace(/\.?0+e/, "e");
  });
}

/// Names of at most `width` characters; those that differ still do where that can be: if their
/// beginnings do not, "…" is before their ends.
export function shortenedApart(names: string[], width: number): string[] {
  const different = new Set(names).size;
  const cut = (tail: number) =>
    names.map((name) =>
      name.length > width
        ? `${name.slice(0, width - 1 - tail)}…${name.slice(name.length - tail)}`
        : name,
    );
  for (let tail = 0; tail < width - 1; ++tail) {
    const all = cut(tail);
    if (new Set(all).size === different) return all;
  }
  return cut(0);
}
