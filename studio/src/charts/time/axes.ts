import { LONG, plotScale } from "../../format/numbers.ts";
import { clockTick, multiples, stepDecimals, stepsOf } from "../../format/ticks.ts";
import { type Frame, font, toX, toY } from "./frame.ts";
import type { PanelSpec } from "./spec.ts";

/** Least space between the labels of an axis, in CSS pixels. */
const TIME_SPACE = 84;
const VALUE_SPACE = 34;

/** Length of the lines from an axis to its labels, in CSS pixels. */
const TICK = 4;

/** A labelled position of an axis: a value of its own, and words. */
interface Tick {
  at: number;
  words: string;
}

/** Positions on an axis `room` CSS pixels long, at the first of `steps` that leaves `space`. */
function placed(
  [lo, hi]: [number, number],
  room: number,
  space: number,
  steps: number[],
  words: (at: number, step: number) => string,
): Tick[] {
  const step = steps.find((one) => one * room >= space * (hi - lo));
  return step === undefined
    ? []
    : multiples(lo, hi, step).map((at) => ({ at, words: words(at, step) }));
}

/** Labelled times of a window. */
export const timeTicks = (window: [number, number], room: number): Tick[] =>
  placed(window, room, TIME_SPACE, stepsOf(window[1], 1), (at, step) => {
    if (window[1] >= LONG && step >= 1) return clockTick(at, step);
    return `${Math.abs(at) < step * 1e-6 ? "0" : at.toFixed(stepDecimals(step))} s`;
  });

/** Labelled values of a range. The rows of a waterfall have names instead. */
export function valueTicks(spec: PanelSpec, range: [number, number], room: number): Tick[] {
  if (spec.waterfall) return [];
  if (spec.ends) return spec.ends.map((words, at) => ({ at, words }));
  const { unit } = spec;
  const [, max] = range;
  const isMs = unit === "ms";
  const scale = unit === "packets" ? { unit: "", divisor: 1 } : plotScale(unit, max);
  const suffix = scale.unit && `\u00a0${scale.unit}`;
  return placed(range, room, VALUE_SPACE, stepsOf(max, isMs ? 1000 : null), (at, step) =>
    isMs && max >= LONG * 1000
      ? clockTick(at / 1000, step / 1000)
      : (at / scale.divisor).toFixed(stepDecimals(step / scale.divisor)) + suffix,
  );
}

/** Draws grid and labels of run's times and of values; the first are `below` CSS pixels lower. */
export function drawAxes(
  f: Frame,
  times: Tick[],
  values: Tick[],
  below: number,
  ink: string,
  grid: string,
): void {
  const { ctx, left, top, width, height, dpr } = f;
  const bottom = top + height;
  const tick = TICK * dpr;
  // A line of an odd number of pixels is sharp between two of them.
  const sharp = (place: number): number => Math.round(place) + (Math.round(dpr) % 2) / 2;
  const line = (x0: number, y0: number, x1: number, y1: number): void => {
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
  };
  ctx.save();
  ctx.font = font(12, dpr);
  ctx.fillStyle = ink;
  ctx.strokeStyle = grid;
  ctx.lineWidth = Math.max(1, Math.round(dpr));
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  for (const { at, words } of times) {
    const x = toX(f)(at);
    line(sharp(x), top, sharp(x), bottom + tick);
    ctx.fillText(words, x, bottom + (below + 18) * dpr);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const { at, words } of values) {
    const y = toY(f)(at);
    line(left - tick, sharp(y), left + width, sharp(y));
    ctx.fillText(words, left - 9 * dpr, y);
  }
  ctx.restore();
}
