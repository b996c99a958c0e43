// axe-core finds nothing serious, and whoever has no mouse reaches and works every control.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { axeSource, openDetails, startBrowser, visit } from "./browser.mjs";

let browser;

async function seriousViolations(page) {
  const violations = await page.evaluate(async () =>
    (await window.axe.run(document, { resultTypes: ["violations"] })).violations);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))}`);
}

describe("accessibility", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  // Each look takes seconds: the page with everything on it in every form, the others in one.
  const forms = [
    { name: "three", colorScheme: "light", width: 1280 },
    { name: "three", colorScheme: "dark", width: 1280 },
    { name: "three", colorScheme: "light", width: 360 },
    { name: "hostile", colorScheme: "dark", width: 1280 },
    { name: "ended", colorScheme: "dark", width: 360 },
  ];
  for (const { name, colorScheme, width } of forms)
    test(`axe-core finds nothing serious in ${name}, ${colorScheme}, ${width} px wide`, () =>
      visit(browser, name, { colorScheme, viewport: { width, height: 900 } }, async (page) => {
        await openDetails(page);
        await page.evaluate(axeSource);
        assert.deepEqual(await seriousViolations(page), []);
      }));

  test("Tab reaches every control, and one sees which", () =>
    visit(browser, "three", {}, async (page) => {
      const count = await page.evaluate(() => {
        window.waiting = new Set([...document.querySelectorAll(
          "a[href], button, summary, input:checked, [tabindex='0']")]
          .filter((element) => element.checkVisibility()));
        return window.waiting.size;
      });
      const unmarked = [];
      for (let presses = 0; presses < count + 5; ++presses) {
        await page.keyboard.press("Tab");
        unmarked.push(...(await page.evaluate(() => {
          const element = document.activeElement;
          window.waiting.delete(element);
          const marked = element === document.body ||
            [element, ...element.labels ?? []].some((shown) =>
              getComputedStyle(shown).outlineStyle !== "none");
          return marked ? [] : [element.outerHTML.slice(0, 120)];
        })));
      }
      assert.deepEqual(unmarked, []);
      assert.deepEqual(await page.evaluate(() =>
        [...window.waiting].map((element) => element.outerHTML.slice(0, 120))), []);
    }));

  test("Enter and Space work every kind of control", () =>
    visit(browser, "three", {}, async (page) => {
      const seeds = page.locator(".curves .tools").getByRole("button", { name: "seeds" }).first();
      await seeds.focus();
      for (const [key, pressed] of [["Enter", "false"], ["Space", "true"]]) {
        await page.keyboard.press(key);
        assert.equal(await seeds.getAttribute("aria-pressed"), pressed, key);
      }
      const summary = page.locator("summary:visible").first();
      await summary.focus();
      await page.keyboard.press("Enter");
      assert.ok(await summary.evaluate((element) => element.parentElement.open));
      await page.locator(".csv button:visible").first().focus();
      await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
      const radio = page.locator(".curves .pick").first();
      await radio.focus();
      await page.keyboard.press("ArrowRight");
      assert.ok(await page.locator(".curves .pick").nth(1).isChecked());
    }));
});
