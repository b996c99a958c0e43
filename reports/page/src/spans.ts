// The spans of a timeline by row: how the workers spent their time.
import { decodeFloats, type TimelineData } from "./data";
import { formatNumber } from "./numbers";
import type { Range } from "./range";

export interface Span {
  kind: string;
  begin: number;
  end: number;
}

export interface Row {
  worker: number;
  spans: Span[];
}

/// Rows by worker, each one's spans by their begin.
export function rowsOf(timeline: TimelineData): Row[] {
  const worker = decodeFloats(timeline.worker);
  const kind = decodeFloats(timeline.kind);
  const begin = decodeFloats(timeline.begin);
  const end = decodeFloats(timeline.end);
  const rows = new Map<number, Row>();
  for (let k = 0; k < worker.length; ++k) {
    const number = worker[k] ?? NaN;
    let row = rows.get(number);
    if (!row) rows.set(number, (row = { worker: number, spans: [] }));
    row.spans.push({
      kind: timeline.kinds[kind[k] ?? NaN] ?? "",
      begin: begin[k] ?? NaN,
      end: end[k] ?? NaN,
    });
  }
  for (const row of rows.values()) row.spans.sort((a, b) => a.begin - b.begin);
  return [...rows.values()].sort((a, b) => a.worker - b.worker);
}

export function csvOfRows(rows: Row[]): string {
  const lines = rows.flatMap(({ worker, spans }) =>
    spans.map(({ kind, begin, end }) => `${worker},${kind},${begin},${end}\n`),
  );
  return `worker,kind,begin,end\n${lines.join("")}`;
}

/// The end of the time that was recorded for every worker of every timeline, so that no row of the
/// picture is empty only because its recording ended; 0 without spans.
export function commonEnd(timelines: Row[][]): number {
  let end = Infinity;
  for (const rows of timelines)
    for (const { spans } of rows)
      end = Math.min(end, Math.max(...spans.map((span) => span.end).filter(Number.isFinite)));
  return Number.isFinite(end) ? end : 0;
}

/// The spans that cover a moment; `slack` also finds near ones that take no time.
export function spansAt(row: Row, moment: number, slack: number): Span[] {
  return row.spans.filter(
    ({ begin, end }) =>
      begin - slack <= moment &&
      moment <= end + slack &&
      ((begin <= moment && moment < end) || end - begin < 2 * slack),
  );
}

/// Each kind's share of the workers' time inside the window.
export function shares(rows: Row[], kinds: string[], window: Range): number[] {
  const whole = (window.max - window.min) * rows.length;
  const sums = new Map<string, number>();
  for (const { spans } of rows)
    for (const { kind, begin, end } of spans) {
      const inside = Math.min(end, window.max) - Math.max(begin, window.min);
      if (inside > 0) sums.set(kind, (sums.get(kind) ?? 0) + inside);
    }
  return kinds.map((kind) => (whole > 0 ? (sums.get(kind) ?? 0) / whole : 0));
}

/// "compute 80 %, wait 20 %, exchange 1 % of the time shown", with the number of the run's workers
/// if not all were kept.
export function sharesText(rows: Row[], kinds: string[], window: Range, workers: number): string {
  const texts = shares(rows, kinds, window).map(
    (share, k) => `${kinds[k] ?? ""} ${Math.round(100 * share)} %`,
  );
  const kept = rows.length < workers ? `; ${rows.length} of ${workers} workers` : "";
  return `${texts.join(", ")} of the time shown${kept}`;
}

/// What a worker does at a moment, in words.
export function momentText(row: Row, moment: number, unit: string, slack: number): string {
  const at = `worker ${row.worker}, ${formatNumber(moment, 5)} ${unit}`;
  const found = spansAt(row, moment, slack).map(
    ({ kind, begin, end }) =>
      `${kind} from ${formatNumber(begin, 5)} to ${formatNumber(end, 5)} ` +
      `(${formatNumber(end - begin, 3)} ${unit})`,
  );
  return `${at}: ${found.join("; ") || "nothing recorded"}`;
}
