import assert from "node:assert/strict";
import { describe, test } from "node:test";
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
    assert.deepEqual(rows.map(({ worker }) => worker), [0, 2]);
    assert.deepEqual(rows[1]?.spans.map(({ kind, begin }) => [kind, begin]), [
      ["compute", 0],
      ["compute", 4],
      ["exchange", 5],
      ["wait", 6],
    ]);
  });
  test("share the time as far as all of them reach", () => {
    assert.equal(commonEnd([rows]), 8);
    assert.equal(commonEnd([rows, rowsOf(timelineData([[1, 0, 0, 3]]))]), 3);
    assert.equal(commonEnd([]), 0);
  });
});

describe("what a worker does", () => {
  const row = rows[1]!;
  test("at a moment: all that covers it, and what takes no time if it is near", () => {
    assert.deepEqual(spansAt(row, 4.5, 0.1).map(({ kind }) => kind), ["compute"]);
    assert.deepEqual(spansAt(row, 5.05, 0.1).map(({ kind }) => kind), ["compute", "exchange"]);
    assert.deepEqual(spansAt(row, 4, 0).map(({ begin }) => begin), [4]);
    assert.deepEqual(spansAt(row, 9, 0.1), []);
  });
  test("in words", () => {
    assert.equal(momentText(row, 6.5, "s", 0), "worker 2, 6.5 s: wait from 6 to 8 (2 s)");
    assert.equal(momentText(row, 9, "s", 0), "worker 2, 9 s: nothing recorded");
  });
});

describe("shares", () => {
  const kinds = ["compute", "wait", "exchange"];
  test("are of the window, over all workers", () => {
    assert.deepEqual(shares(rows, kinds, { min: 0, max: 8 }), [14 / 16, 2 / 16, 0]);
    assert.deepEqual(shares(rows, kinds, { min: 6, max: 8 }), [0.5, 0.5, 0]);
    assert.deepEqual(shares([], kinds, { min: 0, max: 1 }), [0, 0, 0]);
  });
  test("in words", () => {
    const window = { min: 6, max: 8 };
    const text = "compute 50 %, wait 50 %, exchange 0 % of the time shown";
    assert.equal(sharesText(rows, kinds, window, 2), text);
    assert.equal(sharesText(rows, kinds, window, 64), `${text}; 2 of 64 workers`);
  });
});
