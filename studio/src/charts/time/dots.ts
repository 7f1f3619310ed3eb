import { type DotWindow, eachDot } from "../../data/pyramid.ts";
import { type Frame, toX, toY } from "./frame.ts";
import { drawDense } from "./lines.ts";
import type { Layer } from "./spec.ts";

/** Most dots and most marks that a layer may cost per frame before it is drawn coarser. */
const DOTS = 6_000;
const MARKS = 2_000;

/** Which cell size each layer needed the last time. */
const coarse = new WeakMap<Layer, number>();

/** Draws each sample of a series as a dot or a mark. */
export function drawDots(f: Frame, layer: Layer): void {
  const { ctx, dpr } = f;
  const [toPixelX, toPixelY] = [toX(f), toY(f)];
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
  // The cell size of the last time is a good guess; one step finer is tried as well.
  let k = Math.max(0, (coarse.get(layer) ?? 0) - 1);
  for (; k < cells.length; k++) {
    xs.length = 0;
    ys.length = 0;
    const fits = eachDot(layer.data, window, cells[k]! * dpr, plain ? DOTS : MARKS, (t, v) => {
      xs.push(toPixelX(t));
      ys.push(toPixelY(v));
    });
    if (fits) break;
  }
  coarse.set(layer, k);
  if (k === cells.length) {
    // Too many for dots: draw the band between minimum and maximum of each pixel column.
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
  // Many marks are drawn smaller, so that a burst of losses does not become a blot.
  const many = xs.length > 60;
  const r = (many ? 2.2 : 3.6) * dpr;
  if (many) ctx.lineWidth = 1.2 * dpr;
  const path = f.path();
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

/** Draws short strokes at the bottom, one per pixel that has an event. */
export function drawRug(f: Frame, layer: Layer): void {
  const { ctx, dpr } = f;
  const toPixelX = toX(f);
  const bottom = f.top + f.height;
  const path = f.path();
  const window: DotWindow = {
    x0: f.x0,
    x1: f.x1,
    y0: -Infinity,
    y1: Infinity,
    width: f.width,
    height: 0,
  };
  eachDot(layer.data, window, 2 * dpr, DOTS, (t) => {
    const x = toPixelX(t);
    path.moveTo(x, bottom);
    path.lineTo(x, bottom - 9 * dpr);
  });
  ctx.stroke(path);
}
