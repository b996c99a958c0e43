// Replaces the static drawings by ones that can be zoomed. Apart from its own controls it adds only
// what is in the page or its data block.
import "./page.css";
import { readPageData, type PageData } from "./data";
import { addFigureButtons } from "./figures";
import { Live } from "./live";
import { Point } from "./point";
import { Sweep } from "./sweep";
import { addCsvButtons } from "./tables";
import { Timelines } from "./timeline";
import { unpackFolds } from "./unpack";

const points = new Map<number, Point>();
const timelines = new Timelines();

function drawCurves(data: PageData): void {
  for (const place of document.querySelectorAll<HTMLElement>(".curves[data-point]")) {
    const number = Number(place.dataset["point"]);
    const charts = data.charts.filter((chart) => chart.point === number);
    const before = points.get(number);
    if (before?.adopt(place, data, charts)) continue;
    points.set(number, new Point(place, number, data.axes, charts, before));
  }
}

function addButtons(): void {
  addCsvButtons(document);
  addFigureButtons(document);
}

function drawPart(data: PageData): void {
  drawCurves(data);
  timelines.attach(data.timelines);
  addButtons();
}
const sweep = new Sweep(drawPart);

function draw(data: PageData): void {
  drawPart(data);
  unpackFolds(document, addButtons);
  sweep.attach();
}

function start(): void {
  const data = readPageData(document);
  if (data.live) new Live(draw);
  draw(data);
  addEventListener("beforeprint", () => points.forEach((point) => point.drawAll()));
}

function startOrStayStatic(): void {
  try {
    start();
  } catch (error) {
    document.documentElement.classList.remove("live");
    throw error;
  }
}

document.documentElement.classList.add("live");
if (document.readyState === "loading")
  document.addEventListener("DOMContentLoaded", startOrStayStatic);
else startOrStayStatic();
