// How a chart's two axes are drawn: ticks, texts and room.
import type uPlot from "uplot";
import type { AxisData } from "./data";
import { formatNumber, formatPlace, tickTexts } from "./numbers";
import { theme } from "./theme";
import { ticks } from "./ticks";

const kCharacterWidth = 6.4;
const kPixelsPerPlace = 75;
const kValueTicks = 5;

function look(): uPlot.Axis {
  return {
    stroke: () => theme().soft,
    font: theme().font,
    gap: 4,
    filter: (_plot, splits) => splits,
  };
}

/// The x-axis, with its name below.
export function placeAxis(axis: AxisData, logarithmic: boolean): uPlot.Axis {
  const line = { stroke: () => theme().soft, width: 1 };
  return {
    ...look(),
    label: axis.label,
    labelSize: 14,
    labelFont: theme().font,
    size: 24,
    grid: { show: false },
    ticks: { ...line, size: 4 },
    border: { show: true, ...line },
    splits(plot, _axis, min, max) {
      const wanted = Math.floor(plot.bbox.width / devicePixelRatio / kPixelsPerPlace);
      return ticks({ min, max }, Math.max(2, wanted), logarithmic);
    },
    values: (_plot, splits) =>
      tickTexts(splits, (value, digits) => formatPlace(axis.key, value, digits)),
  };
}

/// The y-axis, as wide as its texts.
export function valueAxis(logarithmic: boolean): uPlot.Axis {
  return {
    ...look(),
    grid: { stroke: () => theme().rule, width: 1 },
    ticks: { show: false },
    size: (_plot, texts) =>
      14 + kCharacterWidth * Math.max(4, ...(texts ?? []).map((text) => text.length)),
    splits: (_plot, _axis, min, max) => ticks({ min, max }, kValueTicks, logarithmic),
    values: (_plot, splits) => tickTexts(splits, formatNumber),
  };
}
