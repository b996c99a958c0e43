// A page of many settings: an overview first, the rest for whoever asks.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { drawnPlots, inkOf } from "./charts.mjs";
import { reportPath, startBrowser, visit } from "./browser.mjs";
import { collisions, escapees } from "./layout.mjs";

const mostBytes = 5e6;
let browser;

const rows = (page) => page.locator("svg.overview a.row:visible");
const filter = (page, name) => page.locator(".tools").getByLabel(name, { exact: true });
const opened = (page) => page.locator(".one-setting figure.plot").first().waitFor();
const onStudy = (use) => () => visit(browser, "study", {}, async (page) => {
  await opened(page);
  await use(page);
});

describe("64 settings, 4 algorithms, 5 seeds", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  test("are a page of at most 5 MB", (t) => {
    const { size } = statSync(reportPath("study"));
    t.diagnostic(`${size} bytes`);
    assert.ok(size <= mostBytes, `${size} bytes`);
  });

  test("are rows of the first screen, without a script too", async () => {
    const first = async (page) => {
      const box = await page.locator("svg.overview").boundingBox();
      assert.ok(box.y < 700, `the overview begins ${box.y} px down`);
      assert.equal(await rows(page).count(), 64);
    };
    await visit(browser, "study", { javaScriptEnabled: false }, first);
    await visit(browser, "study", {}, first);
  });

  test("are filtered and faceted by swept key", onStudy(async (page) => {
    await filter(page, "optimizer.learning_rate").selectOption({ label: "0.2" });
    assert.equal(await rows(page).count(), 16);
    await filter(page, "workers.count").selectOption({ label: "8" });
    assert.equal(await rows(page).count(), 4);
    await filter(page, "one chart for each").selectOption({ label: "partition.alpha" });
    assert.deepEqual(await page.locator(".facets figcaption").allTextContents(),
      ["–", "0.1", "1", "10"].map((value) => `partition.alpha = ${value}`));
    assert.equal(await rows(page).count(), 4);
    await filter(page, "one chart for each").selectOption({ label: "no key" });
    await filter(page, "optimizer.learning_rate").selectOption({ label: "all" });
    assert.equal(await rows(page).count(), 16);
  }));

  test("show the details of the one that is chosen, and of no other", onStudy(async (page) => {
    const heading = () => page.locator("#setting select").first().evaluate((select) =>
      select.selectedOptions[0].textContent);
    assert.match(await heading(), /learning_rate = 0\.2,.*count = 4/);
    const before = await page.locator(".one-setting table").first().textContent();
    await rows(page).nth(63).click();
    await page.waitForFunction((old) =>
      document.querySelector(".one-setting table").textContent !== old, before);
    assert.match(await heading(), /learning_rate = 1\.6,.*count = 32/);
    const plots = await drawnPlots(page);
    assert.ok(plots.length >= 3 && plots.length < 12, `${plots.length} charts`);
    assert.ok((await inkOf(plots[0])).filter((length) => length > 40).length >= 3);
    assert.equal(await page.locator("figure.timeline .surface > svg").count(), 4);
    await page.getByRole("button", { name: "next" }).click();
    await page.waitForFunction(() => document.querySelector("#setting select").value === "0");
  }));

  test("show their curves side by side on one scale", onStudy(async (page) => {
    await filter(page, "workers.count").selectOption({ label: "16" });
    await page.getByText("Curves of these settings, side by side").click();
    const charts = page.locator(".multiples figure");
    await charts.nth(15).waitFor();
    assert.equal(await charts.count(), 16);
    assert.equal(await charts.first().locator("path.mean").count(), 4);
    assert.doesNotMatch(await charts.first().locator("figcaption").textContent(), /count/);
    const ticks = (k) => charts.nth(k).locator("text[text-anchor=end]").allTextContents();
    assert.deepEqual(await ticks(0), await ticks(15));
    await filter(page, "workers.count").selectOption({ label: "all" });
    await charts.nth(63).waitFor();
  }));

  test("unpack the table of all runs when its fold opens", onStudy(async (page) => {
    assert.equal(await page.locator("table[data-csv=runs]").count(), 1, "of the setting");
    await page.getByText("The table of all runs").click();
    await page.locator("#seeds table tbody tr").nth(1279).waitFor();
    assert.ok((await page.locator("#seeds .csv button").count()) === 1);
  }));

  for (const width of [360, 760, 1400])
    test(`fit ${width} px`, onStudy(async (page) => {
      await page.setViewportSize({ width, height: 900 });
      await page.getByText("Curves of these settings, side by side").click();
      await page.locator(".multiples figure").nth(63).waitFor();
      assert.deepEqual(await page.evaluate(escapees), []);
      assert.deepEqual(await page.evaluate(collisions), []);
    }));
});
