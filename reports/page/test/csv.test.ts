import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { csvOf, quoted } from "../src/csv";

const cell = (value: string, columns = 1, rows = 1) => ({ value, columns, rows });

describe("CSV", () => {
  test("quotes what separates, and only that", () => {
    assert.equal(quoted("plain text"), "plain text");
    assert.equal(quoted("a,b"), '"a,b"');
    assert.equal(quoted('say "no"'), '"say ""no"""');
    assert.equal(quoted("two\nlines"), '"two\nlines"');
    assert.equal(quoted(" padded"), '" padded"');
    assert.equal(quoted("A²CiD² 🎲"), "A²CiD² 🎲");
    assert.equal(quoted(""), "");
  });
  test("lets no spreadsheet take text for a formula", () => {
    assert.equal(quoted("=1+1"), "'=1+1");
    assert.equal(quoted("-x,y"), "\"'-x,y\"");
    assert.equal(quoted("+1"), "'+1");
    assert.equal(quoted("@a"), "'@a");
    assert.equal(quoted("\t=1"), "'\t=1");
    for (const number of ["-1", "-0.25", "-1.5e-07", "-inf", "-nan", "-.5"])
      assert.equal(quoted(number), number);
  });
  test("ends every row with CRLF", () => {
    assert.equal(csvOf([
        [cell("a"), cell("b")],
        [cell("1"), cell("")],
      ]), "a,b\r\n1,\r\n");
    assert.equal(csvOf([]), "");
  });
  test("gives a wide or tall cell to every place it covers", () => {
    assert.equal(csvOf([
        [cell("group", 1, 2), cell("loss", 2)],
        [cell("mean"), cell("low")],
        [cell("x"), cell("1"), cell("2")],
      ]), "group,loss,loss\r\ngroup,mean,low\r\nx,1,2\r\n");
  });
  test("a cell that reaches below the table ends with it", () => {
    assert.equal(csvOf([[cell("a", 1, 9), cell("b")]]), "a,b\r\n");
  });
});
