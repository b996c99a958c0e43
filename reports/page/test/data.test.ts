import { describe, expect, test } from "vitest";
import { decodeFloats, readPageData } from "../src/data";
import { encode } from "./synthetic";

describe("decodeFloats", () => {
  test("reads little-endian float32", () => {
    expect([...decodeFloats("AACAPwAAAMAAAMB/")]).toEqual([1, -2, NaN]);
  });
  test("gives back what was encoded, NaN and infinities too", () => {
    const numbers = [0, -0, 1.5, 3e38, 1e-40, NaN, Infinity, -Infinity];
    expect([...decodeFloats(encode(numbers))]).toEqual([...new Float32Array(numbers)]);
    expect(decodeFloats("").length).toBe(0);
  });
  test("refuses what is no array of floats", () => {
    expect(() => decodeFloats("AAAA")).toThrow(RangeError);
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
    expect(readPageData(page(text)).timelines[0]?.label).toBe("</script>");
  });
  test("refuses a page without data, and data it does not know", () => {
    expect(() => readPageData(page(null))).toThrow("no data block");
    expect(() => readPageData(page('{"schema":2}'))).toThrow("schema 2");
  });
});
