import { describe, expect, test } from "vitest";
import {
  formatInterval,
  formatNumber,
  formatPlace,
  formatPlusMinus,
  tickTexts,
} from "../src/numbers";

describe("numbers read as those of the tables", () => {
  test.each([
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
  ])("%d is %s", (value, text) => expect(formatNumber(value)).toBe(text));

  test.each([
    [0.94117, 0.00993, "0.9412 ± 0.0099"],
    [1.23e-7, 4e-9, "(1.230 ± 0.040)e-07"],
    [12, 3, "12.0 ± 3.0"],
    [0.5, 1e-12, "0.50000000 ± 1.0e-12"],
    [2, NaN, "2 ± nan"],
  ])("%d and %d are %s", (value, half, text) => expect(formatPlusMinus(value, half)).toBe(text));

  test("an interval is ± where symmetric, its ends where not, nothing for one seed", () => {
    expect(formatInterval(1, 0.9, 1.1)).toBe("1.00 ± 0.10");
    expect(formatInterval(1, 0.5, 2)).toBe("1 [0.5, 2]");
    expect(formatInterval(1, 1, 1)).toBe("1");
    expect(formatInterval(NaN, NaN, NaN)).toBe("–");
    const [mean, low, high] = new Float32Array([0.1, 0.0999, 0.1001]);
    expect(formatInterval(mean ?? 0, low ?? 0, high ?? 0)).toContain("±");
  });
});

describe("places on an axis", () => {
  test.each([
    ["gradients", 950, "950"],
    ["gradients", 20000, "20k"],
    ["gradients", 1.5e6, "1.5M"],
    ["bytes", 1.5e9, "1.5 GB"],
    ["bytes", 0, "0 B"],
    ["seconds", 12.345, "12.3"],
    ["epochs", 0.5, "0.5"],
  ] as const)("%s %d is %s", (axis, value, text) => expect(formatPlace(axis, value)).toBe(text));
});

describe("ticks", () => {
  const plain = (ticks: number[]) => tickTexts(ticks, formatNumber);
  test("have few digits, more only where neighbours would read the same", () => {
    expect(plain([0, 0.5, 1])).toEqual(["0", "0.5", "1"]);
    expect(plain([0.9412, 0.9414, 0.9416])).toEqual(["0.9412", "0.9414", "0.9416"]);
    expect(plain([0.1, 0.2, 0.1 + 0.2])).toEqual(["0.1", "0.2", "0.3"]);
    expect(
      tickTexts([20100, 20150], (value, digits) => formatPlace("gradients", value, digits)),
    ).toEqual(["20.1k", "20.15k"]);
  });
  test("powers of ten go without their zeros", () => {
    expect(plain([1e-7, 1e-6])).toEqual(["1e-07", "1e-06"]);
    expect(plain([1e6, 1.25e6])).toEqual(["1e+06", "1.25e+06"]);
  });
  test("one tick alone has its text", () => expect(plain([3])).toEqual(["3"]));
});
