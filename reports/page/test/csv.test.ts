import { describe, expect, test } from "vitest";
import { csvOf, quoted } from "../src/csv";

const cell = (value: string, columns = 1, rows = 1) => ({ value, columns, rows });

describe("CSV", () => {
  test("quotes what separates, and only that", () => {
    expect(quoted("plain text")).toBe("plain text");
    expect(quoted("a,b")).toBe('"a,b"');
    expect(quoted('say "no"')).toBe('"say ""no"""');
    expect(quoted("two\nlines")).toBe('"two\nlines"');
    expect(quoted(" padded")).toBe('" padded"');
    expect(quoted("A²CiD² 🎲")).toBe("A²CiD² 🎲");
    expect(quoted("")).toBe("");
  });
  test("ends every row with CRLF", () => {
    expect(
      csvOf([
        [cell("a"), cell("b")],
        [cell("1"), cell("")],
      ]),
    ).toBe("a,b\r\n1,\r\n");
    expect(csvOf([])).toBe("");
  });
  test("gives a wide or tall cell to every place it covers", () => {
    expect(
      csvOf([
        [cell("group", 1, 2), cell("loss", 2)],
        [cell("mean"), cell("low")],
        [cell("x"), cell("1"), cell("2")],
      ]),
    ).toBe("group,loss,loss\r\ngroup,mean,low\r\nx,1,2\r\n");
  });
  test("a cell that reaches below the table ends with it", () => {
    expect(csvOf([[cell("a", 1, 9), cell("b")]])).toBe("a,b\r\n");
  });
});
