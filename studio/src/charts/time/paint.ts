import { type DotWindow, eachColumn, eachDot, windowOf } from "../../data/pyramid.ts";
import type { Layer } from "./chart.ts";

/** Where a plot is drawn on its canvas (device pixels), and the window of data that it shows. */
export interface Frame {
  ctx: CanvasRenderingContext2D;
  left: number;
  top: number;
  width: number;
  height: number;
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  dpr: number;
}

/** Dots and marks that a layer may cost per frame before it is drawn coarser. */
const DOTS = 6_000;
const MARKS = 2_000;

/** Samples of a line are dots too where each has so many CSS pixels of the width. */
const POINT_ROOM = 8;

/** Opacity of the area under a line. */
const FILL = 0.16;

/** How coarse the dots of a layer had to be the last time. */
const coarse = new WeakMap<Layer, number>();

/** Draws one series. */
export function drawLayer(f: Frame, layer: Layer): void {
  const { ctx, dpr } = f;
  ctx.globalAlpha = 1;
  ctx.setLineDash((layer.dash ?? []).map((d) => d * dpr));
  ctx.strokeStyle = layer.colour();
  ctx.fillStyle = ctx.strokeStyle;
  ctx.lineWidth = (layer.width ?? 1.6) * dpr;
  ctx.lineJoin = "bevel";
  if (layer.style === "line" || layer.style === "step") drawLine(f, layer);
  else if (layer.style === "rug") drawRug(f, layer);
  else drawDots(f, layer);
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

function drawLine(f: Frame, layer: Layer): void {
  const [i0, i1] = windowOf(layer.data, f.x0, f.x1);
  if (i1 - i0 <= f.width * 1.5) drawSparse(f, layer, i0, i1);
  else drawDense(f, layer);
  if (layer.points && i1 - i0 <= f.width / (POINT_ROOM * f.dpr)) drawPoints(f, layer, i0, i1);
}

/** A round dot at every sample of a line. */
function drawPoints(f: Frame, { data: { t, v } }: Layer, i0: number, i1: number): void {
  const { ctx, dpr } = f;
  const r = 2.4 * dpr;
  const path = new Path2D();
  for (let i = i0; i < i1; i++) {
    if (t[i]! < f.x0 || t[i]! > f.x1 || Number.isNaN(v[i]!)) continue;
    const x = f.left + ((t[i]! - f.x0) / (f.x1 - f.x0)) * f.width;
    const y = f.top + f.height - ((v[i]! - f.y0) / (f.y1 - f.y0)) * f.height;
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  }
  ctx.fill(path);
}

/** A line through every sample. */
function drawSparse(f: Frame, layer: Layer, i0: number, i1: number): void {
  const { ctx } = f;
  const { t, v } = layer.data;
  const sx = f.width / (f.x1 - f.x0);
  const sy = f.height / (f.y1 - f.y0);
  const bottom = f.top + f.height;
  const step = layer.style === "step";
  // Far outside the plot a coordinate says no more than just outside it.
  const far = f.width * 4;
  const line = new Path2D();
  let down = true;
  let firstX = 0;
  let x = 0;
  let y = 0;
  for (let i = i0; i < i1; i++) {
    if (Number.isNaN(v[i]!)) {
      down = true;
      continue;
    }
    const px = Math.max(f.left - far, Math.min(f.left + far, f.left + (t[i]! - f.x0) * sx));
    const py = bottom - (v[i]! - f.y0) * sy;
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
    const area = new Path2D(line);
    area.lineTo(x, bottom);
    area.lineTo(firstX, bottom);
    ctx.globalAlpha = FILL;
    ctx.fill(area);
    ctx.globalAlpha = 1;
  }
  ctx.stroke(line);
}

/**
 * Many samples per pixel: columns that span little join into one smooth line, columns that span more are upright
 * bars. Bars on whole pixels cost a fraction of what the same zigzag costs as a path.
 */
function drawDense(f: Frame, layer: Layer, opacity = 1): void {
  const { ctx, dpr } = f;
  const sy = f.height / (f.y1 - f.y0);
  const bottom = f.top + f.height;
  const step = layer.style === "step";
  const half = ctx.lineWidth / 2;
  const thick = Math.max(1, Math.round(ctx.lineWidth));
  const line = new Path2D();
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
    let lo = bottom - (c.max - f.y0) * sy;
    let hi = bottom - (c.min - f.y0) * sy;
    if (!Number.isNaN(y) && (step || !bridge)) {
      lo = Math.min(lo, y);
      hi = Math.max(hi, y);
    }
    const last = bottom - (c.last - f.y0) * sy;
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

function drawDots(f: Frame, layer: Layer): void {
  const { ctx, dpr } = f;
  const sx = f.width / (f.x1 - f.x0);
  const sy = f.height / (f.y1 - f.y0);
  const bottom = f.top + f.height;
  const plain = layer.style === "dots";
  const window: DotWindow = {
    x0: f.x0,
    x1: f.x1,
    y0: f.y0,
    y1: f.y1,
    width: f.width,
    height: f.height,
  };
  const cells = plain ? [1, 2, 4] : [2, 4, 8];
  const xs: number[] = [];
  const ys: number[] = [];
  // What was fine enough last time is a good guess for this time; one step finer is tried as well.
  let k = Math.max(0, (coarse.get(layer) ?? 0) - 1);
  for (; k < cells.length; k++) {
    xs.length = 0;
    ys.length = 0;
    const fits = eachDot(layer.data, window, cells[k]! * dpr, plain ? DOTS : MARKS, (t, v) => {
      xs.push(f.left + (t - f.x0) * sx);
      ys.push(bottom - (v - f.y0) * sy);
    });
    if (fits) break;
  }
  coarse.set(layer, k);
  if (k === cells.length) {
    // Too scattered for dots: the band between minimum and maximum of each pixel column.
    ctx.lineWidth = dpr;
    drawDense(f, { ...layer, style: "line", fill: false }, 0.4);
    return;
  }
  if (plain) {
    const size = Math.max(2, Math.round(2.3 * dpr));
    for (let i = 0; i < xs.length; i++)
      ctx.fillRect(Math.round(xs[i]! - size / 2), Math.round(ys[i]! - size / 2), size, size);
    return;
  }
  // Marks shrink where there are many, so that a burst of losses stays a line and not a blot.
  const many = xs.length > 60;
  const r = (many ? 2.2 : 3.6) * dpr;
  if (many) ctx.lineWidth = 1.2 * dpr;
  const path = new Path2D();
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i]!;
    const y = ys[i]!;
    if (layer.style === "cross") {
      path.moveTo(x - r, y - r);
      path.lineTo(x + r, y + r);
      path.moveTo(x + r, y - r);
      path.lineTo(x - r, y + r);
    } else if (layer.style === "plus") {
      path.moveTo(x - r * 1.2, y);
      path.lineTo(x + r * 1.2, y);
      path.moveTo(x, y - r * 1.2);
      path.lineTo(x, y + r * 1.2);
    } else {
      path.moveTo(x - r, y - r);
      path.lineTo(x + r, y - r);
      path.lineTo(x, y + r);
      path.closePath();
    }
  }
  if (layer.style === "triangle") ctx.fill(path);
  else ctx.stroke(path);
}

/** Short strokes at the bottom, one per pixel that has an event. */
function drawRug(f: Frame, layer: Layer): void {
  const { ctx, dpr } = f;
  const sx = f.width / (f.x1 - f.x0);
  const bottom = f.top + f.height;
  const path = new Path2D();
  const window: DotWindow = {
    x0: f.x0,
    x1: f.x1,
    y0: -Infinity,
    y1: Infinity,
    width: f.width,
    height: 0,
  };
  eachDot(layer.data, window, 2 * dpr, DOTS, (t) => {
    const x = f.left + (t - f.x0) * sx;
    path.moveTo(x, bottom);
    path.lineTo(x, bottom - 9 * dpr);
  });
  ctx.stroke(path);
}

/** Draws a level with short dashes. */
export function drawReference(f: Frame, value: number, colour: string): void {
  const { ctx, dpr } = f;
  const y = Math.round(f.top + f.height - ((value - f.y0) / (f.y1 - f.y0)) * f.height) + 0.5;
  ctx.strokeStyle = colour;
  ctx.lineWidth = dpr;
  ctx.setLineDash([2 * dpr, 3 * dpr]);
  ctx.beginPath();
  ctx.moveTo(f.left, y);
  ctx.lineTo(f.left + f.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Draws named instants: a line through the plot and, with `labels`, their names above it in up to two rows. */
export function drawMarks(
  f: Frame,
  marks: { t: number; label: string }[],
  labels: boolean,
  line: string,
  ink: string,
): void {
  const { ctx, dpr } = f;
  const ends = [-Infinity, -Infinity];
  ctx.save();
  ctx.font = `${12 * dpr}px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif`;
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "left";
  for (const { t, label } of marks) {
    if (t < f.x0 || t > f.x1) continue;
    const x = Math.round(f.left + ((t - f.x0) / (f.x1 - f.x0)) * f.width) + 0.5;
    let top = f.top;
    if (labels) {
      const text = label.length > 40 ? `${label.slice(0, 39)}…` : label;
      const width = ctx.measureText(text).width;
      // To the left of its line where there is no room at the right.
      const from = x + 5 * dpr + width > f.left + f.width ? x - 5 * dpr - width : x + 5 * dpr;
      // The upper row first, unless the line down from it would cross a name in the lower one.
      const gap = 8 * dpr;
      const row = from > ends[1]! + gap && x > ends[0]! ? 1 : from > ends[0]! + gap ? 0 : -1;
      if (row >= 0 && from > f.left - 60 * dpr) {
        ends[row] = Math.max(from + width, x);
        top = f.top - (row === 0 ? 16 : 32) * dpr;
        ctx.globalAlpha = 1;
        ctx.fillStyle = ink;
        ctx.fillText(text, from, top + 11 * dpr);
      }
    }
    ctx.globalAlpha = 0.55;
    ctx.strokeStyle = line;
    ctx.lineWidth = dpr;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, f.top + f.height);
    ctx.stroke();
  }
  ctx.restore();
}
