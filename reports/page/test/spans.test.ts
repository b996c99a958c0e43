import { describe, expect, test } from "vitest";
import { commonEnd, momentText, rowsOf, shares, sharesText, spansAt } from "../src/spans";
import { timelineData } from "./synthetic";

const rows = rowsOf(
  timelineData([
    [2, 0, 4, 6],
    [2, 2, 5, 5],
    [2, 1, 6, 8],
    [2, 0, 0, 4],
    [0, 0, 0, 10],
  ]),
);

describe("rows of a timeline", () => {
  test("are by worker, their spans by time", () => {
    expect(rows.map(({ worker }) => worker)).toEqual([0, 2]);
    expect(rows[1]?.spans.map(({ kind, begin }) => [kind, begin])).toEqual([
      ["compute", 0],
      ["compute", 4],
      ["exchange", 5],
      ["wait", 6],
    ]);
  });
  test("share the time as far as all of them reach", () => {
    expect(commonEnd([rows])).toBe(8);
    expect(commonEnd([rows, rowsOf(timelineData([[1, 0, 0, 3]]))])).toBe(3);
    expect(commonEnd([])).toBe(0);
  });
});

describe("what a worker does", () => {
  const row = rows[1]!;
  test("at a moment: all that covers it, and what takes no time if it is near", () => {
    expect(spansAt(row, 4.5, 0.1).map(({ kind }) => kind)).toEqual(["compute"]);
    expect(spansAt(row, 5.05, 0.1).map(({ kind }) => kind)).toEqual(["compute", "exchange"]);
    expect(spansAt(row, 4, 0).map(({ begin }) => begin)).toEqual([4]);
    expect(spansAt(row, 9, 0.1)).toEqual([]);
  });
  test("in words", () => {
    expect(momentText(row, 6.5, "s", 0)).toBe("worker 2, 6.5 s: wait from 6 to 8 (2 s)");
    expect(momentText(row, 9, "s", 0)).toBe("worker 2, 9 s: nothing recorded");
  });
});

describe("shares", () => {
  const kinds = ["compute", "wait", "exchange"];
  test("are of the window, over all workers", () => {
    expect(shares(rows, kinds, { min: 0, max: 8 })).toEqual([14 / 16, 2 / 16, 0]);
    expect(shares(rows, kinds, { min: 6, max: 8 })).toEqual([0.5, 0.5, 0]);
    expect(shares([], kinds, { min: 0, max: 1 })).toEqual([0, 0, 0]);
  });
  test("in words", () => {
    const window = { min: 6, max: 8 };
    const text = "compute 50 %, wait 50 %, exchange 0 % of the time shown";
    expect(sharesText(rows, kinds, window, 2)).toBe(text);
    expect(sharesText(rows, kinds, window, 64)).toBe(`${text}; 2 of 64 workers`);
  });
});
