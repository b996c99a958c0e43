// What every worker did with its time, in a real browser: drawn, zoomed together, read.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startBrowser, visit } from "./browser.mjs";
import { boxOf, drawingOf, pictureOf, readoutOf } from "./charts.mjs";

let browser;

const pictures = (timelines) => Promise.all(timelines.map(pictureOf));

const onTimelines = (use) => () => visit(browser, "three", {}, async (page) => {
  await page.locator("figure.timeline").first().scrollIntoViewIfNeeded();
  await use(page, await page.locator("figure.timeline").all());
});

/// How many different colours a drawing has.
const coloursOf = (timeline) => drawingOf(timeline).evaluate((svg) =>
  new Set([...svg.querySelectorAll("path, text")].map((shape) => getComputedStyle(shape))
    .flatMap(({ fill, stroke }) => [fill, stroke])).size);

describe("timelines", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  test("every algorithm has one, in place of the static drawing",
    onTimelines(async (page, timelines) => {
      assert.equal(timelines.length, 3);
      for (const timeline of timelines) {
        assert.ok((await coloursOf(timeline)) >= 4);   // one is none
        assert.match(await readoutOf(timeline), /compute \d+ %.*wait \d+ %/);
      }
      assert.equal(await page.locator("figure.timeline > svg:visible").count(), 0);
    }));

  test("a drag zooms all of them, and reset shows all again",
    onTimelines(async (page, timelines) => {
      const before = await pictures(timelines);
      const box = await boxOf(timelines[0]);
      await page.mouse.move(box.x + 0.4 * box.width, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + 0.6 * box.width, box.y + 20, { steps: 3 });
      await page.mouse.up();
      await page.mouse.move(1, 1);
      (await pictures(timelines)).forEach((picture, k) => assert.notEqual(picture, before[k]));
      await timelines[1].getByRole("button", { name: "reset zoom" }).click();
      assert.deepEqual(await pictures(timelines), before);
    }));

  test("keys zoom and read out", onTimelines(async (page, timelines) => {
    const before = await pictures(timelines);
    const surface = timelines[1].locator(".surface");
    await surface.focus();
    await page.keyboard.press("ArrowDown");
    assert.match(await readoutOf(timelines[1]), /worker 1, .*(compute|wait|exchange) from/);
    await page.keyboard.press("+");
    assert.notEqual((await pictures(timelines))[0], before[0]);
    await page.keyboard.press("0");
    await surface.blur();
    assert.deepEqual(await pictures(timelines), before);
  }));

  test("the mouse reads out what a worker does", onTimelines(async (page, timelines) => {
    await timelines[2].scrollIntoViewIfNeeded();
    const box = await boxOf(timelines[2]);
    await page.mouse.move(box.x + box.width / 2, box.y + 8);
    assert.match(await readoutOf(timelines[2]), /worker 0, .*compute from/);
  }));
});
