// The visible part of an axis in all its drawings, and their one cursor.
import type { Action } from "./keys";
import { clamped, panned, revealing, zoomed, type Range } from "./range";

const kZoomStep = 2;
const kPanStep = 0.25;

/// The places to which the cursor can move. Null: none.
export interface Steps {
  next(direction: 1 | -1): number | null;
  end(of: "first" | "last"): number | null;
}

export class View {
  /// The part of `full` that is shown; null shows all.
  window: Range | null = null;
  cursor: number | null = null;
  full: Range = { min: 0, max: 1 };
  logarithmic = false;

  constructor(
    private readonly redraw: () => void,
    private readonly showCursor: () => void,
  ) {}

  get shown(): Range {
    return this.window ?? this.full;
  }

  reach(full: Range): void {
    this.full = full;
    this.window = this.window && clamped(this.window, full, this.logarithmic);
  }

  zoomTo(window: Range | null): void {
    this.window = window && clamped(window, this.full, this.logarithmic);
    this.redraw();
  }

  zoomBy(factor: number, centre: number): void {
    this.zoomTo(zoomed(this.shown, this.full, factor, centre, this.logarithmic));
  }

  moveTo(cursor: number | null): void {
    this.cursor = cursor;
    this.showCursor();
  }

  act(action: Action, steps: Steps): void {
    const { full, logarithmic, shown } = this;
    const { min, max } = shown;
    if (action === "reset") return this.zoomTo(null);
    if (action === "in" || action === "out") {
      const middle = logarithmic ? Math.sqrt(min * max) : (min + max) / 2;
      return this.zoomBy(action === "in" ? kZoomStep : 1 / kZoomStep, this.cursor ?? middle);
    }
    if (action === "panLeft" || action === "panRight") {
      const step = action === "panLeft" ? -kPanStep : kPanStep;
      return this.zoomTo(panned(shown, full, step, logarithmic));
    }
    const to =
      action === "first" || action === "last"
        ? steps.end(action)
        : steps.next(action === "left" ? -1 : 1);
    if (to !== null && (to < min || to > max)) this.zoomTo(revealing(shown, full, to, logarithmic));
    this.moveTo(to);
  }
}
