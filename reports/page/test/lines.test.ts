import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cutsOf, projection, stretches } from "../src/lines";
import { near } from "./synthetic";

const box = { left: 10, top: 20, width: 100, height: 50 };

describe("from values to pixels", () => {
  test("linear: up is up", () => {
    const at = projection(box, { min: 0, max: 10 }, { min: 0, max: 1 }, false, false);
    assert.deepEqual([at.x(0), at.x(10)], [10, 110]);
    assert.deepEqual([at.y(0), at.y(1), at.y(0.5)], [70, 20, 45]);
  });
  test("logarithmic: equal factors, equal steps; no place for zero", () => {
    const at = projection(box, { min: 1, max: 100 }, { min: 1e-4, max: 1 }, true, true);
    near(at.x(10), 60);
    near(at.y(1e-2), 45);
    near(at.value(60), 10);
    assert.equal(at.x(0), -Infinity);
    assert.equal(at.floor, 0);
  });
  test("far outside ends near the box", () => {
    const at = projection(box, { min: 0, max: 1 }, { min: 0, max: 1 }, false, false);
    assert.equal(at.y(1e30), 20 - 200);
    assert.equal(at.y(-1e30), 70 + 200);
  });
});

describe("gaps", () => {
  test("part a line into stretches", () => {
    assert.deepEqual(stretches([1, NaN, 2, 3, NaN], 0, 5, -Infinity), [
      [0, 1],
      [2, 4],
    ]);
    assert.deepEqual(stretches([1, 0, 2], 0, 3, 0), [
      [0, 1],
      [2, 3],
    ]);
    assert.deepEqual(stretches([NaN, NaN], 0, 2, -Infinity), []);
    assert.deepEqual(stretches([1, 2, 3], 1, 3, -Infinity), [[1, 3]]);
  });
});

describe("a band that goes on beyond the box", () => {
  const at = projection(box, { min: 0, max: 10 }, { min: 0, max: 1 }, false, false);
  const band = { x: [0, 5, 10], mean: [0.5, 0.5, 0.5], low: [0.4, 0.4, -1], high: [2, 0.6, 0.6] };
  test("is cut along the edges, half way to where it is not", () => {
    assert.deepEqual(cutsOf(band, at), [
      { y: 21, from: 10, to: 35 },
      { y: 69, from: 85, to: 110 },
    ]);
  });
  test("is not where it ends at the edge", () => {
    assert.deepEqual(cutsOf({ ...band, low: [0, 0, 0], high: [1, 1, 1] }, at), []);
  });
});
