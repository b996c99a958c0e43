// The charts of a report in a real browser: drawn, switched, zoomed, read.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startBrowser, visit } from "./browser.mjs";
import { boxOf, drag, drawingOf, drawnPlots, inkOf, labelOf, pictureOf, plotTitled, reachOf,
  readoutOf } from "./charts.mjs";

const labels = ["AR-SGD", "AD-PSGD", "A²CiD²"];
const styles = [0, 2, 3];   // theirs in every report
let browser;

const onThree = (use) => () => visit(browser, "three", {}, async (page) => {
  await drawnPlots(page);
  await use(page, plotTitled(page, "Evaluation loss"), plotTitled(page, "Consensus distance"));
});
const tool = (page, name) =>
  page.locator(".curves .tools").getByRole("button", { name }).first();

const gradients = 4800;
const isNear = (actual, expected) =>
  assert.ok(Math.abs(actual - expected) < 0.03 * gradients, `${actual} is not about ${expected}`);
async function assertWhole(page, plot) {
  const [low, high] = await reachOf(page, plot);
  isNear(low, 0);
  isNear(high, gradients);
}

describe("charts", () => {
  before(async () => (browser = await startBrowser()));
  after(() => browser.close());

  test("every chart shows every group in its colour", () =>
    visit(browser, "three", {}, async (page) => {
      const plots = await drawnPlots(page);
      assert.ok(plots.length >= 3);
      for (const plot of plots)
        (await inkOf(plot)).forEach((length, k) => {
          if (styles.includes(k)) assert.ok(length > 40, `style ${k} has ${length} units`);
        });
      assert.equal(await page.locator(".panels:visible").count(), 0, "the static ones are hidden");
    }));

  test("colours follow a change of scheme", onThree(async (page, loss) => {
    const paint = () => drawingOf(loss).locator("path.mean").first().evaluate((path) =>
      getComputedStyle(path).stroke);
    const light = await paint();
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await paint(), light);
    const ink = await inkOf(loss);
    styles.forEach((k) => assert.ok(ink[k] > 40));
  }));

  // Two languages draw charts; one sees that they agree, until one zooms.
  test("the script draws what the page without it has", onThree(async (page, ...plots) => {
    const shapesOf = (svg) => svg.evaluate((drawn) => ({
      texts: [...drawn.querySelectorAll("text")].map((text) => [text.textContent,
        text.getAttribute("text-anchor"), Number(text.getAttribute("x")),
        Number(text.getAttribute("y"))]).sort(),
      ends: [...drawn.querySelectorAll("path.mean")].map((path) => {
        const { x, y } = path.getPointAtLength(path.getTotalLength());
        return [path.getAttribute("class"), x / 10, y / 10];
      }),
      roles: [...new Set([...drawn.querySelectorAll("path:not(.over *)")].map((path) =>
        path.getAttribute("class").split(" ")[0]))].sort(),
    }));
    // Means are drawn on coarser cells there.
    const near = (one, other) =>
      one.every((part, k) => part === other[k] || Math.abs(part - other[k]) < 2);
    for (const plot of plots) {
      const title = await plot.locator("figcaption").textContent();
      const still = page.locator(".panel0 figure").filter({ hasText: title }).locator("svg.line");
      const [now, before] = [await shapesOf(drawingOf(plot)), await shapesOf(still.first())];
      assert.deepEqual(now.roles, before.roles, title);
      for (const part of ["texts", "ends"]) {
        assert.equal(now[part].length, before[part].length, title);
        now[part].forEach((one, k) =>
          assert.ok(near(one, before[part][k]), `${title}: ${one} is not ${before[part][k]}`));
      }
    }
  }));

  test("the axis of all charts is switched", onThree(async (page, loss, consensus) => {
    const before = [await pictureOf(loss), await pictureOf(consensus)];
    assert.match(await labelOf(loss), /gradients, all workers/);
    await page.locator(".curves .tabs label", { hasText: "seconds" }).click();
    for (const plot of [loss, consensus]) assert.match(await labelOf(plot), /seconds/);
    assert.notEqual(await pictureOf(loss), before[0]);
    assert.notEqual(await pictureOf(consensus), before[1]);
    await page.locator(".curves .tabs label", { hasText: "gradients" }).click();
    assert.deepEqual([await pictureOf(loss), await pictureOf(consensus)], before);
  }));

  test("logarithmic axes, bands and seeds are toggled", onThree(async (page, loss) => {
    for (const name of ["log x", "log y", "bands", "seeds"]) {
      const button = tool(page, name);
      const [before, was] = [await pictureOf(loss), await button.getAttribute("aria-pressed")];
      await button.click();
      assert.notEqual(await pictureOf(loss), before, name);
      assert.notEqual(await button.getAttribute("aria-pressed"), was, name);
      for (let k = 0; k < 2 && (await button.getAttribute("aria-pressed")) !== was; ++k)
        await button.click();
      assert.equal(await pictureOf(loss), before, name);
    }
  }));

  test("a drag zooms all charts, and reset shows all again",
    onThree(async (page, loss, consensus) => {
      await assertWhole(page, loss);
      await drag(page, loss, 0.25, 0.5);
      for (const plot of [loss, consensus]) {
        const [low, high] = await reachOf(page, plot);
        isNear(low, gradients / 4);
        isNear(high, gradients / 2);
      }
      await tool(page, "reset zoom").click();
      await assertWhole(page, consensus);
      await drag(page, consensus, 0.5, 0.75);
      const { x, y, width, height } = await boxOf(consensus);
      await page.mouse.dblclick(x + width / 2, y + height / 2);
      await assertWhole(page, loss);
    }));

  test("keys zoom, pan and reset", onThree(async (page, loss, consensus) => {
    await loss.locator(".surface").focus();
    await page.keyboard.press("+");
    const [low, high] = await reachOf(page, consensus);
    isNear(high - low, gradients / 2);
    await page.keyboard.press("Shift+ArrowRight");
    const [panned] = await reachOf(page, consensus);
    isNear(panned - low, gradients / 8);
    await page.keyboard.press("-");
    await page.keyboard.press("Escape");
    await assertWhole(page, loss);
  }));

  test("the cursor reads every group out, in all charts", onThree(async (page, loss, consensus) => {
    await loss.scrollIntoViewIfNeeded();
    const box = await boxOf(loss);
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    for (const plot of [loss, consensus]) {
      const text = await readoutOf(plot);
      for (const label of labels) assert.match(text, new RegExp(`${label} [\\d.(]+.*±|${label} `));
      assert.match(text, /gradients, all workers: 2\.\d+k/);
    }
    await page.mouse.move(1, 1);
    await loss.locator(".surface").focus();
    await page.keyboard.press("ArrowRight");
    const first = await readoutOf(consensus);
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await readoutOf(consensus), first);
  }));

  test("points of a sweep have axes and zooms of their own", () =>
    visit(browser, "sweep", {}, async (page) => {
      const areas = page.locator(".curves");
      assert.equal(await areas.count(), 4);
      const plots = [0, 1].map((k) => areas.nth(k).locator("figure.plot").first());
      for (const plot of plots) {
        await plot.scrollIntoViewIfNeeded();
        await drawingOf(plot).waitFor();
      }
      const other = await pictureOf(plots[1]);
      await drag(page, plots[0], 0.2, 0.4);
      await areas.first().locator(".tabs label").last().click();
      assert.equal(await pictureOf(plots[1]), other);
    }));

  test("charts are as wide as their place", onThree(async (page, loss) => {
    const drawing = drawingOf(loss);
    assert.ok((await drawing.boundingBox()).width > 360);
    await page.setViewportSize({ width: 360, height: 800 });
    await page.waitForFunction((drawn) => drawn.getBoundingClientRect().width <= 360,
      await drawing.elementHandle());
  }));
});
