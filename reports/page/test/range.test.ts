import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clamped, fitted, panned, revealing, robust, zoomed } from "../src/range";
import { near } from "./synthetic";

const full = { min: 0, max: 100 };
const decades = { min: 1, max: 1e4 };

describe("zooming", () => {
  test("keeps the centre where it is", () => {
    assert.deepEqual(zoomed(full, full, 2, 50, false), { min: 25, max: 75 });
    assert.deepEqual(zoomed(full, full, 2, 20, false), { min: 10, max: 60 });
    assert.deepEqual(zoomed(full, full, 4, 0, false), { min: 0, max: 25 });
  });
  test("out ends at the whole axis", () => {
    assert.equal(zoomed({ min: 25, max: 75 }, full, 0.5, 50, false), null);
    assert.deepEqual(zoomed({ min: 0, max: 25 }, full, 0.5, 0, false), { min: 0, max: 50 });
  });
  test("in ends at a five-hundredth of the axis, wherever one is", () => {
    let window: { min: number; max: number } = full;
    for (let k = 0; k < 40; ++k) window = zoomed(window, full, 2, 99.9, false) ?? window;
    near(window.max - window.min, 0.2);
    assert.ok(window.max <= 100);
    assert.ok(window.min < 99.9);
  });
  test("is by factors on a logarithmic axis", () => {
    const window = zoomed(decades, decades, 2, 100, true);
    near(window?.min, 10);
    near(window?.max, 1000);
  });
});

describe("panning", () => {
  test("moves by a share of the window and stops at the ends", () => {
    assert.deepEqual(panned({ min: 20, max: 40 }, full, 0.5, false), { min: 30, max: 50 });
    assert.deepEqual(panned({ min: 70, max: 90 }, full, 5, false), { min: 80, max: 100 });
    assert.deepEqual(panned({ min: 5, max: 25 }, full, -1, false), { min: 0, max: 20 });
    assert.equal(panned(full, full, 0.5, false), null);
  });
  test("follows a place that left the window", () => {
    assert.deepEqual(revealing({ min: 20, max: 40 }, full, 45, false), { min: 25, max: 45 });
    assert.deepEqual(revealing({ min: 20, max: 40 }, full, 10, false), { min: 10, max: 30 });
    assert.deepEqual(revealing({ min: 20, max: 40 }, full, 30, false), { min: 20, max: 40 });
  });
});

describe("clamping", () => {
  test("what makes no window is the whole axis", () => {
    assert.equal(clamped({ min: NaN, max: 1 }, full, false), null);
    assert.equal(clamped({ min: -10, max: 200 }, full, false), null);
    assert.equal(clamped({ min: 1, max: 2 }, { min: 5, max: 5 }, false), null);
  });
  test("an empty window becomes the smallest one", () => {
    const window = clamped({ min: 50, max: 50 }, full, false);
    near(window?.min, 49.9);
    near(window?.max, 50.1);
  });
});

describe("a y-axis", () => {
  test("has a margin, but none below zero for what is not", () => {
    assert.deepEqual(fitted(0, 10, false), { min: 0, max: 10.4 });
    assert.deepEqual(fitted(-10, 10, false), { min: -10.8, max: 10.8 });
    assert.deepEqual(fitted(5, 5, false), { min: 4.5, max: 5.5 });
    assert.deepEqual(fitted(0, 0, false), { min: 0, max: 1 });
  });
  test("is never empty, whatever it is given", () => {
    for (const logarithmic of [false, true]) {
      const { min, max } = fitted(NaN, NaN, logarithmic);
      assert.ok(max > min);
    }
    assert.deepEqual(fitted(1, 1, true), { min: 0.5, max: 2 });
  });
});

describe("one range for several charts", () => {
  const ranges = Array.from({ length: 8 }, (_, k) => ({ min: k / 100, max: 1 + k / 100 }));
  test("leaves out one that lies far off, and no other", () => {
    assert.deepEqual(robust(ranges, false), { min: 0, max: 1.07 });
    assert.deepEqual(robust([...ranges, { min: -50, max: 90 }], false), { min: 0, max: 1.07 });
  });
  test("in logarithms too", () => {
    const decades = [1, 10, 100].map((max) => ({ min: max / 10, max }));
    near(robust(decades, true).max, 100);
    near(robust(decades, true).min, 0.1);
  });
});
