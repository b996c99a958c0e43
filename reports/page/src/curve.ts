// The curves of a chart against one axis, decoded and put on one grid.
import {
  decodeFloats,
  type BoundData,
  type ChartData,
  type ChartGroup,
  type SeedData,
} from "./data";
import type { Range } from "./range";

export type Numbers = ArrayLike<number>;

export interface Line {
  x: Numbers;
  y: Numbers;
}

export interface Band {
  x: Numbers;
  mean: Numbers;
  low: Numbers;
  high: Numbers;
}

/// One group's curves: its band as recorded, and on the grid of the whole chart.
export interface GroupCurve {
  label: string;
  style: number;
  band: Band;
  onGrid: Band;
  /// Its geometric mean is 0 everywhere, so that its band is empty.
  zero: boolean;
  seeds: Line[];
}

export interface BoundCurve {
  label: string;
  note: string;
  style: number;
  line: Line;
}

export interface ChartCurves {
  grid: number[];
  groups: GroupCurve[];
  bounds: BoundCurve[];
}

const kNothing: Numbers = [];

/// The first index whose value is not below x; the length when there is none. Ascending values.
export function firstAtLeast(values: Numbers, x: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? NaN) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// The index of the value nearest to x; -1 without values.
export function nearest(values: Numbers, x: number): number {
  const next = firstAtLeast(values, x);
  if (next === values.length) return values.length - 1;
  if (next === 0) return 0;
  return x - (values[next - 1] ?? NaN) < (values[next] ?? NaN) - x ? next - 1 : next;
}

/// The range [first, last) of points of a line through the window: one beyond each end too.
export function visible(x: Numbers, window: Range): [number, number] {
  const first = firstAtLeast(x, window.min);
  const after = firstAtLeast(x, window.max);
  return [Math.max(0, first - 1), Math.min(x.length, after + 1)];
}

/// The value at x of the straight line between its neighbours; straight in logarithms if
/// `geometric` and both are positive. NaN outside the line and beside a gap.
export function interpolated(line: Line, x: number, geometric: boolean): number {
  const next = firstAtLeast(line.x, x);
  if (next === line.x.length) return NaN;
  const right = line.y[next] ?? NaN;
  const rightX = line.x[next] ?? NaN;
  if (rightX === x) return right;
  if (next === 0) return NaN;
  const left = line.y[next - 1] ?? NaN;
  const leftX = line.x[next - 1] ?? NaN;
  const share = (x - leftX) / (rightX - leftX);
  if (geometric && left > 0 && right > 0) return left * Math.pow(right / left, share);
  return left + (right - left) * share;
}

/// All places of several grids, ascending, each once.
export function united(grids: Numbers[]): number[] {
  const all: number[] = [];
  for (const grid of grids) for (let k = 0; k < grid.length; ++k) all.push(grid[k] ?? NaN);
  all.sort((a, b) => a - b);
  return all.filter((x, k) => k === 0 || x !== all[k - 1]);
}

function same(a: Numbers, b: Numbers): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; ++k) if (a[k] !== b[k]) return false;
  return true;
}

/// A band on another grid: interpolated inside its own reach, NaN outside.
export function onGrid(band: Band, grid: number[], geometric: boolean): Band {
  if (same(band.x, grid)) return band;
  const at = (y: Numbers) => grid.map((x) => interpolated({ x: band.x, y }, x, geometric));
  return { x: grid, mean: at(band.mean), low: at(band.low), high: at(band.high) };
}

function bandOf(group: ChartGroup, axis: string): Band {
  const data = group.band[axis];
  if (!data) return { x: kNothing, mean: kNothing, low: kNothing, high: kNothing };
  return {
    x: decodeFloats(data.x),
    mean: decodeFloats(data.mean),
    low: decodeFloats(data.low),
    high: decodeFloats(data.high),
  };
}

function seedLine(seed: SeedData, axis: string): Line {
  const at = seed.at[axis];
  return at === undefined
    ? { x: kNothing, y: kNothing }
    : { x: decodeFloats(at), y: decodeFloats(seed.value) };
}

function boundCurve(bound: BoundData, axis: string): BoundCurve[] {
  const data = bound.axis[axis];
  if (!data?.x) return [];
  const line = { x: decodeFloats(data.x), y: decodeFloats(data.y) };
  return [{ label: bound.label, note: bound.note, style: bound.style, line }];
}

/// Whether any part of the chart can be drawn against the axis.
export function reaches(chart: ChartData, axis: string): boolean {
  return chart.groups.some(
    ({ band, seeds }) => Boolean(band[axis]?.x) || seeds.some(({ at }) => Boolean(at[axis])),
  );
}

/// Groups without values on this axis stay, empty, so that a group keeps its place.
export function curvesOf(chart: ChartData, axis: string): ChartCurves {
  const bands = chart.groups.map((group) => bandOf(group, axis));
  const grid = united(bands.map((band) => band.x));
  const groups = chart.groups.map((group, k) => {
    const band = bands[k] ?? bandOf(group, axis);
    return {
      label: group.label,
      style: group.style,
      band,
      onGrid: onGrid(band, grid, chart.logarithmic),
      zero: chart.logarithmic && band.x.length === 0 && group.final[0] === 0,
      seeds: group.seeds.map((seed) => seedLine(seed, axis)),
    };
  });
  return { grid, groups, bounds: chart.bounds.flatMap((bound) => boundCurve(bound, axis)) };
}

/// The range of the curves on the x-axis: from zero, or on a logarithmic axis from the first place
/// above zero. Null if there is none.
export function reach(charts: ChartCurves[], logarithmic: boolean): Range | null {
  let first = Infinity;
  let last = -Infinity;
  const widen = (x: Numbers) => {
    if (x.length === 0) return;
    last = Math.max(last, x[x.length - 1] ?? -Infinity);
    const k = logarithmic ? firstAtLeast(x, Number.MIN_VALUE) : 0;
    if (k < x.length) first = Math.min(first, x[k] ?? Infinity);
  };
  for (const chart of charts)
    for (const group of chart.groups) {
      widen(group.band.x);
      for (const seed of group.seeds) widen(seed.x);
    }
  if (!logarithmic) first = Math.min(first, 0);
  return last > first ? { min: first, max: last } : null;
}

/// The most that a logarithmic y-axis shows; consensus distances of a method that converges go to
/// zero and would need most of the picture.
const kMostDecades = 10;

/// The lowest and highest value drawn inside the window: means and, if drawn, seeds. Bands and
/// bounds are cut off at the edge, so that one wide interval does not flatten every curve. Null
/// without values.
export function heights(chart: ChartCurves, window: Range, logarithmic: boolean): Range | null {
  let min = Infinity;
  let max = -Infinity;
  let floor = logarithmic ? 0 : -Infinity;
  const widen = ({ x, y }: Line) => {
    const [first, last] = [firstAtLeast(x, window.min), firstAtLeast(x, window.max)];
    for (let k = first; k < x.length && (k < last || x[k] === window.max); ++k) {
      const value = y[k] ?? NaN;
      if (!(value > floor && value < Infinity)) continue;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  };
  const widenAll = () => {
    for (const group of chart.groups) {
      widen({ x: group.band.x, y: group.band.mean });
      group.seeds.forEach(widen);
    }
  };
  widenAll();
  if (logarithmic && max / min > Math.pow(10, kMostDecades)) {
    floor = max * Math.pow(10, -kMostDecades);
    min = max;
    widenAll();
  }
  return max >= min ? { min, max } : null;
}

/// The cursor's place after a key: the next place of the grid in that direction or, without a
/// cursor yet, the window's edge nearest to it.
export function stepped(
  grid: number[],
  from: number | null,
  direction: 1 | -1,
  window: Range,
): number | null {
  if (grid.length === 0) return null;
  const clampedIndex = (k: number) => grid[Math.min(Math.max(k, 0), grid.length - 1)] ?? null;
  if (from === null)
    return clampedIndex(
      direction > 0 ? firstAtLeast(grid, window.min) : firstAtLeast(grid, window.max) - 1,
    );
  return clampedIndex(nearest(grid, from) + direction);
}
