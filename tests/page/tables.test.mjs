// Every table of data can be taken away as CSV, with the digits that the page rounds.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { openDetails, startBrowser, visit } from "./browser.mjs";
import { drawnPlots } from "./charts.mjs";

let browser;

/// The rows of a file after RFC 4180: CRLF ends a row, quotes keep commas, line ends and, doubled,
/// themselves.
function parseCsv(text) {
  const rows = [[""]];
  let quoted = false;
  for (let k = 0; k < text.length; ++k) {
    const row = rows.at(-1);
    const c = text[k];
    if (quoted && c === '"' && text[k + 1] === '"') row[row.length - 1] += text[++k];
    else if (c === '"') quoted = !quoted;
    else if (!quoted && c === ",") row.push("");
    else if (!quoted && c === "\r" && text[k + 1] === "\n") rows.push([""]), ++k;
    else row[row.length - 1] += c;
  }
  assert.ok(!quoted, "a quote is left open");
  assert.deepEqual(rows.pop(), [""], "the last row ends as the others do");
  return rows;
}

/// What a reader sees, with the digits that were rounded and an apostrophe before what a spreadsheet
/// would take for a formula; a wide cell is in each of its columns.
const shownRows = (table) => table.evaluate((element) => [...element.rows].map((row) =>
  [...row.cells].flatMap((cell) => Array(cell.colSpan).fill(
    (cell.dataset.value ?? cell.textContent.replace(/\s+/g, " ").trim())
      .replace(/^[=+\-@](?![\d.]|inf|nan)/, "'$&")))));

/// Chromium silently drops what goes beyond ten downloads in a second.
const pauseMs = 150;

async function download(page, button) {
  await page.waitForTimeout(pauseMs);
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
}

async function assertTables(page) {
  await drawnPlots(page);
  await openDetails(page);
  await page.locator("figure.plot table:visible").first().waitFor();   // made once its fold opens
  const shown = await page.locator("table[data-csv]:visible").evaluateAll((tables) =>
    tables.map((table) => table.dataset.csv));
  assert.ok(shown.length >= 4, `${shown}`);
  for (const name of shown) {
    const table = page.locator(`table[data-csv="${name}"]`);
    const button = table.locator("xpath=ancestor::*[contains(@class, 'scroll')]" +
      "/preceding-sibling::*[1]").getByRole("button");
    const file = await download(page, button);
    assert.equal(file.name, `${name}.csv`);
    assert.deepEqual(parseCsv(file.text), await shownRows(table), name);
  }
  const names = await page.locator("table[data-csv]").evaluateAll((all) =>
    all.map((table) => table.dataset.csv));
  assert.equal(new Set(names).size, names.length, `two tables share a name: ${names}`);
  for (const name of names) assert.match(name, /^[a-z0-9-]+$/);
}

describe("tables", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  test("each downloads what it shows", () => visit(browser, "three", {}, async (page) => {
    await assertTables(page);
    assert.equal(await page.locator("table:not([data-csv]):visible").count(), 0);
  }));

  test("names with quotes, commas and line ends survive", () =>
    visit(browser, "hostile", {}, assertTables));

  test("rounded numbers come with all their digits", () =>
    visit(browser, "three", {}, async (page) => {
      const exact = await page.locator("td[data-value]").evaluateAll((cells) =>
        cells.map((cell) => [cell.textContent, cell.dataset.value]));
      assert.ok(exact.length > 10);
      assert.ok(exact.some(([shown, value]) => value.length > shown.length + 3));
    }));
});
