// Which rows of an overview a reader has chosen.
import { expect, test } from "vitest";
import { briefKey, chosenSettings, valuesOf } from "../src/overview";

const settings = {
  keys: ["task.partition.alpha", "workers.count"],
  values: [
    ["–", "8"],
    ["0.1", "8"],
    ["–", "16"],
  ],
};

test("rows have every value that was chosen", () => {
  expect(chosenSettings(settings, [null, null])).toEqual([0, 1, 2]);
  expect(chosenSettings(settings, ["–", null])).toEqual([0, 2]);
  expect(chosenSettings(settings, ["0.1", "16"])).toEqual([]);
});

test("a key's values come in their order, each once", () => {
  expect(valuesOf(settings, 0)).toEqual(["–", "0.1"]);
  expect(valuesOf(settings, 1)).toEqual(["8", "16"]);
});

test("keys are said by their last two words", () => {
  expect(settings.keys.map(briefKey)).toEqual(["partition.alpha", "workers.count"]);
});
