// Whatever a person writes into a recipe is text on the page, and stays on it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { reportPath, startBrowser, visit } from "./browser.mjs";
import { hostileLabels, hostileName } from "./recipes.mjs";

let browser;

/// As a page shows it: white space of any kind is one space.
const flat = (text) => text.replace(/\s+/gu, " ").trim();

describe("hostile names", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  for (const javaScriptEnabled of [true, false])
    test(`stay text ${javaScriptEnabled ? "with" : "without"} JavaScript`, () =>
      visit(browser, "hostile", { javaScriptEnabled }, async (page) => {
        const shown = flat(await page.evaluate(() => document.body.textContent));
        for (const label of [...hostileLabels, hostileName])
          assert.ok(shown.includes(flat(label)), label.slice(0, 60));
        assert.equal(flat(await page.locator("h1").textContent()), flat(hostileName));
      }));

  test("make no element, attribute or comment of their own", () =>
    visit(browser, "hostile", {}, async (page) => {
      const found = await page.evaluate(() => {
        const elements = [...document.querySelectorAll("*")];
        const comments = document.createTreeWalker(document, NodeFilter.SHOW_COMMENT);
        return {
          comments: comments.nextNode() !== null,
          foreign: elements.filter((e) => /^(img|iframe|object|embed|base|link)$/i.test(e.tagName)),
          handlers: elements.flatMap((e) => e.getAttributeNames().filter((n) => /^on/i.test(n))),
          scripts: document.scripts.length,
        };
      });
      assert.deepEqual({ ...found, scripts: 0 },
        { comments: false, foreign: [], handlers: [], scripts: 0 });
      const html = readFileSync(reportPath("hostile"), "utf8");
      assert.equal((html.match(/<script/gi) ?? []).length, found.scripts);
      assert.equal((html.match(/<\/script/gi) ?? []).length, found.scripts);
    }));

  test("would not run even if they came to be elements", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(pathToFileURL(reportPath("hostile")).href);
    await page.evaluate(() => new Promise((failed) => {
      const script = document.createElement("script");
      script.textContent = "window.cameIn = true";
      const image = document.createElement("img");
      image.setAttribute("onerror", "window.cameIn = true");
      image.addEventListener("error", failed);  // after the other, which was there first
      image.src = "data:,";
      document.body.append(script, image);
    }).then(() => undefined));
    assert.equal(await page.evaluate(() => window.cameIn), undefined);
    await context.close();
  });

  test("keep their direction to themselves", () => visit(browser, "hostile", {}, async (page) =>
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).direction), "ltr")));
});
