// Data for the tests of the page's code, and comparisons of rounded numbers.
import assert from "node:assert/strict";
import type { BandData, ChartData, TimelineData } from "../src/data";

export function near(actual: number | undefined, expected: number): void {
  assert.ok(Math.abs((actual ?? NaN) - expected) <= 1e-9 * Math.max(1, Math.abs(expected)));
}

export function encode(numbers: number[]): string {
  const bytes = new Uint8Array(new Float32Array(numbers).buffer);
  return btoa(String.fromCharCode(...bytes));
}

export function bandData(x: number[], mean: number[], half = 0): BandData {
  return {
    x: encode(x),
    mean: encode(mean),
    low: encode(mean.map((value) => value - half)),
    high: encode(mean.map((value) => value + half)),
  };
}

/// One group per band, on the axis "gradients".
export function chartData(bands: BandData[], rest: Partial<ChartData> = {}): ChartData {
  return {
    id: "c0-0",
    point: 0,
    metric: "eval_loss",
    title: "Evaluation loss",
    logarithmic: false,
    groups: bands.map((band, k) => ({
      label: `group ${k}`,
      style: k,
      n: 3,
      final: [k, k - 1, k + 1],
      band: { gradients: band },
      seeds: [],
    })),
    bounds: [],
    ...rest,
  };
}

export type SpanRow = [worker: number, kind: number, begin: number, end: number];

export function timelineData(spans: SpanRow[]): TimelineData {
  const column = (k: 0 | 1 | 2 | 3) => encode(spans.map((span) => span[k]));
  return {
    id: "timeline-0",
    label: "AR-SGD",
    style: 0,
    workers: 4,
    unit: "s",
    kinds: ["compute", "wait", "exchange"],
    worker: column(0),
    kind: column(1),
    begin: column(2),
    end: column(3),
  };
}
