// The visible part of an axis, and how zooming and panning change it.

export interface Range {
  min: number;
  max: number;
}

/// The smallest visible part: a share of the whole axis.
const kSmallestShare = 1 / 500;

function forward(value: number, logarithmic: boolean): number {
  return logarithmic ? Math.log(value) : value;
}

function back(value: number, logarithmic: boolean): number {
  return logarithmic ? Math.exp(value) : value;
}

/// The window pushed inside the whole axis; null if it is the whole axis.
export function clamped(window: Range, full: Range, logarithmic: boolean): Range | null {
  const [low, high] = [forward(full.min, logarithmic), forward(full.max, logarithmic)];
  const whole = high - low;
  let [min, max] = [forward(window.min, logarithmic), forward(window.max, logarithmic)];
  if (!(whole > 0) || !(max >= min)) return null;
  const span = Math.max(max - min, kSmallestShare * whole);
  if (span >= whole * (1 - 1e-9)) return null;
  const middle = (min + max) / 2;
  min = Math.min(Math.max(middle - span / 2, low), high - span);
  max = min + span;
  return { min: back(min, logarithmic), max: back(max, logarithmic) };
}

/// `factor` > 1 shows less. The centre stays in its place.
export function zoomed(
  window: Range,
  full: Range,
  factor: number,
  centre: number,
  logarithmic: boolean,
): Range | null {
  const [min, max] = [forward(window.min, logarithmic), forward(window.max, logarithmic)];
  const least = kSmallestShare * (forward(full.max, logarithmic) - forward(full.min, logarithmic));
  const span = Math.max((max - min) / factor, least);
  const at = Math.min(Math.max(forward(centre, logarithmic), min), max);
  const start = at - (span * (at - min)) / (max - min);
  return clamped(
    { min: back(start, logarithmic), max: back(start + span, logarithmic) },
    full,
    logarithmic,
  );
}

/// Moved by a share of its own width; the width stays.
export function panned(
  window: Range,
  full: Range,
  share: number,
  logarithmic: boolean,
): Range | null {
  const [min, max] = [forward(window.min, logarithmic), forward(window.max, logarithmic)];
  const step = share * (max - min);
  return clamped(
    { min: back(min + step, logarithmic), max: back(max + step, logarithmic) },
    full,
    logarithmic,
  );
}

/// The window moved just far enough to contain the place.
export function revealing(
  window: Range,
  full: Range,
  place: number,
  logarithmic: boolean,
): Range | null {
  const span = forward(window.max, logarithmic) - forward(window.min, logarithmic);
  const at = forward(place, logarithmic);
  if (place < window.min)
    return panned(window, full, (at - forward(window.min, logarithmic)) / span, logarithmic);
  if (place > window.max)
    return panned(window, full, (at - forward(window.max, logarithmic)) / span, logarithmic);
  return clamped(window, full, logarithmic);
}

/// A scale that shows values from `lowest` to `highest`, with a margin; never below zero if the
/// values are not. As in reports/html/scale.cpp.
export function fitted(lowest: number, highest: number, logarithmic: boolean): Range {
  if (!(highest >= lowest)) return logarithmic ? { min: 0.1, max: 1 } : { min: 0, max: 1 };
  if (logarithmic) {
    const margin = highest > lowest ? Math.pow(highest / lowest, 0.04) : 2;
    return { min: lowest / margin, max: highest * margin };
  }
  const magnitude = Math.max(Math.abs(lowest), Math.abs(highest));
  const flat = highest - lowest <= 1e-12 * magnitude;
  const margin = flat ? (magnitude > 0 ? 0.1 * magnitude : 1) : 0.04 * (highest - lowest);
  return {
    min: lowest >= 0 ? Math.max(0, lowest - margin) : lowest - margin,
    max: highest <= 0 && lowest < 0 ? Math.min(0, highest + margin) : highest + margin,
  };
}

/// One range for several charts: their ranges without those far from most (three quartile distances
/// beyond the quartiles), which are cut off. In logarithms if asked.
export function robust(ranges: Range[], logarithmic: boolean): Range {
  const within = (values: number[]): number[] => {
    const sorted = [...values].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
    const far = 3 * (at(0.75) - at(0.25));
    return sorted.filter((value) => value >= at(0.25) - far && value <= at(0.75) + far);
  };
  const turn = (value: number) => (logarithmic ? Math.log(value) : value);
  const back = (value: number) => (logarithmic ? Math.exp(value) : value);
  return {
    min: back(Math.min(...within(ranges.map(({ min }) => turn(min))))),
    max: back(Math.max(...within(ranges.map(({ max }) => turn(max))))),
  };
}
