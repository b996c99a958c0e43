import assert from "node:assert/strict";
import { describe, test } from "node:test";
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
import { bandData, chartData, encode, near } from "./synthetic";

const x = [0, 10, 20, 30];

describe("looking up places", () => {
  test("the first at or above", () => {
    assert.deepEqual([-1, 0, 5, 10, 30, 31].map((at) => firstAtLeast(x, at)), [0, 0, 1, 1, 3, 4]);
    assert.equal(firstAtLeast([], 1), 0);
  });
  test("the nearest", () => {
    assert.deepEqual([-5, 4, 6, 29, 99].map((at) => nearest(x, at)), [0, 0, 1, 3, 3]);
    assert.equal(nearest([], 1), -1);
  });
  test("what a window shows reaches one point beyond its ends", () => {
    assert.deepEqual(visible(x, { min: 12, max: 18 }), [1, 3]);
    assert.deepEqual(visible(x, { min: 0, max: 30 }), [0, 4]);
    assert.deepEqual(visible([], { min: 0, max: 1 }), [0, 0]);
  });
  test("the keyboard's cursor steps, starts at the edge and stays on the grid", () => {
    const window = { min: 5, max: 25 };
    assert.equal(stepped(x, null, 1, window), 10);
    assert.equal(stepped(x, null, -1, window), 20);
    assert.equal(stepped(x, 10, 1, window), 20);
    assert.equal(stepped(x, 30, 1, window), 30);
    assert.equal(stepped([], null, 1, window), null);
  });
});

describe("interpolation", () => {
  test("is straight, or straight in logarithms", () => {
    const line = { x: [0, 10], y: [1, 100] };
    near(interpolated(line, 5, false), 50.5);
    near(interpolated(line, 5, true), 10);
    assert.equal(interpolated(line, 10, true), 100);
    assert.equal(interpolated({ x: [0, 10], y: [-1, 1] }, 5, true), 0);
  });
  test("knows nothing outside, nor beside a gap", () => {
    const line = { x: [0, 10, 20], y: [1, NaN, 3] };
    for (const at of [-1, 5, 10, 15, 21]) assert.equal(interpolated(line, at, false), NaN);
  });
});

describe("grids", () => {
  test("are united, each place once", () => {
    assert.deepEqual(united([[1, 3], new Float32Array([2, 3]), []]), [1, 2, 3]);
  });
  test("a band stays as it is on its own grid, and is interpolated on another", () => {
    const band = { x: [0, 10], mean: [0, 10], low: [-1, 9], high: [1, 11] };
    assert.equal(onGrid(band, [0, 10], false), band);
    const other = onGrid(band, [0, 5, 10, 15], false);
    assert.deepEqual(other.mean, [0, 5, 10, NaN]);
    assert.deepEqual(other.high, [1, 6, 11, NaN]);
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
    assert.deepEqual(curves.grid, [1, 2, 3]);
    assert.deepEqual([...(curves.groups[1]!.onGrid.mean as number[])], [NaN, 7, 8]);
    assert.equal(curves.bounds.length, 1);
    const nothing = curvesOf(chart, "bytes");
    assert.equal(nothing.groups.length, 2);
    assert.deepEqual(nothing.grid, []);
    assert.deepEqual(nothing.bounds, []);
    assert.equal(reach([nothing], false), null);
    assert.deepEqual([reaches(chart, "gradients"), reaches(chart, "bytes")], [true, false]);
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
    assert.deepEqual(reach([curves], false), { min: 0, max: 5 });
    assert.deepEqual(reach([curves], true), { min: 1, max: 5 });
    assert.equal(reach([], false), null);
  });
  test("in y is that of means and seeds inside the window, not of bands", () => {
    assert.deepEqual(heights(curves, { min: 0, max: 5 }, false), { min: 0, max: 9 });
    assert.deepEqual(heights(curves, { min: 1, max: 3 }, false), { min: 1, max: 4 });
    assert.equal(heights(curves, { min: 1.5, max: 2.5 }, false), null);
    const far = curvesOf(chartData([bandData([0, 1, 2], [1, Infinity, 3], 100)]), "gradients");
    assert.deepEqual(heights(far, { min: 0, max: 5 }, false), { min: 1, max: 3 });
  });
  test("in y on a logarithmic scale leaves out zero and what is ten decades below", () => {
    assert.deepEqual(heights(curves, { min: 0, max: 5 }, true), { min: 1, max: 9 });
  });
});
