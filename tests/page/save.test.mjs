// The buttons that save a chart of the page for a paper or print it alone: what comes is whole, has
// its font, and is the same whatever the reader's screen.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openDetails, startBrowser, visit } from "./browser.mjs";
import { drawnPlots, drag, plotTitled } from "./charts.mjs";

/// Chromium silently drops what goes beyond ten downloads in a second.
const pauseMs = 150;
const points = (millimetres) => millimetres * 72 / 25.4;
let browser, folder, sheets = 0;

const buttonOf = (page, label) =>
  page.locator(".save:visible").getByRole("button", { name: label, exact: true }).first();

async function saved(page, label) {
  await page.waitForTimeout(pauseMs);
  const button = buttonOf(page, label);
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const path = await file.path();
  return { name: file.suggestedFilename(), path, bytes: await readFile(path) };
}
/// What a browser makes of the sheet when it is asked for a PDF.
async function printed(page, label) {
  await page.evaluate(() => {
    window.asked = new Promise((asked) => (window.print = asked));
  });
  await buttonOf(page, label).click();
  await page.evaluate(() => window.asked);
  const name = await page.title();
  const path = join(folder, `${++sheets}.pdf`);
  await page.pdf({ path, preferCSSPageSize: true });
  const left = await page.evaluate(
    () => document.querySelectorAll(".sheet").length + document.adoptedStyleSheets.length);
  assert.equal(left, 0, "the page is as it was");
  return { name, path };
}
const textOf = async (page, label) => (await saved(page, label)).bytes.toString("utf8");
const tool = (program, ...words) => execFileSync(program, words, { encoding: "utf8" });

function assertPdf({ path }, millimetres, words) {
  const fonts = tool("pdffonts", path).trim().split("\n").slice(2);
  assert.equal(fonts.length, 1);
  assert.match(fonts[0], /DejaVuSansCondensed +CID TrueType +Identity-H +yes yes yes/);
  const [, width] = /Pages: +1\n[^]*Page size: +([\d.]+) x/.exec(tool("pdfinfo", path));
  assert.ok(Math.abs(Number(width) - points(millimetres)) < 0.3, width);   // in whole pixels
  assert.match(tool("pdftotext", "-layout", path, "-"), words);
}

const onThree = (options, use) => visit(browser, "three", options, async (page) => {
  await drawnPlots(page);
  await openDetails(page);
  await use(page);
});

describe("saving", () => {
  before(async () => (browser = await startBrowser()));
  before(() => (folder = mkdtempSync(join(tmpdir(), "acid-save-"))));
  after(() => browser.close());
  after(() => rmSync(folder, { recursive: true }));

  test("every chart has its buttons, and each writes a file of its own name", () =>
    onThree({}, async (page) => {
      const labels = await page.locator(".save:visible button").evaluateAll((buttons) =>
        buttons.map((button) => button.getAttribute("aria-label")));
      assert.equal(new Set(labels).size, labels.length, `${labels}`);
      for (const title of ["Evaluation loss", "Difference in evaluation loss", "timeline A²CiD²",
        "staleness AD-PSGD", "topology ring, 16 workers", "pairing A²CiD²", "AR-SGD: gradients",
        "Time per gradient of a worker"])
        for (const kind of ["SVG", "PDF"]) assert.ok(labels.includes(`${kind}: ${title}`), title);
      const bare = await page.locator("figure:visible:not(:has(.save))").evaluateAll((figures) =>
        figures.filter((figure) => figure.querySelector("svg:not(.swatch)")).length);
      assert.equal(bare, 0);
    }));

  test("printed alone, a chart is as wide as a column, has its font and its words", () =>
    onThree({}, async (page) => {
      const chart = await printed(page, "PDF: Consensus distance");
      assert.equal(chart.name, "Consensus distance");
      assertPdf(chart, 84, /Consensus distance[^]*A²CiD²/);
      assertPdf(await printed(page, "PDF: topology ring, 16 workers"), 84, /15/);
      assertPdf(await printed(page, "PDF: pairing AD-PSGD"), 84, /exchanges per unit time/);
      assertPdf(await printed(page, "PDF: timeline AR-SGD"), 84, /simulated s/);
    }));

  test("the same bytes each time, in the dark, and on a small screen", () =>
    onThree({}, async (page) => {
      const labels = ["SVG: Evaluation loss", "SVG: Difference in evaluation loss",
        "SVG: topology ring, 16 workers", "SVG: AR-SGD: share of time idle"];
      const light = [];
      for (const label of labels) light.push((await saved(page, label)).bytes);
      await onThree({ colorScheme: "dark", viewport: { width: 400, height: 800 } },
        async (other) => {
          for (const [k, label] of labels.entries())
            assert.deepEqual((await saved(other, label)).bytes, light[k], label);
        });
      assert.match(light[0].toString(), /width="84mm".*[^]*font-family:acid;src:url\(data:font/);
      for (const colour of ["#1a1a1a", "#d55e00", "#009e73"])
        assert.ok(light[0].includes(`stroke="${colour}"`), colour);
    }));

  test("what is saved is what is shown: its axis, its zoom; the data is whole", () =>
    onThree({}, async (page) => {
      const whole = await textOf(page, "SVG: Evaluation loss");
      const data = await textOf(page, "CSV: Evaluation loss");
      await drag(page, plotTitled(page, "Evaluation loss"), 0.25, 0.5);
      assert.notEqual(await textOf(page, "SVG: Evaluation loss"), whole);
      assert.equal(await textOf(page, "CSV: Evaluation loss"), data);
      assert.match(data, /^label,gradients,mean,ci_low,ci_high\nAR-SGD,/);
      await page.locator(".curves .tabs label", { hasText: "seconds" }).click();
      assert.match(await textOf(page, "SVG: Evaluation loss"), /simulated seconds/);
      assert.match(await textOf(page, "CSV: pairing AD-PSGD"), /^i,j,nominal,realised\n0,/);
      assert.match(await textOf(page, "CSV: timeline AR-SGD"), /^worker,kind,begin,end\n0,compute,0,/);
    }));

  test("an overview is as wide as the text and has only the rows shown", () =>
    visit(browser, "study", {}, async (page) => {
      const title = await page.locator("#overview-figure figcaption").textContent();
      const all = await printed(page, `PDF: ${title}`);
      assertPdf(all, 174, /AR-SGD[^]*0\.2/);
      await page.locator("#overview .tools select").first().selectOption({ index: 1 });
      const part = await printed(page, `PDF: ${title}`);
      const heightOf = ({ path }) => Number(/x ([\d.]+) pts/.exec(tool("pdfinfo", path))[1]);
      assert.ok(heightOf(part) < 0.7 * heightOf(all));
      const { name, bytes } = await saved(page, `CSV: ${title}`);
      assert.match(name, /^every-setting-evaluation-\w+-optimizer-learning-rate-0-2\.csv$/);
      const [head, ...lines] = bytes.toString("utf8").trim().split("\n");
      assert.match(head, /,label,n,final,ci_low,ci_high,difference/);
      assert.equal(lines.length, 16 * 4);
      assert.equal(await textOf(page, `CSV: ${title}`), bytes.toString("utf8"));
    }));

  test("one of many charts side by side is saved with its metric, its setting and a legend", () =>
    visit(browser, "study", {}, async (page) => {
      await page.locator("#overview .tools select").first().selectOption({ index: 1 });
      await page.getByText("Curves of these settings, side by side").click();
      await page.locator(".multiples figure").nth(15).waitFor();
      await page.waitForTimeout(pauseMs);
      const button = page.locator(".multiples .save button").first();
      const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
      assert.match(file.suggestedFilename(), /^evaluation-.*-optimizer-learning-rate-0-2.*\.svg$/);
      const picture = (await readFile(await file.path())).toString("utf8");
      for (const words of ["Evaluation", "learning_rate = 0.2", ">AR-SGD<"])
        assert.ok(picture.includes(words), words);
    }));
});
