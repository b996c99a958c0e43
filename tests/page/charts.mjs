// A chart as a reader has it: what is drawn in which colour, and which places it reaches.

/// The charts shown now, one after the other scrolled to and drawn.
export async function drawnPlots(page) {
  const plots = await page.locator("figure.plot:visible").all();
  for (const plot of plots) {
    await plot.scrollIntoViewIfNeeded();
    await plot.locator("canvas").first().waitFor();
  }
  return plots;
}

export const plotTitled = (page, title) => page.locator("figure.plot:visible")
  .filter({ has: page.locator("figcaption", { hasText: new RegExp(`^${title}$`) }) }).first();

/// Pixels of a chart in each of the page's eight colours, as they are in the present scheme.
export const inkOf = (plot) => plot.locator("canvas").first().evaluate((canvas) => {
  const toRead = (width, height) =>
    new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  const [copy, one] = [toRead(canvas.width, canvas.height), toRead(1, 1)];
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const root = getComputedStyle(document.documentElement);
  return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => {
    one.fillStyle = root.getPropertyValue(`--k${k}`).trim();
    one.fillRect(0, 0, 1, 1);
    const [r, g, b] = one.getImageData(0, 0, 1, 1).data;
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at + 3] > 200 && Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) +
        Math.abs(data[at + 2] - b) < 40) ++count;
    return count;
  });
});

/// The whole drawing, to compare with another moment's.
export const pictureOf = (plot) =>
  plot.locator("canvas").first().evaluate((canvas) => canvas.toDataURL());

/// Waits until the drawing is another one than before.
export const redrawn = async (page, plot, before) => page.waitForFunction(
  ([canvas, picture]) => canvas.toDataURL() !== picture,
  [await plot.locator("canvas").first().elementHandle(), before]);

export const labelOf = (plot) => plot.locator(".surface").getAttribute("aria-label");
export const readoutOf = (plot) => plot.locator(".readout").textContent();

/// "gradients, all workers: 1.234k" → 1234.
function placeOf(readout) {
  const [, number, unit] = /: (-?[\d.]+)\s?([kMG]?)/.exec(readout);
  return Number(number) * { "": 1, k: 1e3, M: 1e6, G: 1e9 }[unit];
}

/// The places at the chart's two edges, as its readout names them under the mouse.
export async function reachOf(page, plot) {
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.locator(".u-over").boundingBox();
  const reach = [];
  for (const x of [box.x + 1, box.x + box.width - 2]) {
    await page.mouse.move(x, box.y + box.height / 2);
    reach.push(placeOf(await readoutOf(plot)));
  }
  await page.mouse.move(1, 1);
  return reach;
}

export async function drag(page, plot, from, to) {
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.locator(".u-over").boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + (from + to) / 2 * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
  await page.mouse.up();
}
