// The looks of styles: the page's legend has a line of each (swatch() of reports/html/style.cpp).

/// The legend's line for a style, placed before text.
export const swatch = (style: number): Node | string =>
  document.querySelector(`.swatch.s${style}`)?.cloneNode(true) ?? "";

/// Path data around 0 0, up to 100 from it.
export const markerOf = (style: number): string =>
  document.querySelector(`.swatch.s${style} .mark`)?.getAttribute("d") ?? "";
