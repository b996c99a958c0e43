import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  formatInterval,
  formatNumber,
  formatPlace,
  formatPlusMinus,
  shortenedApart,
  tickTexts,
} from "../src/numbers";

describe("numbers read as those of the tables", () => {
  const numbers: [number, string][] = [
    [0, "0"],
    [1.5, "1.5"],
    [20, "20"],
    [123456, "123456"],
    [0.00012346, "0.0001235"],
    [0.94117, "0.9412"],
    [-3.14159, "-3.142"],
    [1e6, "1.000e+06"],
    [1.5e-7, "1.500e-07"],
    [NaN, "nan"],
    [Infinity, "inf"],
    [-Infinity, "-inf"],
  ];
  test("alone", () => {
    for (const [value, text] of numbers) assert.equal(formatNumber(value), text);
  });

  const spreads: [number, number, string][] = [
    [0.94117, 0.00993, "0.9412 ± 0.0099"],
    [1.23e-7, 4e-9, "(1.230 ± 0.040)e-07"],
    [12, 3, "12.0 ± 3.0"],
    [0.5, 1e-12, "0.50000000 ± 1.0e-12"],
    [2, NaN, "2 ± nan"],
  ];
  test("with a half-width", () => {
    for (const [value, half, text] of spreads) assert.equal(formatPlusMinus(value, half), text);
  });

  test("an interval is ± where symmetric, its ends where not, nothing for one seed", () => {
    assert.equal(formatInterval(1, 0.9, 1.1), "1.00 ± 0.10");
    assert.equal(formatInterval(1, 0.5, 2), "1 [0.5, 2]");
    assert.equal(formatInterval(1, 1, 1), "1");
    assert.equal(formatInterval(NaN, NaN, NaN), "–");
    const [mean, low, high] = new Float32Array([0.1, 0.0999, 0.1001]);
    assert.ok(formatInterval(mean ?? 0, low ?? 0, high ?? 0).includes("±"));
  });
});

test("places on an axis are counts, bytes or numbers", () => {
  const places = [
    ["gradients", 950, "950"],
    ["gradients", 20000, "20k"],
    ["gradients", 1.5e6, "1.5M"],
    ["bytes", 1.5e9, "1.5 GB"],
    ["bytes", 0, "0 B"],
    ["seconds", 12.345, "12.3"],
    ["epochs", 0.5, "0.5"],
  ] as const;
  for (const [axis, value, text] of places) assert.equal(formatPlace(axis, value), text);
});

describe("ticks", () => {
  const plain = (ticks: number[]) => tickTexts(ticks, formatNumber);
  test("have few digits, more only where neighbours would read the same", () => {
    assert.deepEqual(plain([0, 0.5, 1]), ["0", "0.5", "1"]);
    assert.deepEqual(plain([0.9412, 0.9414, 0.9416]), ["0.9412", "0.9414", "0.9416"]);
    assert.deepEqual(plain([0.1, 0.2, 0.1 + 0.2]), ["0.1", "0.2", "0.3"]);
    const gradients = (value: number, digits: number) => formatPlace("gradients", value, digits);
    assert.deepEqual(tickTexts([20100, 20150], gradients), ["20.1k", "20.15k"]);
  });
  test("powers of ten go without their zeros", () => {
    assert.deepEqual(plain([1e-7, 1e-6]), ["1e-07", "1e-06"]);
    assert.deepEqual(plain([1e6, 1.25e6]), ["1e+06", "1.25e+06"]);
  });
  test("one tick alone has its text", () => assert.deepEqual(plain([3]), ["3"]));
});

describe("names that are cut", () => {
  test("still differ", () => {
    assert.deepEqual(shortenedApart(["short", "a long label", "short"], 6),
      ["short", "a lon…", "short"]);
    assert.deepEqual(shortenedApart(["ad-psgd (lr 0.1)", "ad-psgd (lr 0.2)"], 9),
      ["ad-psg…1)", "ad-psg…2)"]);
    assert.deepEqual(shortenedApart(["the same 1 the same", "the same 2 the same"], 6),
      ["the s…", "the s…"]);
  });
});
