// Zoomable timelines beside the static ones; all of a page show the same time.
import type { TimelineData } from "./data";
import { make } from "./dom";
import { clamped, type Range } from "./range";
import { commonEnd, rowsOf } from "./spans";
import { kHintId, type SharedTime, TimelineView } from "./timeline_view";

/// The timelines of a page: one window, one cursor.
export class Timelines implements SharedTime {
  window: Range | null = null;
  cursor: number | null = null;
  full: Range = { min: 0, max: 1 };
  private views: TimelineView[] = [];

  /// Draws into the figures of the page that have a timeline in the data and none drawn yet.
  attach(timelines: TimelineData[]): void {
    const rows = timelines.map(rowsOf);
    this.full = { min: 0, max: commonEnd(rows) || 1 };
    if (this.window) this.window = clamped(this.window, this.full, false);
    this.views = this.views.filter((view) => view.release());
    timelines.forEach((timeline, k) => {
      const figure = document.querySelector<HTMLElement>(`figure.timeline[data-timeline="${k}"]`);
      if (figure && k === 0) addHint(figure);
      if (figure && !figure.querySelector(".span-view"))
        this.views.push(new TimelineView(this, timeline, rows[k] ?? [], figure));
    });
    this.redraw();
  }

  redraw(): void {
    for (const view of this.views) view.draw();
  }

  zoomTo(window: Range | null): void {
    this.window = window && clamped(window, this.full, false);
    this.redraw();
  }

  moveCursor(time: number | null): void {
    this.cursor = time;
    for (const view of this.views) view.showCursor();
  }
}

/// Said once, before all timelines.
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
