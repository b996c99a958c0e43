// The page's data block; change it together with reports/html/page_data.cpp, which writes it.

export type AxisKey = "gradients" | "epochs" | "normalised_time" | "seconds" | "bytes";

export interface AxisData {
  key: AxisKey;
  label: string;
}

/// Arrays of numbers are base64 of little-endian float32; NaN is a gap.
export interface BandData {
  x: string;
  mean: string;
  low: string;
  high: string;
}

export interface SeedData {
  run: string;
  seed: string;
  value: string;
  at: Record<string, string>;
}

export interface ChartGroup {
  label: string;
  style: number;
  n: number;
  /// Mean, low and high of the runs' last values; null without any.
  final: [number | null, number | null, number | null];
  band: Record<string, BandData>;
  seeds: SeedData[];
}

export interface BoundData {
  label: string;
  note: string;
  style: number;
  axis: Record<string, { x: string; y: string }>;
}

export interface ChartData {
  id: string;
  point: number;
  metric: string;
  title: string;
  logarithmic: boolean;
  /// Secondary: shown under "More curves".
  folded?: boolean;
  groups: ChartGroup[];
  bounds: BoundData[];
}

export interface TimelineData {
  id: string;
  label: string;
  style: number;
  workers: number;
  unit: string;
  kinds: string[];
  worker: string;
  kind: string;
  begin: string;
  end: string;
}

export interface PageData {
  schema: 1;
  live: boolean;
  axes: AxisData[];
  charts: ChartData[];
  timelines: TimelineData[];
}

/// The numbers of a base64 block; throws where its length is no multiple of four bytes.
export function decodeFloats(base64: string): Float32Array {
  const text = atob(base64);
  if (text.length % 4 !== 0) throw new RangeError(`${text.length} bytes are no float32 array`);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; ++k) bytes[k] = text.charCodeAt(k);
  const view = new DataView(bytes.buffer);
  const numbers = new Float32Array(text.length / 4);
  for (let k = 0; k < numbers.length; ++k) numbers[k] = view.getFloat32(4 * k, true);
  return numbers;
}

/// The data block of a document: the page itself, or a newer one fetched by the live page.
export function readPageData(from: Document): PageData {
  const block = from.getElementById("acid-data");
  if (!block) throw new Error("the page has no data block");
  const data = JSON.parse(block.textContent ?? "") as PageData;
  if (data.schema !== 1) throw new Error(`the data block has schema ${String(data.schema)}, not 1`);
  return data;
}
