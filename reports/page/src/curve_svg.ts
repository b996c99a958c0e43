// A chart as SVG, as reports/html/line_chart.cpp draws it: on the screen, in print and in files.
import { kAxisRoom, label, placeAxis, scaled, tenths, type Drawn } from "./axes";
import { interpolated, visible, type Band, type ChartCurves, type Line } from "./curve";
import type { AxisData } from "./data";
import { makeSvg } from "./dom";
import {
  clampedY,
  cutsOf,
  goesBelow,
  isSeen,
  markerPlaces,
  projection,
  stretches,
  type Place,
  type Projection,
} from "./lines";
import { formatNumber, formatPlace, shortenedApart, tickTexts } from "./numbers";
import type { Range } from "./range";
import { markerOf } from "./theme";
import { ticks } from "./ticks";

export interface CurveSvgOptions {
  width: number;
  height: number;
  title: string;
  axis: AxisData;
  window: Range;
  /// Null: no value can be drawn.
  heightRange: Range | null;
  logarithmicX: boolean;
  logarithmicY: boolean;
  bands: boolean;
  seeds: boolean;
  /// Shows each group's name at the end of its mean.
  names: boolean;
}

const kTop = 10;
const kLeft = 50;
const kTicks = 5;
const kUnitsPerTick = 60;
const kTickCharacterWidth = 6;
const kNameWidth = 6.7;
/// Half a tick's text beside the end of the axis.
const kLastTickRoom = 14;
const kNameHeight = 12;
const kLongestName = 16;

/// The parts of the names for which there is room.
export const namesOf = (curves: ChartCurves) =>
  shortenedApart(
    curves.groups.map((group) => group.label),
    kLongestName,
  );

const place = (x: number, y: number) => `${tenths(x)} ${tenths(y)}`;

function lineText({ x, y }: Line, at: Projection): string {
  const [first, last] = visible(x, at.window);
  return stretches(y, first, last, at.floor)
    .map(([start, end]) => {
      const places = [];
      for (let k = start; k < end; ++k)
        if (Number.isFinite(at.x(x[k] ?? NaN)))
          places.push(place(at.x(x[k] ?? 0), at.y(y[k] ?? 0)));
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
        upper.push(place(left, at.y(high[k] ?? 0)));
        lower.push(place(left, at.y(low[k] ?? 0)));
      }
      return upper.length > 0 ? `M${[...upper, ...lower.reverse()].join("L")}z` : "";
    })
    .join("");
}

function rowsOf({ heightRange, logarithmicY }: CurveSvgOptions): [number[], string[]] {
  if (!heightRange) return [[], []];
  const rows = ticks(heightRange, kTicks, logarithmicY);
  return [rows, tickTexts(rows, formatNumber)];
}

function nothingToDraw({ box }: Projection, logarithmic: boolean): SVGElement[] {
  const words = ["Nothing to draw:", `no value here is finite${logarithmic ? " and positive" : ""}.`];
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  return words.map((line, k) => label(x, y + 14 * k, "middle", line, "name"));
}

function axes(at: Projection, options: CurveSvgOptions): SVGElement[] {
  const { axis, window } = options;
  const { left, width } = at.box;
  const [rows, rowTexts] = rowsOf(options);
  const wanted = options.names ? kTicks : Math.floor(width / kUnitsPerTick);
  const columns = ticks(window, wanted, options.logarithmicX);
  const grid = rows.map((y) => `M${left} ${at.y(y).toFixed(1)}h${width}`).join("");
  return [
    makeSvg("path", { class: "grid", d: grid }),
    ...rows.map((y, k) => label(left - 6, at.y(y) + 3.5, "end", rowTexts[k] ?? "")),
    ...(options.heightRange ? [] : nothingToDraw(at, options.logarithmicY)),
    ...placeAxis(
      at,
      columns,
      tickTexts(columns, (value, digits) => formatPlace(axis.key, value, digits)),
      axis.label,
    ),
  ];
}

/// The place where a mean leaves the window, or ends within it; null if none of it is seen.
function endOf({ x, mean }: Band, at: Projection, logarithmic: boolean): Place | null {
  if (!isSeen({ x, y: mean }, at)) return null;
  const placed = (there: number, value: number) => ({
    x: at.x(there),
    y: clampedY(at.y(value), at),
  });
  const edge = interpolated({ x, y: mean }, at.window.max, logarithmic);
  if (edge > at.floor) return placed(at.window.max, edge);
  for (let k = x.length - 1; k >= 0 && (x[k] ?? NaN) >= at.window.min; --k)
    if ((mean[k] ?? NaN) > at.floor && (x[k] ?? NaN) <= at.window.max)
      return placed(x[k] ?? 0, mean[k] ?? 0);
  return null;
}

/// What the axis leaves out, in words: curves without any value above zero, and what is below it.
export function wordsBelow(curves: ChartCurves, at: Projection): string[] {
  const zero: string[] = [];
  const below: string[] = [];
  for (const { label, band, seeds } of curves.groups) {
    const lines = [{ x: band.x, y: band.mean }, ...seeds];
    const filled = lines.some(({ y }) => y.length > 0);
    const has = lines.some(({ y }) => Array.prototype.some.call(y, (value) => value > at.floor));
    if (filled && !has) zero.push(label);
    if (goesBelow({ x: band.x, y: band.mean }, at)) below.push(label);
  }
  return [
    ...(zero.length > 0 ? [`${zero.join(", ")}: zero on this scale, not drawn.`] : []),
    ...(below.length > 0 ? [`${below.join(", ")}: values below this axis are not drawn.`] : []),
  ];
}

/// Names beside the ends of the means, pushed apart.
function names(at: Projection, curves: ChartCurves, logarithmic: boolean): SVGElement[] {
  const right = at.box.left + at.box.width;
  const shown = namesOf(curves);
  const ends = curves.groups.flatMap(({ label: whole, style, band }, k) => {
    const name = shown[k] ?? whole;
    const end = endOf(band, at, logarithmic);
    return end ? [{ name, style, end, y: end.y }] : [];
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, k) => {
    end.y = Math.max(end.y, at.box.top + 2, (ends[k - 1]?.y ?? -Infinity) + kNameHeight);
  });
  ends.reduceRight((limit, end) => {
    end.y = Math.min(end.y, limit);
    return limit - kNameHeight;
  }, at.bottom);
  return ends.map(({ name, style, end, y }) => {
    const level = `M${(end.x + 1).toFixed(1)} ${end.y.toFixed(1)}H${(right + 1).toFixed(1)}`;
    return makeSvg(
      "g",
      { class: `s${style}` },
      makeSvg("path", { class: "lead", d: `${level}L${(right + 8).toFixed(1)} ${y.toFixed(1)}` }),
      label(right + 10, y + 3.5, "start", name, "label"),
    );
  });
}

/// With room for the names of all groups.
export const heightOf = (curves: ChartCurves): number =>
  Math.max(236, kTop + kAxisRoom + kNameHeight * curves.groups.length);

export function curveSvg(curves: ChartCurves, options: CurveSvgOptions): Drawn {
  const { width, height, title, logarithmicX, logarithmicY } = options;
  // If there is no room for all names, the legend has them.
  const named = options.names && curves.groups.length * kNameHeight <= height - kTop - kAxisRoom;
  const longest = Math.max(0, ...namesOf(curves).map((name) => name.length));
  const right = width - (named ? 12 + kNameWidth * longest : kLastTickRoom);
  const longestRow = Math.max(0, ...rowsOf(options)[1].map((text) => text.length));
  const left = Math.max(kLeft, 14 + kTickCharacterWidth * longestRow);
  const box = { left, top: kTop, width: right - left, height: height - kTop - kAxisRoom };
  const heightRange = options.heightRange ?? { min: 0.1, max: 1 };
  const at = projection(box, options.window, heightRange, logarithmicX, logarithmicY);
  const path = (role: string, style: number, d: string) =>
    d ? [makeSvg("path", { class: `${role} s${style}`, d })] : [];
  const faint = curves.groups.flatMap(({ style, band, seeds }) => [
    ...(options.bands ? path("band", style, bandText(band, at)) : []),
    ...(options.bands
      ? path(
          "cut",
          style,
          cutsOf(band, at).map(({ y, from, to }) => `M${place(from, y)}L${place(to, y)}`).join(""),
        )
      : []),
    ...(options.seeds ? seeds.flatMap((seed) => path("seed", style, lineText(seed, at))) : []),
  ]);
  const bounds = (options.heightRange ? curves.bounds : []).flatMap(({ style, line }) =>
    path("reference", style, lineText(line, at)),
  );
  const means = curves.groups.flatMap(({ style, band }) =>
    path("mean", style, lineText({ x: band.x, y: band.mean }, at)),
  );
  const markers = curves.groups.flatMap(({ style, band }) => {
    const d = markerOf(style);
    return markerPlaces(at, style, band).map(({ x, y }) => {
      const transform = `translate(${place(x, y)}) scale(.34)`;
      return makeSvg("path", { class: `mark s${style}`, transform, d });
    });
  });
  // Lines may leave the box: a view of their own, wider by half a line, cuts them off.
  const view = [box.left - 1, box.top - 1, box.width + 2, box.height + 2];
  const [x = 0, y = 0, w = 0, h = 0] = view;
  const inside = makeSvg(
    "svg",
    { x: `${x}`, y: `${y}`, width: `${w}`, height: `${h}`, viewBox: view.join(" ") },
    scaled(...faint, ...bounds, ...means),
  );
  const svg = makeSvg(
    "svg",
    { class: "line", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    ...axes(at, options),
    inside,
    scaled(...markers),
    ...(named ? names(at, curves, logarithmicY) : []),
  );
  return { svg: svg as SVGSVGElement, at };
}
