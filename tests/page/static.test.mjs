// Without JavaScript: the same page with its static drawings.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startBrowser, visit } from "./browser.mjs";

const noScript = { javaScriptEnabled: false };
let browser;

// Playwright evaluates in pages without JavaScript as well; only the page's own does not run.
const shownPanels = (page) => page.locator(".curves .panel:visible").evaluateAll((panels) =>
  panels.map((panel) => panel.className));

describe("without JavaScript", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  test("every chart is there, drawn", () => visit(browser, "three", noScript, async (page) => {
    const charts = page.locator(".curves .panel:visible svg.line");
    assert.ok((await charts.count()) >= 3);
    for (const chart of await charts.all())
      assert.equal(await chart.locator("path.mean").count(), 3);
    assert.equal(await page.locator(".plots, .tools, .csv button").count(), 0);
  }));

  test("the axis is switched by mouse and by keyboard", () =>
    visit(browser, "three", noScript, async (page) => {
      const first = await shownPanels(page);
      assert.equal(first.length, 1);
      await page.locator(".curves .tabs label").nth(1).click();
      const second = await shownPanels(page);
      assert.equal(second.length, 1);
      assert.notDeepEqual(second, first);
      await page.keyboard.press("ArrowRight");
      assert.notDeepEqual(await shownPanels(page), second);
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await shownPanels(page), second);
    }));
});
