// One zoomable timeline: its picture, what lies over it, and what mouse and keys do.
import type { TimelineData } from "./data";
import { button, make } from "./dom";
import { keepSavable } from "./figures";
import { actionOf, type Action } from "./keys";
import type { Box } from "./lines";
import { panned, revealing, zoomed, type Range } from "./range";
import { csvOfRows, momentText, sharesText, type Row } from "./spans";
import { theme } from "./theme";
import {
  kLeft,
  kRight,
  paintTimeline,
  pictureHeight,
  placeOf,
  rowAt,
  rowsBottom,
  rowSpan,
  timeAt,
  type Picture,
} from "./timeline_paint";

const kZoomStep = 2;
const kPanStep = 0.25;
const kSteps = 100;
const kShortestDrag = 5;
/// How near, in pixels, one has to be to a span that takes no time.
const kReach = 3;
/// The element that says how to use a timeline.
export const kHintId = "span-hint";

/// Null hides the element.
function place(element: HTMLElement, box: Box | null): void {
  element.hidden = box === null;
  if (!box) return;
  for (const side of ["left", "top", "width", "height"] as const)
    element.style[side] = `${box[side]}px`;
}

/// What the timelines of a page have in common. Times are in the run's own unit, that of TimelineData.
export interface SharedTime {
  /// The part of `full` that is shown; null shows all.
  readonly window: Range | null;
  readonly cursor: number | null;
  readonly full: Range;
  zoomTo(window: Range | null): void;
  moveCursor(time: number | null): void;
}

export class TimelineView {
  private readonly canvas = make("canvas", { class: "spans", "aria-hidden": "true" });
  private readonly surface: HTMLElement;
  private readonly readout = make("p", { class: "readout" });
  private readonly line = make("div", { class: "span-line" });
  private readonly frame = make("div", { class: "span-row" });
  private readonly veil = make("div", { class: "span-selection" });
  private readonly resized = new ResizeObserver(() => this.draw());
  private row = 0;
  private pointed = false;
  private dragFrom: number | null = null;
  private selection: Range | null = null;

  constructor(
    private readonly shared: SharedTime,
    private readonly timeline: TimelineData,
    private readonly rows: Row[],
    private readonly figure: HTMLElement,
  ) {
    this.surface = make(
      "div",
      { class: "span-surface", tabindex: "0", role: "img", "aria-describedby": kHintId },
      this.canvas,
      this.line,
      this.frame,
      this.veil,
    );
    const tools = make(
      "div",
      { class: "tools", role: "group", "aria-label": `Zoom: ${timeline.label}` },
      button("zoom in", {}, () => this.act("in")),
      button("zoom out", {}, () => this.act("out")),
      button("reset zoom", {}, () => this.act("reset")),
    );
    this.canvas.style.height = `${pictureHeight(rows.length)}px`;
    const view = make("div", { class: "span-view" }, tools, this.surface, this.readout);
    figure.insertBefore(view, figure.querySelector(":scope > svg"));
    const drawing = figure.querySelector<SVGSVGElement>(":scope > svg");
    if (drawing) keepSavable(figure, { svg: () => drawing, csv: () => csvOfRows(rows) });
    this.listen();
    this.resized.observe(this.surface);
  }

  /// False, and no longer watching, once its figure has left the page.
  release(): boolean {
    if (this.figure.isConnected) return true;
    this.resized.disconnect();
    return false;
  }

  draw(): void {
    const picture = this.picture();
    if (picture.width <= 0) return;
    paintTimeline(this.canvas, picture, theme());
    this.surface.setAttribute(
      "aria-label",
      `${this.timeline.label}: what ${this.rows.length} ` +
        `workers do with their time. ${this.sharesText(picture)}.`,
    );
    this.showCursor();
  }

  /// Cursor, row and selection lie over the picture, so that moving them paints nothing anew.
  showCursor(): void {
    const picture = this.picture();
    const { window } = picture;
    const { cursor } = this.shared;
    const bottom = rowsBottom(picture);
    const within = cursor !== null && cursor >= window.min && cursor <= window.max;
    place(
      this.line,
      within ? { left: placeOf(picture, cursor), top: 0, width: 0, height: bottom } : null,
    );
    const { top, height } = rowSpan(picture, this.row);
    place(
      this.frame,
      within && this.pointed
        ? {
            left: kLeft - 2,
            top: top - 2,
            width: picture.width - kLeft - kRight + 4,
            height: height + 4,
          }
        : null,
    );
    const selected = this.selection;
    const left = selected ? placeOf(picture, selected.min) : 0;
    place(
      this.veil,
      selected
        ? { left, top: 0, width: placeOf(picture, selected.max) - left, height: bottom }
        : null,
    );
    const text = this.describe(picture);
    if (this.readout.textContent !== text) this.readout.textContent = text;
  }

  private picture(): Picture {
    const { window, full } = this.shared;
    return {
      rows: this.rows,
      window: window ?? full,
      unit: this.timeline.unit,
      style: this.timeline.style,
      width: this.surface.clientWidth,
      height: pictureHeight(this.rows.length),
    };
  }

  private sharesText({ window }: Picture): string {
    return sharesText(this.rows, this.timeline.kinds, window, this.timeline.workers);
  }

  private describe(picture: Picture): string {
    const { window, width } = picture;
    const { cursor } = this.shared;
    const row = this.rows[this.row];
    if (cursor === null || !row || !this.pointed) return this.sharesText(picture);
    return momentText(
      row,
      cursor,
      this.timeline.unit,
      ((window.max - window.min) / width) * kReach,
    );
  }

  private listen(): void {
    this.surface.addEventListener("keydown", (event) => {
      const action = actionOf(event);
      if (!action) return;
      event.preventDefault();
      this.act(action);
    });
    this.surface.addEventListener("focus", () => {
      this.pointed = true;
      this.readout.setAttribute("aria-live", "polite");
      this.showCursor();
    });
    this.surface.addEventListener("blur", () => this.leave());
    this.canvas.addEventListener("pointerdown", (event) => this.pressed(event));
    this.canvas.addEventListener("pointermove", (event) => this.moved(event));
    this.canvas.addEventListener("pointerup", (event) => this.released(event));
    this.canvas.addEventListener("pointercancel", () => (this.dragFrom = this.selection = null));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("dblclick", () => this.act("reset"));
    this.canvas.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
  }

  private leave(): void {
    this.pointed = false;
    this.readout.removeAttribute("aria-live");
    this.shared.moveCursor(null);
  }

  private pressed(event: PointerEvent): void {
    if (event.button !== 0 || event.pointerType === "touch") return;
    this.dragFrom = event.offsetX;
    this.canvas.setPointerCapture(event.pointerId);
  }

  private moved(event: PointerEvent): void {
    const picture = this.picture();
    this.pointed = true;
    this.row = rowAt(picture, event.offsetY);
    if (this.dragFrom !== null) {
      const [from, to] = [timeAt(picture, this.dragFrom), timeAt(picture, event.offsetX)];
      this.selection = { min: Math.min(from, to), max: Math.max(from, to) };
    }
    this.shared.moveCursor(timeAt(picture, event.offsetX));
  }

  private released(event: PointerEvent): void {
    const { dragFrom, selection } = this;
    this.dragFrom = this.selection = null;
    const far = dragFrom !== null && Math.abs(event.offsetX - dragFrom) >= kShortestDrag;
    if (far && selection) this.shared.zoomTo(selection);
    else this.showCursor();
  }

  private wheeled(event: WheelEvent): void {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { window, full } = this.shared;
    const factor = Math.pow(2, -Math.sign(event.deltaY) / 2);
    this.shared.zoomTo(
      zoomed(window ?? full, full, factor, timeAt(this.picture(), event.offsetX), false),
    );
  }

  private act(action: Action): void {
    const { full, cursor } = this.shared;
    const window = this.shared.window ?? full;
    const middle = (window.min + window.max) / 2;
    if (action === "reset") return this.shared.zoomTo(null);
    if (action === "in" || action === "out")
      return this.shared.zoomTo(
        zoomed(window, full, action === "in" ? kZoomStep : 1 / kZoomStep, cursor ?? middle, false),
      );
    if (action === "panLeft" || action === "panRight")
      return this.shared.zoomTo(
        panned(window, full, action === "panLeft" ? -kPanStep : kPanStep, false),
      );
    this.pointed = true;
    if (action === "up" || action === "down") {
      this.row = Math.min(Math.max(this.row + (action === "up" ? -1 : 1), 0), this.rows.length - 1);
      return this.shared.moveCursor(cursor ?? middle);
    }
    const step = (window.max - window.min) / kSteps;
    const to =
      action === "first"
        ? full.min
        : action === "last"
          ? full.max
          : (cursor ?? middle) + (action === "left" ? -step : step);
    const inside = Math.min(Math.max(to, full.min), full.max);
    if (inside < window.min || inside > window.max)
      this.shared.zoomTo(revealing(window, full, inside, false));
    this.shared.moveCursor(inside);
  }
}
