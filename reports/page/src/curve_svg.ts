// A chart as SVG, in the classes of the page's static drawings: for small multiples and for files.
import type { Band, ChartCurves, Line } from "./curve";
import { visible } from "./curve";
import type { AxisData } from "./data";
import { makeSvg } from "./dom";
import { cutsOf, markerPlaces, projection, stretches, type Box, type Projection } from "./lines";
import { formatNumber, formatPlace, tickTexts } from "./numbers";
import type { Range } from "./range";
import { markerOf } from "./theme";
import { ticks } from "./ticks";

export interface CurveSvgOptions {
  width: number;
  height: number;
  title: string;
  axis: AxisData;
  window: Range;
  heightRange: Range;
  logarithmicX: boolean;
  logarithmicY: boolean;
  bands: boolean;
  seeds: boolean;
  /// Each group's name where its mean ends.
  names: boolean;
}

const kNameWidth = 6.4;
const kNameHeight = 12;
const kLongestName = 18;

/// As much of a name as there is room for.
const shortened = (name: string) =>
  name.length > kLongestName ? `${name.slice(0, kLongestName - 1)}…` : name;

/// In tenths: the drawing is scaled.
const place = (x: number, y: number) => `${Math.round(10 * x)} ${Math.round(10 * y)}`;

function lineText({ x, y }: Line, at: Projection): string {
  const [first, last] = visible(x, at.window);
  return stretches(y, first, last, at.floor)
    .map(([start, end]) => {
      const places = [];
      for (let k = start; k < end; ++k)
        if (Number.isFinite(at.x(x[k] ?? NaN))) places.push(place(at.x(x[k] ?? 0), at.y(y[k] ?? 0)));
      return places.length > 0 ? `M${places.join("L")}` : "";
    })
    .join("");
}

function bandText({ x, low, high }: Band, at: Projection): string {
  const [first, last] = visible(x, at.window);
  return stretches(high, first, last, at.floor)
    .map(([start, end]) => {
      const upper = [];
      const lower = [];
      for (let k = start; k < end; ++k) {
        const left = at.x(x[k] ?? NaN);
        if (!Number.isFinite(left)) continue;
        const bottom = low[k] ?? NaN;
        upper.push(place(left, at.y(high[k] ?? 0)));
        lower.unshift(place(left, bottom > at.floor ? at.y(bottom) : at.bottom));
      }
      return upper.length > 0 ? `M${[...upper, ...lower].join("L")}z` : "";
    })
    .join("");
}

function cutText(band: Band, box: Box, at: Projection): string {
  return cutsOf(band, box, at)
    .map(({ y, from, to }) => `M${place(from, y)}L${place(to, y)}`)
    .join("");
}

function axes(box: Box, at: Projection, options: CurveSvgOptions): SVGElement[] {
  const { axis, window, heightRange } = options;
  const text = (x: number, y: number, anchor: string, words: string) =>
    makeSvg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, words);
  const rows = ticks(heightRange, 5, options.logarithmicY);
  const columns = ticks(window, Math.max(2, Math.floor(box.width / 70)), options.logarithmicX);
  const rowTexts = tickTexts(rows, formatNumber);
  const columnTexts = tickTexts(columns, (value, digits) => formatPlace(axis.key, value, digits));
  const right = box.left + box.width;
  const grid =
    rows.map((y) => `M${box.left} ${at.y(y).toFixed(1)}H${right}`).join("") +
    columns.map((x) => `M${at.x(x).toFixed(1)} ${at.bottom}v4`).join("");
  return [
    makeSvg("path", { class: "grid", d: grid }),
    makeSvg("path", { class: "axis", d: `M${box.left} ${at.bottom}H${right}` }),
    ...rows.map((y, k) => text(box.left - 6, at.y(y) + 3.5, "end", rowTexts[k] ?? "")),
    ...columns.map((x, k) => text(at.x(x), at.bottom + 15, "middle", columnTexts[k] ?? "")),
    text(box.left + box.width / 2, options.height - 3, "middle", axis.label),
  ];
}

/// Names beside the ends of the means, pushed apart.
function names(box: Box, at: Projection, curves: ChartCurves): SVGElement[] {
  const ends = curves.groups.flatMap(({ label, style, band: { x, mean } }) => {
    for (let k = x.length - 1; k >= 0; --k)
      if ((mean[k] ?? NaN) > at.floor && (x[k] ?? NaN) <= at.window.max)
        return [{ label, style, y: at.y(mean[k] ?? 0) }];
    return [];
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, k) => {
    end.y = Math.max(end.y, box.top, (ends[k - 1]?.y ?? -Infinity) + kNameHeight);
  });
  for (let k = ends.length - 1, limit = at.bottom; k >= 0; --k, limit -= kNameHeight) {
    const end = ends[k];
    if (end) end.y = Math.min(end.y, limit);
  }
  return ends.map(({ label, style, y }) =>
    makeSvg(
      "g",
      { class: `s${style}` },
      makeSvg(
        "text",
        {
          class: "label",
          x: String(box.left + box.width + 6),
          y: (y + 3.5).toFixed(1),
          "text-anchor": "start",
        },
        shortened(label),
      ),
    ),
  );
}

export function curveSvg(curves: ChartCurves, options: CurveSvgOptions): SVGSVGElement {
  const { width, height, title } = options;
  const longest = options.names
    ? Math.max(0, ...curves.groups.map(({ label }) => shortened(label).length))
    : 0;
  const room = options.names ? 10 + kNameWidth * longest : 4;
  const box = { left: 46, top: 8, width: width - 46 - room, height: height - 8 - 36 };
  const at = projection(
    box,
    options.window,
    options.heightRange,
    options.logarithmicX,
    options.logarithmicY,
    1,
  );
  const faint = curves.groups.flatMap((group) => [
    ...(options.bands ? [makeSvg("path", { class: "band", d: bandText(group.band, at) })] : []),
    ...(options.seeds
      ? group.seeds.map((seed) => makeSvg("path", { class: "seed", d: lineText(seed, at) }))
      : []),
  ].map((path) => makeSvg("g", { class: `s${group.style}` }, path)));
  const cuts = options.bands
    ? curves.groups.map(({ style, band }) =>
        makeSvg("path", { class: `cut s${style}`, d: cutText(band, box, at) }),
      )
    : [];
  const bounds = curves.bounds.map(({ style, line }) =>
    makeSvg("path", { class: `reference s${style}`, d: lineText(line, at) }),
  );
  const means = curves.groups.flatMap(({ style, band }) => [
    makeSvg("path", { class: `mean s${style}`, d: lineText({ x: band.x, y: band.mean }, at) }),
    ...markerPlaces(box, at, style, band).map(({ x, y }) =>
      makeSvg("path", {
        class: `mark s${style}`,
        transform: `translate(${place(x, y)}) scale(.34)`,
        d: markerOf(style),
      }),
    ),
  ]);
  // Bands and seeds may leave the box: a view of their own cuts them off.
  const inside = makeSvg(
    "svg",
    {
      class: "inside",
      x: String(box.left),
      y: String(box.top),
      width: String(box.width),
      height: String(box.height),
      viewBox: `${box.left} ${box.top} ${box.width} ${box.height}`,
    },
    makeSvg("g", { transform: "scale(.1)" }, ...faint, ...cuts, ...bounds, ...means),
  );
  return makeSvg(
    "svg",
    { class: "line", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    ...axes(box, at, options),
    inside,
    ...(options.names ? names(box, at, curves) : []),
  ) as SVGSVGElement;
}
