// The small decisions around the drawings.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { columnsOf, spread } from "../src/chart_table";
import { curvesOf } from "../src/curve";
import { foldKeys } from "../src/keep";
import { actionOf } from "../src/keys";
import { lostText } from "../src/live";
import { legendPlaces, linesWithin } from "../src/paper";
import { keyOf } from "../src/parts";
import { finalValues, lastValues, valuesAt } from "../src/readout";
import { fileNameOf } from "../src/save";
import { bandData, chartData, encode } from "./synthetic";

describe("keys", () => {
  const press = (
    key: string,
    held: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {},
  ) => actionOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });
  test("zoom, move and reset", () => {
    assert.deepEqual(["+", "=", "-", "0", "Escape", "ArrowLeft", "Home"].map((key) => press(key)), [
      "in",
      "in",
      "out",
      "reset",
      "reset",
      "left",
      "first",
    ]);
    assert.equal(press("ArrowLeft", { shiftKey: true }), "panLeft");
    assert.equal(press("+", { shiftKey: true }), "in");
  });
  test("leave to the browser what is its own", () => {
    assert.deepEqual(["Tab", "Enter", " ", "a"].map((key) => press(key)), [null, null, null, null]);
    assert.equal(press("+", { ctrlKey: true }), null);
    assert.equal(press("ArrowLeft", { altKey: true }), null);
  });
});

describe("above a picture alone", () => {
  test("a title has as many lines as it needs, and a longer word ends in an ellipsis", () => {
    assert.deepEqual(linesWithin("evaluation loss", 20), ["evaluation loss"]);
    assert.deepEqual(linesWithin("evaluation loss, at 8 workers", 16), [
      "evaluation loss,",
      "at 8 workers",
    ]);
    assert.deepEqual(linesWithin("a verylongword b", 8), ["a", "verylon…", "b"]);
  });
  test("names stand beside each other as long as they fit", () => {
    const places = legendPlaces(["AR-SGD", "AD-PSGD", "A²CiD²"], 150);
    assert.deepEqual(
      places.map(({ row }) => row),
      [0, 0, 1],
    );
    assert.equal(places[0]?.x, 0);
    assert.equal(places[2]?.x, 0);
  });
});

describe("readings of a geometric mean that is 0", () => {
  const chart = chartData([bandData([1, 2], [5, 6], 1), bandData([], [])], { logarithmic: true });
  chart.groups[1]!.final = [0, 0, 0];
  const texts = (of: ReturnType<typeof lastValues>) => of.map(({ text }) => text);
  test("say so at the cursor and at the edge", () => {
    const curves = curvesOf(chart, "gradients");
    assert.equal(texts(valuesAt(curves, 0, true))[1], "0");
    assert.equal(texts(lastValues(curves, 2))[1], "0");
  });
  test("do not take a curve without values for zero", () => {
    chart.groups[1]!.final = [null, null, null];
    assert.equal(texts(valuesAt(curvesOf(chart, "gradients"), 0, true))[1], "–");
  });
});

test("a file's name keeps the letters of every script", () => {
  assert.equal(fileNameOf("timeline 方法一.csv"), "timeline-方法一.csv");
  assert.equal(fileNameOf("staleness خوارزمية (v2).svg"), "staleness-خوارزمية-v2.svg");
  assert.equal(fileNameOf("A²CiD²: gradients.svg"), "a2cid2-gradients.svg");
  assert.equal(fileNameOf("🙂.svg"), "acid.svg");
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
    assert.deepEqual(valuesAt(curves, 1, true).map(({ label, text }) => `${label}: ${text}`), [
      "group 0: 6.0 ± 1.0",
      "group 1: –",
      "bound: 10",
    ]);
  });
  test("final: the means over last values that the page's tables have", () => {
    const texts = finalValues(chart.groups).map(({ text }) => text);
    assert.deepEqual(texts, ["0.0 ± 1.0", "1.0 ± 1.0"]);
  });
  test("at the end: each group's own last value in the window", () => {
    assert.deepEqual(lastValues(curves, 3).map(({ text }) => text), ["6.0 ± 1.0", "9"]);
    assert.deepEqual(lastValues(curves, 1).map(({ text }) => text), ["5.0 ± 1.0", "9"]);
    assert.deepEqual(lastValues(curves, 0), []);
  });
});

test("a chart's table has places spread over the window, none twice", () => {
  assert.deepEqual(spread([0, 1, 2, 3, 4, 5, 6, 7, 8], { min: 0, max: 8 }, 5), [0, 2, 4, 6, 8]);
  assert.deepEqual(spread([0, 1, 2], { min: 0, max: 2 }, 9), [0, 1, 2]);
  assert.deepEqual(spread([0, 10], { min: 3, max: 6 }, 9), []);
  assert.deepEqual(spread([], { min: 0, max: 1 }, 9), []);
});

test("a chart's table gives the ends of an interval only to groups that have one", () => {
  const names = (high: number[]) =>
    columnsOf("A", { x: [1, 2], mean: [5, 5], low: [5, 4], high }).map(({ name }) => name);
  assert.deepEqual(names([5, NaN]), ["A"]);
  assert.deepEqual(names([5, 6]), ["A", "A, low", "A, high"]);
});

test("folds of the same name are told apart", () => {
  const fold = { section: "curves", summary: "Data" };
  assert.deepEqual(foldKeys([fold, fold, { section: "seeds", summary: "Data" }]), [
    "curves/Data/0",
    "curves/Data/1",
    "seeds/Data/0",
  ]);
});

test("parts of a page are known by id, or else by place", () => {
  assert.deepEqual([keyOf("curves", 3), keyOf("", 3)], ["#curves", "3"]);
});

test("the status line says whether asking again helps", () => {
  assert.ok(lostText(null, "12:00:00").includes("since 12:00:00"));
  assert.ok(lostText(500, "12:00:00").includes("Trying again"));
  assert.ok(lostText(403, "12:00:00").includes("acid watch"));
});
