// Every report on every width, in light and dark: nothing leaves the page sideways, nothing lies on
// top of something else, and opening it does nothing that a file from disk must not.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openDetails, startBrowser, visit } from "./browser.mjs";
import { collisions, crowdedLabels, escapees } from "./layout.mjs";

const names = ["three", "sweep", "lone", "ended", "hostile"];
const widths = [360, 768, 1280, 3840];
let browser;

async function assertInPlace(page, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `at ${width} px the page is ${wide} px wide`);
  assert.deepEqual(await page.evaluate(escapees), [], `at ${width} px`);
  assert.deepEqual(await page.evaluate(collisions), [], `at ${width} px`);
}

describe("layout", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  for (const name of names)
    test(`${name} fits from a phone to 4K`, () => visit(browser, name, {}, async (page) => {
      await openDetails(page);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await assertInPlace(page, width);
      }
    }));

  for (const name of ["three", "sweep", "big", "study"])
    test(`labels of the drawings of ${name} keep clear of each other`, () =>
      visit(browser, name, {}, async (page) => {
        await openDetails(page);
        assert.deepEqual(await page.evaluate(crowdedLabels), []);
      }));

  // Its background is a shade at both ends and, over it, covers that scroll away with the table.
  test("a table wider than the page shows that it goes on", () =>
    visit(browser, "sweep", {}, async (page) => {
      await openDetails(page);
      await page.setViewportSize({ width: 760, height: 900 });
      const boxes = await page.evaluate(() => [...document.querySelectorAll(".scroll")]
        .filter((box) => box.scrollWidth > box.clientWidth + 1)
        .map((box) => getComputedStyle(box))
        .map(({ backgroundImage, backgroundAttachment }) =>
          [backgroundImage.split("linear-gradient").length - 1, backgroundAttachment]));
      assert.ok(boxes.length > 0, "no table is wider than the page");
      for (const box of boxes) assert.deepEqual(box, [4, "local, local, scroll, scroll"]);
    }));

  test("a table takes the room beside the text before it is cut", () =>
    visit(browser, "sweep", {}, async (page) => {
      await page.setViewportSize({ width: 1400, height: 900 });
      const [table, text] = await page.evaluate(() => ["section > .scroll", "main"]
        .map((one) => document.querySelector(one).getBoundingClientRect().right));
      assert.ok(table > text, `${table} and ${text}`);
    }));

  test("the page follows the colour scheme", () => visit(browser, "three", {}, async (page) => {
    const paper = async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      return page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    };
    assert.notEqual(await paper("light"), await paper("dark"));
  }));
});
