// Questions about where things are, answered inside the page.

/// Elements that reach beyond the right edge of the window and that no box of their own scrolls.
export function escapees() {
  const scrolls = (element) => {
    for (let box = element; box; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return true;
    return false;
  };
  return [...document.body.querySelectorAll("*")]
    .filter((element) => element.getClientRects().length > 0 && !element.closest("svg svg, svg *"))
    .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1)
    .filter((element) => !scrolls(element))
    .map((element) => `${element.tagName}.${element.className}`);
}

/// Pairs of neighbours in the page's flow, shown at the same time, that cover each other.
export function collisions() {
  const found = [];
  const shown = (element) => {
    const { width, height } = element.getBoundingClientRect();
    const { position, visibility } = getComputedStyle(element);
    return width > 1 && height > 1 && visibility === "visible" &&
      position !== "absolute" && position !== "fixed";
  };
  for (const box of document.querySelectorAll("body, main, section, .curves, .panel, .plots, " +
      ".smalls, .tools, .tabs, .legend, figure, .csv, header, footer, details")) {
    const children = [...box.children].filter(shown);
    children.forEach((one, k) => children.slice(k + 1).forEach((other) => {
      const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Inline text that wraps has a box that spans its lines, so lines of neighbours may touch.
      const inline = [one, other].some((e) => getComputedStyle(e).display === "inline");
      if (!inline && across > 2 && down > 2)
        found.push(`${box.className || box.tagName}: ${one.tagName}.${one.className} and ` +
          `${other.tagName}.${other.className} share ${across.toFixed()} × ${down.toFixed()} px`);
    }));
  }
  return found;
}

/// Texts of one drawing that cover a third of one another.
export function crowdedLabels() {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")]
      .map((element) => ({ text: element.textContent, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0);
    texts.forEach((one, k) => texts.slice(k + 1).forEach((other) => {
      const across = Math.min(one.box.right, other.box.right) -
        Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) -
        Math.max(one.box.top, other.box.top);
      const area = ({ box }) => box.width * box.height;
      if (across > 0 && down > 0 && across * down > Math.min(area(one), area(other)) / 3)
        found.push(`${svg.getAttribute("class")}: "${one.text}" and "${other.text}"`);
    }));
  }
  return found;
}
