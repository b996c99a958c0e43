// How soon a large page shows its first chart, in processor time of the page's own thread, for the
// machine does other things too, and in units of a fixed piece of work, for it may be a slow one.
// What it took is in the output.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { reportPath, startBrowser, visit } from "./browser.mjs";

// Of that piece of work, which takes some tenths of a second.
const mostTimes = 20;
let browser;

// Numbers that are sorted as a script sorts, and texts that are read as the page's data is.
function fixedWork() {
  let state = 1;
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648);
  const numbers = Array.from({ length: 300_000 }, next);
  numbers.sort((a, b) => a - b);
  return JSON.parse(JSON.stringify(numbers)).length;
}

const taskMs = async (session) => {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
};

// Milliseconds that it takes the thread of a page with nothing else to do.
async function unitOfWork() {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const before = await taskMs(session);
    await page.evaluate(fixedWork);
    return (await taskMs(session)) - before;
  } finally {
    await context.close();
  }
}

// Looks at the first chart as soon as it is there, and notes when something is drawn on it.
function noteFirstDrawing() {
  const look = () => {
    document.querySelector("figure.plot")?.scrollIntoView();
    if (document.querySelector(".plots path.mean")) window.firstDrawing = performance.now();
    else requestAnimationFrame(look);
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
    return { worked: await taskMs(session), wentBy: await first.jsonValue() };
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
    const unit = await unitOfWork();
    const took = `first drawing after ${worked.toFixed(0)} ms of work, ` +
      `${(worked / unit).toFixed(1)} units of ${unit.toFixed(0)} ms, ${wentBy.toFixed(0)} ms`;
    t.diagnostic(took);
    assert.ok(worked > 0 && worked < mostTimes * unit, took);
  });

  test("shows the overview of 64 settings at once", async (t) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    try {
      const page = await context.newPage();
      const session = await context.newCDPSession(page);
      await session.send("Performance.enable", { timeDomain: "threadTicks" });
      await page.goto(pathToFileURL(reportPath("study")).href, { waitUntil: "commit" });
      const paint = await page.waitForFunction(() =>
        performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
      const [worked, wentBy] = [await taskMs(session), await paint.jsonValue()];
      const unit = await unitOfWork();
      const took = `first picture after ${wentBy.toFixed(0)} ms, at most ${worked.toFixed(0)} ms ` +
        `of work, ${(worked / unit).toFixed(1)} units of ${unit.toFixed(0)} ms`;
      t.diagnostic(took);
      assert.ok(worked < mostTimes * unit, took);
    } finally {
      await context.close();
    }
  });

  test("makes the charts of one setting alone, and those that are near", () =>
    visit(browser, "big", {}, async (page) => {
      await page.locator("figure.plot").first().scrollIntoViewIfNeeded();
      await page.locator(".plots .surface > svg").first().waitFor();
      const count = await page.locator("figure.plot").count();
      assert.ok(count > 2 && count < 20, `${count} charts`);
      assert.equal(await page.locator("script[data-setting]").count(), 30);
    }));
});
