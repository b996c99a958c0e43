// A chart of the page as plain shapes, in the colours of light paper: what files are written from.
// The other end of reports/figure/figure.cpp, which reads the same drawings on the command line.
import { make } from "./dom";
import type { Box } from "./lines";

/// Lengths are in the units of the shape's own coordinates; colours are #rrggbb or none.
export interface Look {
  fill: string;
  stroke: string;
  width: number;
  opacity: number;
  size: number;
  dash: string;
}

/// A path or, where `path` is empty, a text. x and y become scale · x + dx and scale · y + dy.
export interface Item {
  scale: number;
  dx: number;
  dy: number;
  path: string;
  text: string;
  anchor: string;
  x: number;
  y: number;
  look: Look;
  clip: Box | null;
}

export interface Drawing {
  width: number;
  height: number;
  title: string;
  items: Item[];
}

/// At most so many decimals, without those that are zero.
export const short = (value: number, decimals = 3): string => String(Number(value.toFixed(decimals)));

function colourOf(computed: string): string {
  const parts = /^rgba?\(([^)]*)\)$/.exec(computed)?.[1]?.split(/[ ,/]+/).map(Number);
  if (!parts || parts[3] === 0) return "none";
  return "#" + parts.slice(0, 3).map((part) => part.toString(16).padStart(2, "0")).join("");
}

function lookOf(element: Element): Look {
  const style = getComputedStyle(element);
  return {
    fill: colourOf(style.fill),
    stroke: colourOf(style.stroke),
    width: parseFloat(style.strokeWidth),
    opacity: Number(style.opacity),
    size: parseFloat(style.fontSize),
    dash: style.strokeDasharray === "none" ? "" : style.strokeDasharray.replace(/px|,/g, ""),
  };
}

/// The outline of a shape; empty for what is none.
function pathOf(shape: Element): string {
  const at = (name: string) => Number(shape.getAttribute(name) ?? 0);
  if (shape.tagName === "path") return shape.getAttribute("d") ?? "";
  if (shape.tagName === "rect")
    return `M${at("x")} ${at("y")}h${at("width")}v${at("height")}h${-at("width")}z`;
  if (shape.tagName !== "circle") return "";
  const r = at("r");
  return `M${at("cx") - r} ${at("cy")}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

interface Level {
  scale: number;
  dx: number;
  dy: number;
  clip: Box | null;
}

/// Transforms are translate(x y) and scale(s).
function within(level: Level, element: SVGGraphicsElement): Level {
  const matrix = element.transform?.baseVal.consolidate()?.matrix;
  const { scale, dx, dy } = level;
  return matrix
    ? { ...level, scale: scale * matrix.a, dx: dx + scale * matrix.e, dy: dy + scale * matrix.f }
    : level;
}

function collect(parent: Element, outer: Level, items: Item[]): void {
  for (const child of parent.children) {
    if (getComputedStyle(child).display === "none") continue;
    let level = within(outer, child as SVGGraphicsElement);
    if (child instanceof SVGSVGElement) {
      const { x: left, y: top, width, height } = child.viewBox.baseVal;
      level = { ...level, clip: { left: left + level.dx, top: top + level.dy, width, height } };
    }
    const text = child.tagName === "text" ? (child.textContent ?? "") : "";
    const path = pathOf(child);
    if (text || path) {
      const at = (name: string) => Number(child.getAttribute(name) ?? 0);
      const look = lookOf(child);
      if (look.fill !== "none" || look.stroke !== "none")
        items.push({
          ...level,
          path,
          text,
          anchor: child.getAttribute("text-anchor") ?? "start",
          x: text ? at("x") : 0,
          y: text ? at("y") : 0,
          look,
        });
    }
    collect(child, level, items);
  }
}

const kTitleRoom = 17;
const kTitleBaseline = 10;

/// With its title above it, except where it has one within. The drawing itself stays as it is.
export function drawingOf(svg: SVGSVGElement, title: string, titled: boolean): Drawing {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const holder = make("div", { class: "for-paper", "aria-hidden": "true" });
  holder.append(copy);
  document.body.append(holder);
  try {
    const { width, height } = copy.viewBox.baseVal;
    const room = titled ? kTitleRoom : 0;
    const items: Item[] = [];
    collect(copy, { scale: 1, dx: 0, dy: room, clip: null }, items);
    if (titled) {
      const head = copy.appendChild(document.createElementNS(copy.namespaceURI ?? "", "text"));
      head.setAttribute("class", "heading");
      const look = lookOf(head);
      const place = { scale: 1, dx: 0, dy: 0, clip: null, x: 0, y: kTitleBaseline };
      items.push({ ...place, path: "", text: title, anchor: "start", look });
    }
    return { width, height: height + room, title, items };
  } finally {
    holder.remove();
  }
}
