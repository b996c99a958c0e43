// Places of values in a drawing, and the parts of a line that are drawn.
import { nearest, visible, type Band } from "./curve";
import type { Range } from "./range";

const kMarkers = 5;
const kColours = 8;

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/// Values at or below `floor` cannot be placed: a gap.
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
    y: (value) => near(bottom - box.height * placed(value, heightRange, logarithmicY)),
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

export function cutsOf(band: Band, at: Projection): Cut[] {
  const { box } = at;
  const cuts: Cut[] = [];
  const [first, last] = visible(band.x, at.window);
  const x = (k: number) =>
    Math.min(Math.max(at.x(band.x[k] ?? NaN), box.left), box.left + box.width);
  const along = (y: number, isBeyond: (k: number) => boolean) => {
    for (let k = first; k < last; ++k) {
      if (!isBeyond(k)) continue;
      const start = k;
      while (k + 1 < last && isBeyond(k + 1)) ++k;
      const from = (x(Math.max(start - 1, first)) + x(start)) / 2;
      const to = (x(k) + x(Math.min(k + 1, last - 1))) / 2;
      if (to > from) cuts.push({ y, from, to });
    }
  };
  along(box.top + 1, (k) => at.y(band.high[k] ?? NaN) < box.top - 0.5);
  along(at.bottom - 1, (k) => at.y(band.low[k] ?? NaN) > at.bottom + 0.5);
  return cuts;
}

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
