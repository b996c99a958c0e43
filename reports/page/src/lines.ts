// Places of values in a drawing, and the parts of a line that are drawn.
import { firstAtLeast, nearest, visible, type Band, type Line } from "./curve";
import type { Range } from "./range";

const kMarkers = 5;
const kColours = 8;

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/// Values at or below `floor` have no place on the axis: a gap in a line, and below the box.
export interface Projection {
  box: Box;
  window: Range;
  x(value: number): number;
  y(value: number): number;
  /// Back from x, which is inside the box.
  value(x: number): number;
  floor: number;
  bottom: number;
}

export interface Place {
  x: number;
  y: number;
}

/// Maps values to places in a box, for a pair of ranges.
export function projection(
  box: Box,
  window: Range,
  heightRange: Range,
  logarithmicX: boolean,
  logarithmicY: boolean,
): Projection {
  const placed = (value: number, range: Range, logarithmic: boolean) =>
    logarithmic
      ? Math.log(value / range.min) / Math.log(range.max / range.min)
      : (value - range.min) / (range.max - range.min);
  const bottom = box.top + box.height;
  // Far outside the box all places look the same, and browsers drop lines that end too far out.
  const near = (y: number) =>
    Math.min(Math.max(y, box.top - 4 * box.height), bottom + 4 * box.height);
  return {
    box,
    window,
    bottom,
    floor: logarithmicY ? 0 : -Infinity,
    x: (value) => box.left + box.width * placed(value, window, logarithmicX),
    y: (value) =>
      logarithmicY && value <= 0
        ? near(Infinity)
        : near(bottom - box.height * placed(value, heightRange, logarithmicY)),
    value: (x) => {
      const share = (x - box.left) / box.width;
      return logarithmicX
        ? window.min * Math.pow(window.max / window.min, share)
        : window.min + (window.max - window.min) * share;
    },
  };
}

/// The line's stretches without gaps, as their indices' first and last + 1.
export function stretches(
  values: ArrayLike<number>,
  first: number,
  last: number,
  floor: number,
): [number, number][] {
  const found: [number, number][] = [];
  let start = -1;
  for (let k = first; k <= last; ++k) {
    const drawn = k < last && (values[k] ?? NaN) > floor;
    if (drawn && start < 0) start = k;
    if (!drawn && start >= 0) {
      found.push([start, k]);
      start = -1;
    }
  }
  return found;
}

/// The part of a box's edge, just inside, where a band goes on beyond.
export interface Cut {
  y: number;
  from: number;
  to: number;
}

/// The share of the way from `first` to `last` where a height is positive.
function positiveShare(first: number, last: number): [from: number, to: number] {
  if (first > 0 && last > 0) return [0, 1];
  if (!(first > 0 || last > 0)) return [1, 0];
  const zero = first / (first - last);
  return first > 0 ? [0, zero] : [zero, 1];
}

/// How far beyond the edge is seen.
const kSeen = 0.5;

/// Where a part of the band is inside and goes on beyond.
export function cutsOf(band: Band, at: Projection): Cut[] {
  const { box } = at;
  const cuts: Cut[] = [];
  const [first, last] = visible(band.x, at.window);
  const clampedX = (x: number) => Math.min(Math.max(x, box.left), box.left + box.width);
  // The heights by which its outer end is beyond, and its inner end is not.
  const along = (y: number, beyond: (k: number) => number, inner: (k: number) => number) => {
    for (let k = first + 1; k < last; ++k) {
      const [left, right] = [at.x(band.x[k - 1] ?? NaN), at.x(band.x[k] ?? NaN)];
      if (!Number.isFinite(left) || !Number.isFinite(right)) continue;
      const outer = positiveShare(beyond(k - 1) - kSeen, beyond(k) - kSeen);
      const within = positiveShare(inner(k - 1), inner(k));
      const place = (share: number) => clampedX(left + share * (right - left));
      const from = place(Math.max(outer[0], within[0]));
      const to = place(Math.min(outer[1], within[1]));
      const before = cuts[cuts.length - 1];
      if (!(to > from)) continue;
      if (before?.y === y && from - before.to < 1e-6) before.to = to;
      else cuts.push({ y, from, to });
    }
  };
  const high = (k: number) => at.y(band.high[k] ?? NaN);
  const low = (k: number) => at.y(band.low[k] ?? NaN);
  along(
    box.top + 1,
    (k) => box.top - high(k),
    (k) => low(k) - box.top,
  );
  along(
    at.bottom - 1,
    (k) => low(k) - at.bottom,
    (k) => at.bottom - high(k),
  );
  return cuts;
}

/// Whether any part of the line is inside the box; crossing it counts.
export function isSeen({ x, y }: Line, at: Projection): boolean {
  const [first, last] = visible(x, at.window);
  let [above, below] = [false, false];
  for (let k = first; k < last; ++k) {
    const value = y[k] ?? NaN;
    if (!(value > at.floor) || !Number.isFinite(at.x(x[k] ?? NaN))) continue;
    above ||= at.y(value) <= at.bottom;
    below ||= at.y(value) >= at.box.top;
  }
  return above && below;
}

/// Whether a value of the line in the window is below the box, but has a place on the axis.
export function goesBelow({ x, y }: Line, at: Projection): boolean {
  for (let k = firstAtLeast(x, at.window.min); k < x.length; ++k) {
    if ((x[k] ?? NaN) > at.window.max) return false;
    const value = y[k] ?? NaN;
    if (value > at.floor && at.y(value) > at.bottom + kSeen) return true;
  }
  return false;
}

/// At the edge instead of beyond it.
export const clampedY = (y: number, { box, bottom }: Projection): number =>
  Math.min(Math.max(y, box.top), bottom);

/// The places of markers on a group's mean: other ones for each style, so equal curves show both.
export function markerPlaces(at: Projection, style: number, band: Band): Place[] {
  const { left, width, top } = at.box;
  const places: Place[] = [];
  for (let k = 0; k < kMarkers; ++k) {
    const share = (k + ((style % kColours) + 0.5) / kColours) / kMarkers;
    const wanted = left + share * width;
    const j = nearest(band.x, at.value(wanted));
    const [x, mean] = [at.x(band.x[j] ?? NaN), band.mean[j] ?? NaN];
    if (!(Math.abs(x - wanted) <= width / kMarkers / 2) || !(mean > at.floor)) continue;
    const y = at.y(mean);
    if (y >= top && y <= at.bottom && x >= left && x <= left + width) places.push({ x, y });
  }
  return places;
}
