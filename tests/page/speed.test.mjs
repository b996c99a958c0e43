// How soon a large page shows its first chart, in processor time of the page's own thread, for the
// machine does other things too. What it took is in the output.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { reportPath, startBrowser, visit } from "./browser.mjs";

const boundMs = 5000;
let browser;

// Looks at the first chart as soon as it is there, and notes when something is drawn on it.
function noteFirstDrawing() {
  const look = () => {
    document.querySelector("figure.plot")?.scrollIntoView();
    for (const canvas of document.querySelectorAll(".plots canvas")) {
      if (canvas.width === 0 || canvas.height === 0) continue;
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      if (!pixels.some((value) => value !== 0)) continue;
      window.firstDrawing = performance.now();
      return;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

// Milliseconds until then: what its thread worked, and what went by.
async function firstDrawing(url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    await context.addInitScript(noteFirstDrawing);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(url);
    const first = await page.waitForFunction(() => window.firstDrawing, null, { timeout: 300_000 });
    const { metrics } = await session.send("Performance.getMetrics");
    const tasks = metrics.find(({ name }) => name === "TaskDuration").value;
    return { worked: 1000 * tasks, wentBy: await first.jsonValue() };
  } finally {
    await context.close();
  }
}

describe("a large page", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  test("draws soon", async (t) => {
    const url = pathToFileURL(process.env.PAGE_LARGE ?? reportPath("big")).href;
    const { worked, wentBy } = await firstDrawing(url);
    const took = `first drawing after ${worked.toFixed(0)} ms of work, ${wentBy.toFixed(0)} ms`;
    t.diagnostic(took);
    assert.ok(worked > 0 && worked < boundMs, took);
  });

  test("makes only the charts that are near", () =>
    visit(browser, "big", {}, async (page) => {
      await page.locator("figure.plot").first().scrollIntoViewIfNeeded();
      await page.locator(".plots canvas").first().waitFor();
      const drawn = await page.locator(".plots canvas").count();
      const charts = page.locator("figure.plot:visible");
      const count = await charts.count();
      assert.ok(count >= 90, `${count} charts`);
      assert.ok(drawn < count / 3, `${drawn} of ${count} charts are drawn`);
      await charts.last().scrollIntoViewIfNeeded();
      await charts.last().locator("canvas").first().waitFor();
    }));
});
