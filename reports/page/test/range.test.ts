import { describe, expect, test } from "vitest";
import { clamped, fitted, panned, revealing, robust, zoomed } from "../src/range";

const full = { min: 0, max: 100 };
const decades = { min: 1, max: 1e4 };

describe("zooming", () => {
  test("keeps the centre where it is", () => {
    expect(zoomed(full, full, 2, 50, false)).toEqual({ min: 25, max: 75 });
    expect(zoomed(full, full, 2, 20, false)).toEqual({ min: 10, max: 60 });
    expect(zoomed(full, full, 4, 0, false)).toEqual({ min: 0, max: 25 });
  });
  test("out ends at the whole axis", () => {
    expect(zoomed({ min: 25, max: 75 }, full, 0.5, 50, false)).toBeNull();
    expect(zoomed({ min: 0, max: 25 }, full, 0.5, 0, false)).toEqual({ min: 0, max: 50 });
  });
  test("in ends at a five-hundredth of the axis, wherever one is", () => {
    let window: { min: number; max: number } = full;
    for (let k = 0; k < 40; ++k) window = zoomed(window, full, 2, 99.9, false) ?? window;
    expect(window.max - window.min).toBeCloseTo(0.2, 10);
    expect(window.max).toBeLessThanOrEqual(100);
    expect(window.min).toBeLessThan(99.9);
  });
  test("is by factors on a logarithmic axis", () => {
    const window = zoomed(decades, decades, 2, 100, true);
    expect(window?.min).toBeCloseTo(10);
    expect(window?.max).toBeCloseTo(1000);
  });
});

describe("panning", () => {
  test("moves by a share of the window and stops at the ends", () => {
    expect(panned({ min: 20, max: 40 }, full, 0.5, false)).toEqual({ min: 30, max: 50 });
    expect(panned({ min: 70, max: 90 }, full, 5, false)).toEqual({ min: 80, max: 100 });
    expect(panned({ min: 5, max: 25 }, full, -1, false)).toEqual({ min: 0, max: 20 });
    expect(panned(full, full, 0.5, false)).toBeNull();
  });
  test("follows a place that left the window", () => {
    expect(revealing({ min: 20, max: 40 }, full, 45, false)).toEqual({ min: 25, max: 45 });
    expect(revealing({ min: 20, max: 40 }, full, 10, false)).toEqual({ min: 10, max: 30 });
    expect(revealing({ min: 20, max: 40 }, full, 30, false)).toEqual({ min: 20, max: 40 });
  });
});

describe("clamping", () => {
  test("what makes no window is the whole axis", () => {
    expect(clamped({ min: NaN, max: 1 }, full, false)).toBeNull();
    expect(clamped({ min: -10, max: 200 }, full, false)).toBeNull();
    expect(clamped({ min: 1, max: 2 }, { min: 5, max: 5 }, false)).toBeNull();
  });
  test("an empty window becomes the smallest one", () => {
    const window = clamped({ min: 50, max: 50 }, full, false);
    expect(window?.min).toBeCloseTo(49.9);
    expect(window?.max).toBeCloseTo(50.1);
  });
});

describe("a y-axis", () => {
  test("has a margin, but none below zero for what is not", () => {
    expect(fitted(0, 10, false)).toEqual({ min: 0, max: 10.4 });
    expect(fitted(-10, 10, false)).toEqual({ min: -10.8, max: 10.8 });
    expect(fitted(5, 5, false)).toEqual({ min: 4.5, max: 5.5 });
    expect(fitted(0, 0, false)).toEqual({ min: 0, max: 1 });
  });
  test("is never empty, whatever it is given", () => {
    for (const logarithmic of [false, true]) {
      const { min, max } = fitted(NaN, NaN, logarithmic);
      expect(max).toBeGreaterThan(min);
    }
    expect(fitted(1, 1, true)).toEqual({ min: 0.5, max: 2 });
  });
});

describe("one range for several charts", () => {
  const ranges = Array.from({ length: 8 }, (_, k) => ({ min: k / 100, max: 1 + k / 100 }));
  test("leaves out one that lies far off, and no other", () => {
    expect(robust(ranges, false)).toEqual({ min: 0, max: 1.07 });
    expect(robust([...ranges, { min: -50, max: 90 }], false)).toEqual({ min: 0, max: 1.07 });
  });
  test("in logarithms too", () => {
    const decades = [1, 10, 100].map((max) => ({ min: max / 10, max }));
    expect(robust(decades, true).max).toBeCloseTo(100);
    expect(robust(decades, true).min).toBeCloseTo(0.1);
  });
});
