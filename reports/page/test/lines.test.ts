import { describe, expect, test } from "vitest";
import { cutsOf, projection, stretches } from "../src/lines";

const box = { left: 10, top: 20, width: 100, height: 50 };

describe("from values to pixels", () => {
  test("linear: up is up", () => {
    const at = projection(box, { min: 0, max: 10 }, { min: 0, max: 1 }, false, false, 1);
    expect([at.x(0), at.x(10)]).toEqual([10, 110]);
    expect([at.y(0), at.y(1), at.y(0.5)]).toEqual([70, 20, 45]);
  });
  test("logarithmic: equal factors, equal steps; no place for zero", () => {
    const at = projection(box, { min: 1, max: 100 }, { min: 1e-4, max: 1 }, true, true, 1);
    expect(at.x(10)).toBeCloseTo(60);
    expect(at.y(1e-2)).toBeCloseTo(45);
    expect(at.x(0)).toBe(-Infinity);
    expect(at.floor).toBe(0);
  });
  test("far outside ends near the box", () => {
    const at = projection(box, { min: 0, max: 1 }, { min: 0, max: 1 }, false, false, 1);
    expect(at.y(1e30)).toBe(20 - 200);
    expect(at.y(-1e30)).toBe(70 + 200);
  });
});

describe("gaps", () => {
  test("part a line into stretches", () => {
    expect(stretches([1, NaN, 2, 3, NaN], 0, 5, -Infinity)).toEqual([
      [0, 1],
      [2, 4],
    ]);
    expect(stretches([1, 0, 2], 0, 3, 0)).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(stretches([NaN, NaN], 0, 2, -Infinity)).toEqual([]);
    expect(stretches([1, 2, 3], 1, 3, -Infinity)).toEqual([[1, 3]]);
  });
});

describe("a band that goes on beyond the box", () => {
  const at = projection(box, { min: 0, max: 10 }, { min: 0, max: 1 }, false, false, 1);
  const band = { x: [0, 5, 10], mean: [0.5, 0.5, 0.5], low: [0.4, 0.4, -1], high: [2, 0.6, 0.6] };
  test("is cut along the edges, half way to where it is not", () => {
    expect(cutsOf(band, box, at)).toEqual([
      { y: 21, from: 10, to: 35 },
      { y: 69, from: 85, to: 110 },
    ]);
  });
  test("is not where it ends at the edge", () => {
    expect(cutsOf({ ...band, low: [0, 0, 0], high: [1, 1, 1] }, box, at)).toEqual([]);
  });
});
