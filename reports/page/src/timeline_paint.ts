// The picture of a timeline, in the shapes of the static one: computing is a full bar, waiting a
// thin line, an exchange a dark mark at the foot of the row; so no kind is told by colour alone.
import { formatNumber, tickTexts } from "./numbers";
import type { Range } from "./range";
import type { Row, Span } from "./spans";
import type { Theme } from "./theme";
import { ticks } from "./ticks";

export const kLeft = 40;
export const kRight = 8;
const kTop = 4;
const kAxis = 36;
const kBarShare = 0.64;
// Half on the bar, half below it: a bar may have the mark's own colour.
const kFootShare = 0.36;
const kThinnest = 1;
// Paler than the exchanges on it.
const kComputeAlpha = 0.6;

export interface Picture {
  rows: Row[];
  window: Range;
  unit: string;
  style: number;
  width: number;
  height: number;
}

/// The height that shows all rows, in pixels.
export function pictureHeight(rows: number): number {
  const each = Math.min(18, Math.max(5, 420 / Math.max(1, rows)));
  return Math.round(kTop + kAxis + each * rows);
}

export function timeAt(picture: Picture, left: number): number {
  const { min, max } = picture.window;
  const share = (left - kLeft) / (picture.width - kLeft - kRight);
  return min + Math.min(Math.max(share, 0), 1) * (max - min);
}

export function placeOf({ window, width }: Picture, time: number): number {
  return kLeft + ((time - window.min) / (window.max - window.min)) * (width - kLeft - kRight);
}

/// From where to where a row's bars reach.
export function rowSpan(picture: Picture, row: number): { top: number; height: number } {
  const each = rowHeight(picture);
  return { top: kTop + row * each, height: each * kBarShare };
}

/// How far down the rows reach.
export function rowsBottom(picture: Picture): number {
  return picture.height - kAxis;
}

function rowHeight(picture: Picture): number {
  return (picture.height - kTop - kAxis) / Math.max(1, picture.rows.length);
}

export function rowAt(picture: Picture, top: number): number {
  const row = Math.floor((top - kTop) / rowHeight(picture));
  return Math.min(Math.max(row, 0), picture.rows.length - 1);
}

function paintSpan(
  context: CanvasRenderingContext2D,
  theme: Theme,
  style: number,
  span: Span,
  left: number,
  width: number,
  top: number,
  height: number,
): void {
  context.globalAlpha = span.kind === "compute" ? kComputeAlpha : 1;
  if (span.kind === "compute") {
    context.fillStyle = theme.colour(style);
    // A hair of paper between one gradient and the next, where there is room for it.
    context.fillRect(left, top, width > 4 ? width - 0.75 : width, height * kBarShare);
  } else if (span.kind === "wait") {
    context.fillStyle = theme.soft;
    context.fillRect(left, top + (height * kBarShare) / 2 - 0.5, width, 1);
  } else {
    context.fillStyle = theme.ink;
    context.fillRect(
      left,
      top + height * (kBarShare - kFootShare / 2),
      Math.max(width, kThinnest),
      height * kFootShare,
    );
  }
}

function paintRows(context: CanvasRenderingContext2D, picture: Picture, theme: Theme): void {
  const { rows, window, width, style } = picture;
  const each = rowHeight(picture);
  const scale = (width - kLeft - kRight) / (window.max - window.min);
  context.save();
  context.beginPath();
  context.rect(kLeft, 0, width - kLeft - kRight, picture.height);
  context.clip();
  // Marks of exchanges lie over what goes on beside them.
  for (const over of [false, true])
    rows.forEach(({ spans }, k) => {
      for (const span of spans) {
        if ((span.kind === "exchange") !== over) continue;
        if (span.end < window.min || span.begin > window.max) continue;
        const begin = Math.max(span.begin, window.min);
        const left = kLeft + (begin - window.min) * scale;
        const wide = (Math.min(span.end, window.max) - begin) * scale;
        paintSpan(context, theme, style, span, left, wide, kTop + k * each, each);
      }
    });
  context.restore();
}

function paintLabels(context: CanvasRenderingContext2D, picture: Picture, theme: Theme): void {
  const { rows, window, width } = picture;
  const each = rowHeight(picture);
  const bottom = rowsBottom(picture);
  context.fillStyle = theme.soft;
  context.font = theme.font;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(12 / each));
  rows.forEach(({ worker }, k) => {
    if (k % every === 0)
      context.fillText(String(worker), kLeft - 6, kTop + (k + kBarShare / 2) * each);
  });
  context.fillRect(kLeft, bottom, width - kLeft - kRight, 1);
  context.textAlign = "center";
  context.textBaseline = "top";
  const marks = ticks(window, Math.max(2, Math.floor(width / 90)), false);
  const texts = tickTexts(marks, formatNumber);
  marks.forEach((value, k) => {
    context.fillRect(Math.round(placeOf(picture, value)), bottom, 1, 4);
    context.fillText(texts[k] ?? "", placeOf(picture, value), bottom + 7);
  });
  context.fillText(picture.unit, (kLeft + width - kRight) / 2, bottom + 22);
}

export function paintTimeline(canvas: HTMLCanvasElement, picture: Picture, theme: Theme): void {
  const ratio = devicePixelRatio;
  canvas.width = Math.round(picture.width * ratio);
  canvas.height = Math.round(picture.height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
  paintRows(context, picture, theme);
  paintLabels(context, picture, theme);
}
