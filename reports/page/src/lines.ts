// What a chart draws under its means: bands, seeds and bounds, each on its own grid.
import { nearest, visible, type Band, type ChartCurves, type Line } from "./curve";
import type { Range } from "./range";
import { kColours, markerOf, type Theme } from "./theme";

const kMarkers = 5;

/// From values to canvas pixels. Values at or below `floor` cannot be placed: a gap.
export interface Projection {
  window: Range;
  x(value: number): number;
  y(value: number): number;
  floor: number;
  bottom: number;
  /// Canvas pixels per pixel of the page.
  ratio: number;
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

/// How values become pixels in a box, for a pair of ranges.
export function projection(
  box: Box,
  window: Range,
  heightRange: Range,
  logarithmicX: boolean,
  logarithmicY: boolean,
  ratio: number,
): Projection {
  const placed = (value: number, range: Range, logarithmic: boolean) =>
    logarithmic
      ? Math.log(value / range.min) / Math.log(range.max / range.min)
      : (value - range.min) / (range.max - range.min);
  const bottom = box.top + box.height;
  // Far outside the box all places look the same, and canvases lose lines that end too far out.
  const near = (y: number) =>
    Math.min(Math.max(y, box.top - 4 * box.height), bottom + 4 * box.height);
  return {
    window,
    ratio,
    bottom,
    floor: logarithmicY ? 0 : -Infinity,
    x: (value) => box.left + box.width * placed(value, window, logarithmicX),
    y: (value) => near(bottom - box.height * placed(value, heightRange, logarithmicY)),
  };
}

/// The line's stretches without gaps, each a list of its indices' first and last + 1.
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

function positiveFrom(line: Line, first: number, at: Projection): number {
  // On a logarithmic x-axis there is no place for zero.
  let k = first;
  while (k < line.x.length && !Number.isFinite(at.x(line.x[k] ?? NaN))) ++k;
  return k;
}

export function linePath(line: Line, at: Projection): Path2D {
  const path = new Path2D();
  const [first, last] = visible(line.x, at.window);
  for (const [start, end] of stretches(line.y, positiveFrom(line, first, at), last, at.floor)) {
    path.moveTo(at.x(line.x[start] ?? 0), at.y(line.y[start] ?? 0));
    for (let k = start + 1; k < end; ++k) path.lineTo(at.x(line.x[k] ?? 0), at.y(line.y[k] ?? 0));
  }
  return path;
}

function bandPath(band: Band, at: Projection): Path2D {
  const path = new Path2D();
  const [first, last] = visible(band.x, at.window);
  const upper = { x: band.x, y: band.high };
  for (const [start, end] of stretches(band.high, positiveFrom(upper, first, at), last, at.floor)) {
    path.moveTo(at.x(band.x[start] ?? 0), at.y(band.high[start] ?? 0));
    for (let k = start + 1; k < end; ++k)
      path.lineTo(at.x(band.x[k] ?? 0), at.y(band.high[k] ?? 0));
    for (let k = end - 1; k >= start; --k) {
      const low = band.low[k] ?? NaN;
      path.lineTo(at.x(band.x[k] ?? 0), low > at.floor ? at.y(low) : at.bottom);
    }
    path.closePath();
  }
  return path;
}

/// A stretch along an edge of the box beyond which a band goes on, just inside.
export interface Cut {
  y: number;
  from: number;
  to: number;
}

export function cutsOf(band: Band, box: Box, at: Projection): Cut[] {
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
  along(box.top + at.ratio, (k) => at.y(band.high[k] ?? NaN) < box.top - 0.5);
  along(at.bottom - at.ratio, (k) => at.y(band.low[k] ?? NaN) > at.bottom + 0.5);
  return cuts;
}

function cutPath(band: Band, box: Box, at: Projection): Path2D {
  const path = new Path2D();
  for (const { y, from, to } of cutsOf(band, box, at)) {
    path.moveTo(from, y);
    path.lineTo(to, y);
  }
  return path;
}

/// Draws inside the box only. Leaves the context as it was.
export function drawUnderMeans(
  context: CanvasRenderingContext2D,
  box: Box,
  at: Projection,
  curves: ChartCurves,
  theme: Theme,
  show: { bands: boolean; seeds: boolean },
): void {
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
  context.lineJoin = "round";
  for (const group of curves.groups) {
    context.fillStyle = context.strokeStyle = theme.colour(group.style);
    context.globalAlpha = 0.13;
    if (show.bands) context.fill(bandPath(group.band, at));
    context.globalAlpha = 0.3;
    context.lineWidth = 0.8 * at.ratio;
    if (show.seeds) for (const seed of group.seeds) context.stroke(linePath(seed, at));
  }
  context.globalAlpha = 1;
  context.lineWidth = 2 * at.ratio;
  context.setLineDash([1.5 * at.ratio, 3 * at.ratio]);
  for (const group of curves.groups) {
    context.strokeStyle = theme.colour(group.style);
    if (show.bands) context.stroke(cutPath(group.band, box, at));
  }
  context.lineWidth = 1.1 * at.ratio;
  context.setLineDash([1.5 * at.ratio, 3 * at.ratio]);
  for (const bound of curves.bounds) {
    context.strokeStyle = theme.colour(bound.style);
    context.stroke(linePath(bound.line, at));
  }
  context.restore();
}

/// Where a group's mean has its markers, in canvas pixels: each style at other places of the box, so
/// that equal curves show both.
export function markerPlaces(box: Box, at: Projection, style: number, band: Band): Place[] {
  const places: Place[] = [];
  for (let k = 0; k < kMarkers; ++k) {
    const share = (k + ((style % kColours) + 0.5) / kColours) / kMarkers;
    const wanted = box.left + share * box.width;
    const line = Array.from(band.x, (x) => at.x(x));
    const j = nearest(line, wanted);
    const [x, mean] = [line[j] ?? NaN, band.mean[j] ?? NaN];
    if (!(Math.abs(x - wanted) <= box.width / kMarkers / 2) || !(mean > at.floor)) continue;
    const y = at.y(mean);
    if (y >= box.top && y <= at.bottom && x >= box.left && x <= box.left + box.width)
      places.push({ x, y });
  }
  return places;
}

export function drawMarkers(
  context: CanvasRenderingContext2D,
  box: Box,
  at: Projection,
  curves: ChartCurves,
  theme: Theme,
): void {
  context.save();
  for (const { style, band } of curves.groups) {
    context.fillStyle = theme.colour(style);
    const marker = new Path2D(markerOf(style));
    for (const { x, y } of markerPlaces(box, at, style, band)) {
      context.setTransform(0.037 * at.ratio, 0, 0, 0.037 * at.ratio, x, y);
      context.fill(marker);
    }
  }
  context.restore();
}
