// The small decisions around the drawings.
import { describe, expect, test } from "vitest";
import { columnsOf, spread } from "../src/chart_table";
import { curvesOf } from "../src/curve";
import { foldKeys } from "../src/keep";
import { actionOf } from "../src/keys";
import { lostText } from "../src/live";
import { keyOf } from "../src/parts";
import { finalValues, lastValues, valuesAt } from "../src/readout";
import { dashOf } from "../src/theme";
import { bandData, chartData, encode } from "./synthetic";

describe("keys", () => {
  const press = (
    key: string,
    held: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {},
  ) => actionOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });
  test("zoom, move and reset", () => {
    expect(["+", "=", "-", "0", "Escape", "ArrowLeft", "Home"].map((key) => press(key))).toEqual([
      "in",
      "in",
      "out",
      "reset",
      "reset",
      "left",
      "first",
    ]);
    expect(press("ArrowLeft", { shiftKey: true })).toBe("panLeft");
    expect(press("+", { shiftKey: true })).toBe("in");
  });
  test("leave to the browser what is its own", () => {
    expect(["Tab", "Enter", " ", "a"].map((key) => press(key))).toEqual([null, null, null, null]);
    expect(press("+", { ctrlKey: true })).toBeNull();
    expect(press("ArrowLeft", { altKey: true })).toBeNull();
  });
});

describe("readings", () => {
  const chart = chartData([bandData([1, 2, 3], [5, 6, NaN], 1), bandData([1], [9])]);
  chart.bounds.push({
    label: "bound",
    note: "",
    style: 0,
    axis: { gradients: { x: encode([1, 3]), y: encode([100, 1]) } },
  });
  const curves = curvesOf(chart, "gradients");
  test("at a place: every group, and bounds where they are", () => {
    expect(valuesAt(curves, 1, true).map(({ label, text }) => `${label}: ${text}`)).toEqual([
      "group 0: 6.0 ± 1.0",
      "group 1: –",
      "bound: 10",
    ]);
  });
  test("final: the means over last values that the page's tables have", () => {
    expect(finalValues(chart.groups).map(({ text }) => text)).toEqual(["0.0 ± 1.0", "1.0 ± 1.0"]);
  });
  test("at the end: each group's own last value in the window", () => {
    expect(lastValues(curves, 3).map(({ text }) => text)).toEqual(["6.0 ± 1.0", "9"]);
    expect(lastValues(curves, 1).map(({ text }) => text)).toEqual(["5.0 ± 1.0", "9"]);
    expect(lastValues(curves, 0)).toEqual([]);
  });
});

test("a chart's table has places spread over the window, none twice", () => {
  expect(spread([0, 1, 2, 3, 4, 5, 6, 7, 8], { min: 0, max: 8 }, 5)).toEqual([0, 2, 4, 6, 8]);
  expect(spread([0, 1, 2], { min: 0, max: 2 }, 9)).toEqual([0, 1, 2]);
  expect(spread([0, 10], { min: 3, max: 6 }, 9)).toEqual([]);
  expect(spread([], { min: 0, max: 1 }, 9)).toEqual([]);
});

test("a chart's table gives the ends of an interval only to groups that have one", () => {
  const names = (high: number[]) =>
    columnsOf("A", { x: [1, 2], mean: [5, 5], low: [5, 4], high }).map(({ name }) => name);
  expect(names([5, NaN])).toEqual(["A"]);
  expect(names([5, 6])).toEqual(["A", "A, low", "A, high"]);
});

test("dashes are in tenths of a pixel", () => {
  expect(dashOf("90 28")).toEqual([9, 2.8]);
  expect(dashOf("")).toEqual([]);
});

test("folds of the same name are told apart", () => {
  const fold = { section: "curves", summary: "Data" };
  expect(foldKeys([fold, fold, { section: "seeds", summary: "Data" }])).toEqual([
    "curves/Data/0",
    "curves/Data/1",
    "seeds/Data/0",
  ]);
});

test("parts of a page are known by id, or else by place", () => {
  expect([keyOf("curves", 3), keyOf("", 3)]).toEqual(["#curves", "3"]);
});

test("the status line says whether asking again helps", () => {
  expect(lostText(null, "12:00:00")).toContain("since 12:00:00");
  expect(lostText(500, "12:00:00")).toContain("Trying again");
  expect(lostText(403, "12:00:00")).toContain("acid watch");
});
