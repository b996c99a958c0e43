import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ticks } from "../src/ticks";

describe("ticks", () => {
  test("are round and inside the range", () => {
    assert.deepEqual(ticks({ min: 0, max: 48000 }, 5, false), [0, 10000, 20000, 30000, 40000]);
    assert.deepEqual(ticks({ min: -1, max: 1 }, 4, false), [-1, -0.5, 0, 0.5, 1]);
  });
  test("are decades over many decades, with 2 and 5 over few", () => {
    assert.deepEqual(ticks({ min: 1e-7, max: 1e-3 }, 5, true), [1e-7, 1e-6, 1e-5, 1e-4, 1e-3]);
    assert.deepEqual(ticks({ min: 1, max: 50 }, 5, true), [1, 2, 5, 10, 20, 50]);
    assert.deepEqual(ticks({ min: 1e-20, max: 1 }, 5, true), [1e-20, 1e-16, 1e-12, 1e-8, 1e-4, 1]);
  });
  test("within less than a factor of two are as on a linear axis", () => {
    assert.equal(ticks({ min: 1.1, max: 1.4 }, 3, true).length, 4);
  });
  test("do not exist for an empty range", () => {
    assert.deepEqual(ticks({ min: 1, max: 1 }, 5, false), []);
    assert.deepEqual(ticks({ min: NaN, max: 1 }, 5, false), []);
    assert.deepEqual(ticks({ min: 0, max: Infinity }, 5, false), []);
  });
  test("near the end of the numbers come to an end", () => {
    assert.ok(ticks({ min: 1e15, max: 1e15 + 1 }, 5, false).length < 10);
  });
});
