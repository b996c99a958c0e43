// The ticks of an axis, placed as in reports/html/scale.cpp.
import type { Range } from "./range";

function linearTicks({ min, max }: Range, wanted: number): number[] {
  const raw = (max - min) / wanted;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const ratio = raw / power;
  const step = (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power;
  const slack = 1e-9 * (max - min);
  const last = Math.floor((max + slack) / step);
  const values: number[] = [];
  for (let k = Math.ceil((min - slack) / step); k <= last; ++k) values.push(k === 0 ? 0 : k * step);
  return values;
}

function logarithmicTicks({ min, max }: Range, wanted: number): number[] {
  const decades = Math.log10(max / min);
  const every = Math.max(1, Math.ceil(decades / wanted));
  const values: number[] = [];
  const add = (value: number) => {
    if (value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9)) values.push(value);
  };
  for (let decade = Math.floor(Math.log10(min)); decade <= Math.ceil(Math.log10(max)); ++decade) {
    if (Math.abs(decade) % every !== 0) continue;
    for (const digit of decades > 2 ? [1] : [1, 2, 5]) add(Number(`${digit}e${decade}`));
  }
  // A range of less than a factor of two may contain no such value.
  return values.length >= 2 ? values : linearTicks({ min, max }, wanted);
}

export function ticks(range: Range, wanted: number, logarithmic: boolean): number[] {
  if (!(range.max > range.min) || !Number.isFinite(range.max - range.min)) return [];
  return logarithmic ? logarithmicTicks(range, wanted) : linearTicks(range, wanted);
}
