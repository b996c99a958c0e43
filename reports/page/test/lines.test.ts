import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clampedY, cutsOf, goesBelow, isSeen, projection, stretches } from "../src/lines";
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
    assert.deepEqual([at.y(0), at.y(-1)], [70 + 200, 70 + 200]);
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
  test("is cut along the edges just where it is beyond", () => {
    const [above, below] = cutsOf(band, at);
    near(above?.from, 10);
    near(above?.to, 10 + (50 * 49.5) / 70);
    near(below?.from, 60 + (50 * 20.5) / 70);
    near(below?.to, 110);
    assert.deepEqual([above?.y, below?.y], [21, 69]);
    assert.equal(cutsOf(band, at).length, 2);
  });
  test("is cut in one piece over several points", () => {
    const wide = { ...band, low: [0, 0, 0], high: [2, 3, 2] };
    assert.deepEqual(cutsOf(wide, at), [{ y: 21, from: 10, to: 110 }]);
  });
  test("is not where it ends at the edge", () => {
    assert.deepEqual(cutsOf({ ...band, low: [0, 0, 0], high: [1, 1, 1] }, at), []);
  });
  test("is not where no part of it is inside", () => {
    assert.deepEqual(cutsOf({ ...band, low: [2, 2, 2], high: [3, 3, 3] }, at), []);
    assert.deepEqual(cutsOf({ ...band, low: [-3, -3, -3], high: [-2, -2, -2] }, at), []);
  });
  test("is not by a point that a logarithmic axis has no place for, or outside the window", () => {
    const logX = projection(box, { min: 5, max: 10 }, { min: 0, max: 1 }, true, false);
    assert.deepEqual(cutsOf({ ...band, low: [0, 0, 0] }, logX), []);
    const later = projection(box, { min: 4.5, max: 10 }, { min: 0, max: 1 }, false, false);
    assert.deepEqual(cutsOf({ ...band, low: [0, 0, 0] }, later), []);
  });
});

describe("a line that goes on below the box", () => {
  const at = projection(box, { min: 0, max: 10 }, { min: 1e-10, max: 1 }, false, true);
  const x = [0, 5, 10];
  test("is seen where it is inside or crosses it", () => {
    assert.equal(isSeen({ x, y: [1, 1e-5, 1e-17] }, at), true);
    assert.equal(isSeen({ x: [0, 10], y: [10, 1e-17] }, at), true);
    assert.equal(isSeen({ x, y: [1e-12, 1e-15, 1e-17] }, at), false);
    assert.equal(isSeen({ x, y: [0, NaN, 0] }, at), false);
  });
  test("is told apart from zero", () => {
    assert.equal(goesBelow({ x, y: [1, 1e-5, 1e-17] }, at), true);
    assert.equal(goesBelow({ x, y: [1, 0, 1e-10] }, at), false);
    assert.equal(goesBelow({ x: [0, 5, 11], y: [1, 1, 1e-17] }, at), false);
  });
  test("has its name and its marks at the edge", () => {
    assert.deepEqual([at.y(1e-20), 45, -4].map((y) => clampedY(y, at)), [70, 45, 20]);
  });
});
