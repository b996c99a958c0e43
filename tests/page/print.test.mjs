// Printed, a report is paper: vector charts, text that can be searched, nothing for a screen alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openDetails, startBrowser, visit } from "./browser.mjs";

// A4 without the margins, in CSS pixels.
const paperWidth = 673;
let browser, folder;

const print = async (name, options) => {
  const file = join(folder, `${name}.pdf`);
  await visit(browser, name, options, async (page) => {
    await page.pdf({ path: file, format: "A4", preferCSSPageSize: true });
  });
  return file;
};
const textOf = (file) => execFileSync("pdftotext", ["-layout", file, "-"], { encoding: "utf8" });

describe("printing", () => {
  before(async () => {
    browser = await startBrowser();
    folder = mkdtempSync(join(tmpdir(), "acid-print-"));
  });
  after(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  for (const colorScheme of ["light", "dark"])
    test(`charts are vectors and text (${colorScheme})`, async () => {
      const file = await print("three", { colorScheme });
      const images = execFileSync("pdfimages", ["-list", file], { encoding: "utf8" });
      assert.equal(images.trim().split("\n").length, 2, images);   // the head of the list alone
      const text = textOf(file);
      for (const part of ["AR-SGD", "AD-PSGD", "A²CiD²", "gradients, all workers",
        "Consensus distance", "Reproduce"])
        assert.ok(text.includes(part), part);
    });

  test("paper has no buttons", async () => {
    await visit(browser, "three", {}, async (page) => {
      await page.emulateMedia({ media: "print" });
      assert.deepEqual(await page.locator("button:visible, .panels:visible")
        .evaluateAll((elements) => elements.map((element) => element.outerHTML.slice(0, 100))), []);
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      assert.ok((await page.locator(".curves svg.line:visible").count()) >= 3);
    });
  });

  test("labels end before the paper does", () =>
    visit(browser, "three", { viewport: { width: paperWidth, height: 900 } }, async (page) => {
      await page.emulateMedia({ media: "print" });
      assert.deepEqual(await page.evaluate((edge) => [...document.querySelectorAll("svg text")]
        .filter((text) => text.getBoundingClientRect().right > edge)
        .map((text) => text.textContent), paperWidth), []);
    }));

  for (const name of ["three", "sweep", "ended"])
    test(`every table ends before the paper does (${name})`, () =>
      visit(browser, name, { viewport: { width: paperWidth, height: 900 } }, async (page) => {
        await openDetails(page);
        await page.emulateMedia({ media: "print" });
        assert.deepEqual(await page.evaluate((edge) => [...document.querySelectorAll("table")]
          .filter((table) => table.getBoundingClientRect().right > edge + 1)
          .map((table) => table.dataset.csv), paperWidth), []);
      }));

  test("names of 5,000 characters print", async () =>
    assert.ok(textOf(await print("hostile", {})).includes("<script>alert(1)</script>")));
});
