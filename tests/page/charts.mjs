// A chart as a reader has it: what is drawn in which colour, and which places it reaches.

export const drawingOf = (plot) => plot.locator(".surface > svg").first();

/// Where its values are, on the screen.
export const boxOf = (plot) => drawingOf(plot).evaluate((svg) => {
  const { x, width } = svg.querySelector("path.axis").getBoundingClientRect();
  const { y, height } = svg.getBoundingClientRect();
  return { x, y, width, height };
});

/// The charts shown now, one after the other scrolled to and drawn.
export async function drawnPlots(page) {
  const plots = await page.locator("figure.plot:visible").all();
  for (const plot of plots) {
    await plot.scrollIntoViewIfNeeded();
    await drawingOf(plot).waitFor();
  }
  return plots;
}

export const plotTitled = (page, title) => page.locator("figure.plot:visible")
  .filter({ has: page.locator("figcaption", { hasText: new RegExp(`^${title}$`) }) }).first();

/// How long a chart's means are, in its own units, in each of the page's eight colours as they are
/// in the present scheme.
export const inkOf = (plot) => drawingOf(plot).evaluate((svg) => {
  const one = document.body.appendChild(document.createElement("i"));
  const ink = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => {
    one.style.color = `var(--k${k})`;
    const { color } = getComputedStyle(one);
    return [...svg.querySelectorAll("path.mean")]
      .filter((path) => getComputedStyle(path).stroke === color)
      .reduce((sum, path) => sum + path.getTotalLength() / 10, 0);
  });
  one.remove();
  return ink;
});

/// The whole drawing without what lies over it, to compare with another moment's.
export const pictureOf = (plot) => drawingOf(plot).evaluate((svg) => {
  const copy = svg.cloneNode(true);
  copy.querySelector(".over").remove();
  return copy.outerHTML;
});

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
  const box = await boxOf(plot);
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
  const box = await boxOf(plot);
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + (from + to) / 2 * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
  await page.mouse.up();
}
