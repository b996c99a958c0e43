// Which rows of an overview a reader has chosen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { briefKey, chosenSettings, dataOf, valuesOf } from "../src/overview";

const settings = {
  keys: ["task.partition.alpha", "workers.count"],
  values: [
    ["–", "8"],
    ["0.1", "8"],
    ["–", "16"],
  ],
  lines: [1, 2, 1],
};

test("rows have every value that was chosen", () => {
  assert.deepEqual(chosenSettings(settings, [null, null]), [0, 1, 2]);
  assert.deepEqual(chosenSettings(settings, ["–", null]), [0, 2]);
  assert.deepEqual(chosenSettings(settings, ["0.1", "16"]), []);
});

test("data is of the rows shown, with its head, also over lines in quotes", () => {
  const csv = 'alpha,label\n,"one\ntwo"\n0.1,a\n0.1,b\n,c\n';
  assert.equal(dataOf(csv, settings, [0, 1, 2]), csv);
  assert.equal(dataOf(csv, settings, [1]), "alpha,label\n0.1,a\n0.1,b\n");
  assert.equal(dataOf(csv, settings, [0, 2]), 'alpha,label\n,"one\ntwo"\n,c\n');
  assert.equal(dataOf(csv, settings, []), "alpha,label\n");
});

test("a key's values come in their order, each once", () => {
  assert.deepEqual(valuesOf(settings, 0), ["–", "0.1"]);
  assert.deepEqual(valuesOf(settings, 1), ["8", "16"]);
});

test("keys are said by their last two words", () => {
  assert.deepEqual(settings.keys.map(briefKey), ["partition.alpha", "workers.count"]);
});
