import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeFloats, readPageData } from "../src/data";
import { encode } from "./synthetic";

describe("decodeFloats", () => {
  test("reads little-endian float32", () => {
    assert.deepEqual([...decodeFloats("AACAPwAAAMAAAMB/")], [1, -2, NaN]);
  });
  test("gives back what was encoded, NaN and infinities too", () => {
    const numbers = [0, -0, 1.5, 3e38, 1e-40, NaN, Infinity, -Infinity];
    assert.deepEqual([...decodeFloats(encode(numbers))], [...new Float32Array(numbers)]);
    assert.equal(decodeFloats("").length, 0);
  });
  test("refuses what is no array of floats", () => {
    assert.throws(() => decodeFloats("AAAA"), RangeError);
  });
});

describe("readPageData", () => {
  const page = (text: string | null) =>
    ({
      getElementById: () => (text === null ? null : { textContent: text }),
    }) as unknown as Document;
  test("reads the block, with what was escaped in it", () => {
    const text =
      '{"schema":1,"live":false,"axes":[],"charts":[],"timelines":[{"label":"\\u003c/script>"}]}';
    assert.equal(readPageData(page(text)).timelines[0]?.label, "</script>");
  });
  test("refuses a page without data, and data it does not know", () => {
    assert.throws(() => readPageData(page(null)), /no data block/);
    assert.throws(() => readPageData(page('{"schema":2}')), /schema 2/);
  });
});
