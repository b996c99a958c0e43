// The picture of a timeline, as in reports/html/timeline.cpp: computing is a bar, waiting a thin
// line, an exchange a dark mark at the foot of the row; so no kind is shown by colour alone.
import { kAxisRoom, label, placeAxis, scaled, tenths, type Drawn } from "./axes";
import { makeSvg } from "./dom";
import { projection } from "./lines";
import { formatNumber, tickTexts } from "./numbers";
import type { Range } from "./range";
import type { Row, Span } from "./spans";
import { ticks } from "./ticks";

const kWidth = 420;
const kLeft = 34;
const kRight = 8;
const kTop = 4;
const kRow = 14;
/// The height of a row's bar; an exchange's mark begins on the bar and ends below it.
const kBar = 7 / 11;
const kFoot = [4.6 / 11, 8 / 11] as const;
const kThinnest = 0.8;
/// The most height of all rows together, unless they would be too thin to see.
const kMostHeight = 420;
const kThinnestRow = 4;
const kLabelHeight = 9;
/// The gap between two gradients.
const kGap = 0.8;

export interface TimelineDrawn extends Drawn {
  rowAt(y: number): number;
  /// Path data around a row.
  frame(row: number): string;
}

export function timelineSvg(
  rows: Row[],
  { style, unit, window }: { style: number; unit: string; window: Range },
): TimelineDrawn {
  const each = Math.max(kThinnestRow, Math.min(kRow, kMostHeight / Math.max(1, rows.length)));
  const height = each * rows.length + 2;
  const box = { left: kLeft, top: kTop, width: kWidth - kLeft - kRight, height };
  const at = projection(box, window, { min: 0, max: 1 }, false, false);
  const paths: Record<string, string[]> = { compute: [], wait: [], exchange: [] };
  const add = (kind: string, left: number, width: number, top: number, bottom: number) =>
    paths[kind]?.push(`M${left} ${tenths(top)}h${width}V${tenths(bottom)}h${-width}z`);
  const addSpan = ({ kind, begin, end }: Span, top: number) => {
    if (!(end >= window.min && begin <= window.max)) return;
    const left = tenths(at.x(Math.max(begin, window.min)));
    const width = tenths(at.x(Math.min(end, window.max))) - left;
    if (kind === "exchange")
      add(
        kind,
        left,
        Math.max(width, tenths(kThinnest)),
        top + each * kFoot[0],
        top + each * kFoot[1],
      );
    else if (width > 0 && kind === "compute") {
      const gap = Math.min(tenths(kGap), Math.floor(width / 5));
      add(kind, left, width - gap, top, top + each * kBar);
    } else if (width > 0) paths[kind]?.push(`M${left} ${tenths(top + (each * kBar) / 2)}h${width}`);
  };
  rows.forEach(({ spans }, k) => spans.forEach((span) => addSpan(span, kTop + k * each)));
  const every = Math.ceil(kLabelHeight / each);
  const marks = ticks(window, 5, false);
  const viewBox = `0 0 ${kWidth} ${kTop + height + kAxisRoom}`;
  const svg = makeSvg(
    "svg",
    { class: `line s${style}`, viewBox, "aria-hidden": "true" },
    ...rows.flatMap(({ worker }, k) =>
      k % every === 0
        ? [label(kLeft - 6, kTop + k * each + (each * kBar) / 2 + 3.5, "end", String(worker))]
        : [],
    ),
    scaled(
      ...Object.entries(paths).flatMap(([kind, path]) =>
        path.length > 0 ? [makeSvg("path", { class: `span-${kind}`, d: path.join("") })] : [],
      ),
    ),
    ...placeAxis(at, marks, tickTexts(marks, formatNumber), unit),
  );
  return {
    svg: svg as SVGSVGElement,
    at,
    rowAt: (y) => Math.min(Math.max(Math.floor((y - kTop) / each), 0), rows.length - 1),
    frame: (row) =>
      `M${kLeft - 2} ${kTop + row * each - 2}h${box.width + 4}` +
      `v${each * kBar + 4}h${-box.width - 4}z`,
  };
}
