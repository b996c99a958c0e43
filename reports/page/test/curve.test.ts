import { describe, expect, test } from "vitest";
import {
  curvesOf,
  firstAtLeast,
  heights,
  interpolated,
  nearest,
  onGrid,
  reach,
  reaches,
  stepped,
  united,
  visible,
} from "../src/curve";
import { bandData, chartData, encode } from "./synthetic";

const x = [0, 10, 20, 30];

describe("looking up places", () => {
  test("the first at or above", () => {
    expect([-1, 0, 5, 10, 30, 31].map((at) => firstAtLeast(x, at))).toEqual([0, 0, 1, 1, 3, 4]);
    expect(firstAtLeast([], 1)).toBe(0);
  });
  test("the nearest", () => {
    expect([-5, 4, 6, 29, 99].map((at) => nearest(x, at))).toEqual([0, 0, 1, 3, 3]);
    expect(nearest([], 1)).toBe(-1);
  });
  test("what a window shows reaches one point beyond its ends", () => {
    expect(visible(x, { min: 12, max: 18 })).toEqual([1, 3]);
    expect(visible(x, { min: 0, max: 30 })).toEqual([0, 4]);
    expect(visible([], { min: 0, max: 1 })).toEqual([0, 0]);
  });
  test("the keyboard's cursor steps, starts at the edge and stays on the grid", () => {
    const window = { min: 5, max: 25 };
    expect(stepped(x, null, 1, window)).toBe(10);
    expect(stepped(x, null, -1, window)).toBe(20);
    expect(stepped(x, 10, 1, window)).toBe(20);
    expect(stepped(x, 30, 1, window)).toBe(30);
    expect(stepped([], null, 1, window)).toBeNull();
  });
});

describe("interpolation", () => {
  test("is straight, or straight in logarithms", () => {
    const line = { x: [0, 10], y: [1, 100] };
    expect(interpolated(line, 5, false)).toBeCloseTo(50.5);
    expect(interpolated(line, 5, true)).toBeCloseTo(10);
    expect(interpolated(line, 10, true)).toBe(100);
    expect(interpolated({ x: [0, 10], y: [-1, 1] }, 5, true)).toBe(0);
  });
  test("knows nothing outside, nor beside a gap", () => {
    const line = { x: [0, 10, 20], y: [1, NaN, 3] };
    for (const at of [-1, 5, 10, 15, 21]) expect(interpolated(line, at, false)).toBeNaN();
  });
});

describe("grids", () => {
  test("are united, each place once", () => {
    expect(united([[1, 3], new Float32Array([2, 3]), []])).toEqual([1, 2, 3]);
  });
  test("a band stays as it is on its own grid, and is interpolated on another", () => {
    const band = { x: [0, 10], mean: [0, 10], low: [-1, 9], high: [1, 11] };
    expect(onGrid(band, [0, 10], false)).toBe(band);
    const other = onGrid(band, [0, 5, 10, 15], false);
    expect(other.mean).toEqual([0, 5, 10, NaN]);
    expect(other.high).toEqual([1, 6, 11, NaN]);
  });
  test("a chart has one; groups and bounds without the axis do not break it", () => {
    const chart = chartData([bandData([1, 2], [5, 6], 1), bandData([2, 3], [7, 8])]);
    chart.bounds.push({
      label: "bound",
      note: "",
      style: 0,
      axis: {
        gradients: { x: encode([1, 2]), y: encode([9, 8]) },
      },
    });
    const curves = curvesOf(chart, "gradients");
    expect(curves.grid).toEqual([1, 2, 3]);
    expect([...(curves.groups[1]!.onGrid.mean as number[])]).toEqual([NaN, 7, 8]);
    expect(curves.bounds).toHaveLength(1);
    const nothing = curvesOf(chart, "bytes");
    expect(nothing.groups).toHaveLength(2);
    expect(nothing.grid).toEqual([]);
    expect(nothing.bounds).toEqual([]);
    expect(reach([nothing], false)).toBeNull();
    expect([reaches(chart, "gradients"), reaches(chart, "bytes")]).toEqual([true, false]);
  });
});

describe("what a chart reaches", () => {
  const chart = chartData([bandData([0, 1, 2, 3], [1e-15, 1, NaN, 4], 100)]);
  chart.groups[0]?.seeds.push({
    run: "r",
    seed: "1",
    value: encode([0, 9]),
    at: { gradients: encode([0, 5]) },
  });
  const curves = curvesOf(chart, "gradients");
  test("in x goes from zero, or from the first place above it", () => {
    expect(reach([curves], false)).toEqual({ min: 0, max: 5 });
    expect(reach([curves], true)).toEqual({ min: 1, max: 5 });
    expect(reach([], false)).toBeNull();
  });
  test("in y is that of means and seeds inside the window, not of bands", () => {
    expect(heights(curves, { min: 0, max: 5 }, false)).toEqual({ min: 0, max: 9 });
    expect(heights(curves, { min: 1, max: 3 }, false)).toEqual({ min: 1, max: 4 });
    expect(heights(curves, { min: 1.5, max: 2.5 }, false)).toBeNull();
  });
  test("in y on a logarithmic scale leaves out zero and what is ten decades below", () => {
    expect(heights(curves, { min: 0, max: 5 }, true)).toEqual({ min: 1, max: 9 });
  });
});
