// A drawing that can be zoomed: mouse and keys, its overlay, and its cursor's values in words.
import type { Drawn } from "./axes";
import { make, makeSvg } from "./dom";
import { actionOf } from "./keys";
import type { Steps, View } from "./view";

const kShortestDrag = 5;

/// What is drawn on a surface.
export interface Subject extends Steps {
  /// The mouse is at this height of the drawing.
  pointed?(y: number): void;
  /// One row up or down; false where there are none.
  turned?(by: 1 | -1): void;
  left?(): void;
}

export class Surface {
  readonly readout = make("p", { class: "readout" });
  readonly element: HTMLElement;
  private readonly line = makeSvg("path", { class: "cursor" });
  private readonly veil = makeSvg("path", { class: "selection" });
  private readonly marks = makeSvg("g");
  private readonly over = makeSvg("g", { class: "over" }, this.veil, this.line, this.marks);
  private dragFrom: number | null = null;
  drawn: Drawn | null = null;

  /// `hintId`: of the element that explains its use. `title`: until it is drawn.
  constructor(
    private readonly view: View,
    private readonly subject: Subject,
    hintId: string,
    title: string,
  ) {
    this.element = make("div", {
      class: "surface",
      tabindex: "0",
      role: "img",
      "aria-label": title,
      "aria-describedby": hintId,
    });
    this.listen();
  }

  /// Replaces the drawing. `description`: for readers who cannot see it.
  show(drawn: Drawn, description: string): void {
    this.drawn = drawn;
    drawn.svg.append(this.over);
    this.element.replaceChildren(drawn.svg);
    this.element.setAttribute("aria-label", description);
  }

  /// Shows the cursor's line if it is in the window, and these marks.
  showCursor(marks: SVGElement[]): void {
    if (!this.drawn) return;
    const { at } = this.drawn;
    const { cursor, shown } = this.view;
    const within = cursor !== null && cursor >= shown.min && cursor <= shown.max;
    const down = `V${at.bottom}`;
    this.line.setAttribute("d", within ? `M${at.x(cursor).toFixed(1)} ${at.box.top}${down}` : "");
    this.marks.replaceChildren(...(within ? marks : []));
    const from = this.dragFrom;
    this.veil.setAttribute(
      "d",
      from !== null && within
        ? `M${from.toFixed(1)} ${at.box.top}${down}H${at.x(cursor).toFixed(1)}V${at.box.top}z`
        : "",
    );
  }

  private listen(): void {
    const { element, view, subject } = this;
    element.addEventListener("pointerdown", (event) => this.pressed(event));
    element.addEventListener("pointermove", (event) => this.moved(event));
    element.addEventListener("pointerup", (event) => this.released(event));
    for (const end of ["pointercancel", "pointerleave"])
      element.addEventListener(end, (event) => {
        this.dragFrom = null;
        if ((event as PointerEvent).pointerType !== "touch") this.leave();
      });
    element.addEventListener("dblclick", () => view.zoomTo(null));
    element.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    element.addEventListener("keydown", (event) => {
      const action = actionOf(event);
      if (!this.drawn || !action) return;
      if (action === "up" || action === "down") {
        if (!subject.turned) return;
        subject.turned(action === "up" ? -1 : 1);
      } else view.act(action, subject);
      event.preventDefault();
    });
    // While it has the focus, screen readers read the cursor's values.
    element.addEventListener("focus", () => this.readout.setAttribute("aria-live", "polite"));
    element.addEventListener("blur", () => {
      this.readout.removeAttribute("aria-live");
      // A live page takes the focus away and gives it back while it replaces its parts.
      setTimeout(() => {
        if (document.activeElement !== element) this.leave();
      });
    });
  }

  private leave(): void {
    this.subject.left?.();
    this.view.moveTo(null);
  }

  /// Null outside the box, except while dragging.
  private placeOf(event: MouseEvent): { x: number; y: number } | null {
    if (!this.drawn) return null;
    const { svg, at } = this.drawn;
    const { left, top, width } = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / width;
    const [x, y] = [(event.clientX - left) * scale, (event.clientY - top) * scale];
    const inside = Math.min(Math.max(x, at.box.left), at.box.left + at.box.width);
    return x === inside || this.dragFrom !== null ? { x: inside, y } : null;
  }

  private pressed(event: PointerEvent): void {
    if (event.pointerType === "touch") return this.moved(event);  // a finger reads, and scrolls
    if (event.button !== 0) return;
    this.dragFrom = this.placeOf(event)?.x ?? null;
    if (this.dragFrom !== null) this.element.setPointerCapture(event.pointerId);
  }

  private moved(event: PointerEvent): void {
    const place = this.placeOf(event);
    if (place) this.subject.pointed?.(place.y);
    this.view.moveTo(place && this.drawn ? this.drawn.at.value(place.x) : null);
  }

  private released(event: PointerEvent): void {
    const [from, to] = [this.dragFrom, this.placeOf(event)?.x];
    this.dragFrom = null;
    const at = this.drawn?.at;
    if (!at || from === null || to === undefined) return;
    if (Math.abs(to - from) < kShortestDrag) return this.view.moveTo(at.value(to));
    const [min, max] = [at.value(Math.min(from, to)), at.value(Math.max(from, to))];
    this.view.moveTo(null);
    this.view.zoomTo({ min, max });
  }

  private wheeled(event: WheelEvent): void {
    const place = this.placeOf(event);
    if (!event.ctrlKey || !place || !this.drawn) return;
    event.preventDefault();
    this.view.zoomBy(Math.pow(2, -Math.sign(event.deltaY) / 2), this.drawn.at.value(place.x));
  }
}
