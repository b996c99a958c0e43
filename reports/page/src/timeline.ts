// Zoomable timelines beside the static ones; all of a page show the same time.
import type { TimelineData } from "./data";
import { button, make, makeSvg } from "./dom";
import { keepCsv } from "./figures";
import type { Action } from "./keys";
import { commonEnd, csvOfRows, momentText, rowsOf, sharesText, type Row } from "./spans";
import { Surface, type Subject } from "./surface";
import { timelineSvg, type TimelineDrawn } from "./timeline_svg";
import { View } from "./view";

const kSteps = 100;
/// How near the pointer must be, in hundredths of the picture, to a span that takes no time.
const kReach = 0.6;
/// The element that says how to use a timeline.
const kHintId = "span-hint";

class Timeline implements Subject {
  private readonly surface: Surface;
  private drawn: TimelineDrawn | null = null;
  private row = 0;
  private pointedAt = false;

  constructor(
    private readonly view: View,
    private readonly data: TimelineData,
    private readonly rows: Row[],
    readonly figure: HTMLElement,
  ) {
    this.surface = new Surface(view, this, kHintId, data.label);
    const zoom = (text: string, action: Action) => button(text, {}, () => view.act(action, this));
    const tools = make(
      "div",
      { class: "tools", role: "group", "aria-label": `Zoom: ${data.label}` },
      zoom("zoom in", "in"),
      zoom("zoom out", "out"),
      zoom("reset zoom", "reset"),
    );
    const { element, readout } = this.surface;
    figure.insertBefore(
      make("div", { class: "span-view" }, tools, element, readout),
      figure.querySelector(":scope > svg"),
    );
    keepCsv(figure, () => csvOfRows(rows));
  }

  draw(): void {
    const { style, unit, label } = this.data;
    this.drawn = timelineSvg(this.rows, { style, unit, window: this.view.shown });
    this.surface.show(
      this.drawn,
      `${label}: what ${this.rows.length} workers do with their time. ${this.sharesText()}.`,
    );
    this.showCursor();
  }

  showCursor(): void {
    const marks =
      this.drawn && this.pointedAt
        ? [makeSvg("path", { class: "span-row", d: this.drawn.frame(this.row) })]
        : [];
    this.surface.showCursor(marks);
    const { readout } = this.surface;
    const text = this.describe();
    if (readout.textContent !== text) readout.textContent = text;
  }

  next(direction: 1 | -1): number {
    const { shown, full } = this.view;
    this.pointedAt = true;
    const to = this.start() + (direction * (shown.max - shown.min)) / kSteps;
    return Math.min(Math.max(to, full.min), full.max);
  }

  end(of: "first" | "last"): number {
    this.pointedAt = true;
    return this.view.full[of === "first" ? "min" : "max"];
  }

  pointed(y: number): void {
    this.pointedAt = true;
    this.row = this.drawn?.rowAt(y) ?? 0;
  }

  turned(by: 1 | -1): void {
    this.pointedAt = true;
    this.row = Math.min(Math.max(this.row + by, 0), this.rows.length - 1);
    this.view.moveTo(this.start());
  }

  left(): void {
    this.pointedAt = false;
  }

  private start(): number {
    const { cursor, shown } = this.view;
    return cursor ?? (shown.min + shown.max) / 2;
  }

  private sharesText(): string {
    return sharesText(this.rows, this.data.kinds, this.view.shown, this.data.workers);
  }

  private describe(): string {
    const { cursor, shown } = this.view;
    const row = this.rows[this.row];
    if (cursor === null || !row || !this.pointedAt) return this.sharesText();
    return momentText(row, cursor, this.data.unit, ((shown.max - shown.min) / 100) * kReach);
  }
}

/// The timelines of a page: one window, one cursor.
export class Timelines {
  private timelines: Timeline[] = [];
  private readonly view = new View(
    () => this.timelines.forEach((timeline) => timeline.draw()),
    () => this.timelines.forEach((timeline) => timeline.showCursor()),
  );

  /// Draws into the figures of the page that have a timeline in the data and none drawn yet.
  attach(timelines: TimelineData[]): void {
    const rows = timelines.map(rowsOf);
    this.view.reach({ min: 0, max: commonEnd(rows) || 1 });
    this.timelines = this.timelines.filter(({ figure }) => figure.isConnected);
    timelines.forEach((timeline, k) => {
      const figure = document.querySelector<HTMLElement>(`figure.timeline[data-timeline="${k}"]`);
      if (figure && k === 0) addHint(figure);
      if (figure && !figure.querySelector(".span-view"))
        this.timelines.push(new Timeline(this.view, timeline, rows[k] ?? [], figure));
    });
    this.view.zoomTo(this.view.window);
  }
}

/// Adds the hint once, before all timelines.
function addHint(first: HTMLElement): void {
  if (document.getElementById(kHintId)) return;
  (first.closest(".timelines") ?? first).before(
    make(
      "p",
      { class: "note span-hint", id: kHintId },
      "Drag, or wheel with Ctrl, to zoom. In a focused timeline: arrows move the cursor and " +
        "choose the worker, + and − zoom, 0 resets.",
    ),
  );
}
