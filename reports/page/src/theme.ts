// How styles look: the page's legend has a line of each (swatch() of reports/html/style.cpp).

/// The legend's line for a style, to stand before text.
export const swatch = (style: number): Node | string =>
  document.querySelector(`.swatch.s${style}`)?.cloneNode(true) ?? "";

/// Path data about 0 0, as far as 100 from it.
export const markerOf = (style: number): string =>
  document.querySelector(`.swatch.s${style} .mark`)?.getAttribute("d") ?? "";
