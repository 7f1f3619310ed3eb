import { eachColumn, windowOf } from "../../data/pyramid.ts";
import { type Frame, toX, toY } from "./frame.ts";
import type { Layer } from "./spec.ts";

/** CSS pixels of width that each sample of a line needs to be drawn as a dot too. */
const POINT_ROOM = 8;

/** Opacity of the area under a line. */
const FILL = 0.16;

/** Draws a series as a line, as simply as the number of its samples in sight allows. */
export function drawLine(f: Frame, layer: Layer): void {
  const [i0, i1] = windowOf(layer.data, f.x0, f.x1);
  if (i1 - i0 <= f.width * 1.5) drawSparse(f, layer, i0, i1);
  else drawDense(f, layer);
  if (layer.hold !== undefined) drawHeld(f, layer, layer.hold);
  if (layer.points && i1 - i0 <= f.width / (POINT_ROOM * f.dpr)) drawPoints(f, layer, i0, i1);
}

/** Draws the last value of a series from its time to `until`. */
function drawHeld(f: Frame, { data: { t, v, n }, fill }: Layer, until: number): void {
  const { ctx } = f;
  const from = Math.max(f.x0, t[n - 1]!);
  const to = Math.min(f.x1, until);
  if (n === 0 || !(to > from) || Number.isNaN(v[n - 1]!)) return;
  const [x, y] = [toX(f), toY(f)];
  const level = y(v[n - 1]!);
  const line = f.path();
  line.moveTo(x(from), level);
  line.lineTo(x(to), level);
  ctx.stroke(line);
  if (!fill) return;
  ctx.globalAlpha = FILL;
  ctx.fillRect(x(from), level, x(to) - x(from), f.top + f.height - level);
  ctx.globalAlpha = 1;
}

/** Draws a round dot at every sample of a line. */
function drawPoints(f: Frame, { data: { t, v } }: Layer, i0: number, i1: number): void {
  const { ctx, dpr } = f;
  const [x, y] = [toX(f), toY(f)];
  const r = 2.4 * dpr;
  const path = f.path();
  for (let i = i0; i < i1; i++) {
    if (t[i]! < f.x0 || t[i]! > f.x1 || Number.isNaN(v[i]!)) continue;
    path.moveTo(x(t[i]!) + r, y(v[i]!));
    path.arc(x(t[i]!), y(v[i]!), r, 0, 2 * Math.PI);
  }
  ctx.fill(path);
}

/** Draws a line through every sample. */
function drawSparse(f: Frame, layer: Layer, i0: number, i1: number): void {
  const { ctx } = f;
  const { t, v } = layer.data;
  const [toPixelX, toPixelY] = [toX(f), toY(f)];
  const bottom = f.top + f.height;
  const step = layer.style === "step";
  // Coordinates far outside the plot are no use, and too large for a canvas.
  const far = f.width * 4;
  const line = f.path();
  let down = true;
  let firstX = 0;
  let x = 0;
  let y = 0;
  for (let i = i0; i < i1; i++) {
    if (Number.isNaN(v[i]!)) {
      down = true;
      continue;
    }
    const px = Math.max(f.left - far, Math.min(f.left + far, toPixelX(t[i]!)));
    const py = toPixelY(v[i]!);
    if (down) {
      line.moveTo(px, py);
      firstX = px;
      down = false;
    } else {
      if (step && py !== y) line.lineTo(px, y);
      line.lineTo(px, py);
    }
    x = px;
    y = py;
  }
  if (layer.fill && !down) {
    const area = f.path(line);
    area.lineTo(x, bottom);
    area.lineTo(firstX, bottom);
    ctx.globalAlpha = FILL;
    ctx.fill(area);
    ctx.globalAlpha = 1;
  }
  ctx.stroke(line);
}

/**
 * Draws many samples per pixel: columns that span little join into a smooth line, columns that span
 * more are upright bars. Bars on whole pixels are much cheaper than the same zigzag as a path.
 */
export function drawDense(f: Frame, layer: Layer, opacity = 1): void {
  const { ctx, dpr } = f;
  const toPixelY = toY(f);
  const bottom = f.top + f.height;
  const step = layer.style === "step";
  const half = ctx.lineWidth / 2;
  const thick = Math.max(1, Math.round(ctx.lineWidth));
  const line = f.path();
  const bars: number[] = [];
  let y = NaN;
  let drawn = false;
  let end = 0;
  eachColumn(layer.data, f.x0, f.x1, Math.round(f.width), (column, c) => {
    const x = f.left + column + 0.5;
    const bridge = !Number.isNaN(y) && column > end + 1;
    if (bridge && step) {
      if (!drawn) line.moveTo(f.left + end + 0.5, y);
      line.lineTo(x, y);
      drawn = true;
    }
    let lo = toPixelY(c.max);
    let hi = toPixelY(c.min);
    if (!Number.isNaN(y) && (step || !bridge)) {
      lo = Math.min(lo, y);
      hi = Math.max(hi, y);
    }
    const last = toPixelY(c.last);
    if (layer.fill && column >= 0) {
      const from = bridge ? f.left + end + 1 : f.left + column;
      ctx.globalAlpha = FILL;
      ctx.fillRect(
        Math.round(from),
        Math.round(lo),
        Math.round(f.left + column + 1) - Math.round(from),
        Math.max(0, Math.round(bottom) - Math.round(lo)),
      );
      ctx.globalAlpha = 1;
    }
    if (hi - lo <= 4 * dpr || (bridge && !step)) {
      if (!drawn) line.moveTo(x, Number.isNaN(y) ? last : y);
      line.lineTo(x, last);
      drawn = true;
    } else {
      bars.push(
        Math.round(x - thick / 2),
        Math.round(lo - half),
        Math.max(1, Math.round(hi - lo + 2 * half)),
      );
      drawn = false;
    }
    y = last;
    end = column;
  });
  ctx.globalAlpha = opacity;
  for (let i = 0; i < bars.length; i += 3)
    ctx.fillRect(bars[i]!, bars[i + 1]!, thick, bars[i + 2]!);
  ctx.stroke(line);
}
