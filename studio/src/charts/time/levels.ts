import { type Frame, font, toX, toY } from "./frame.ts";
import type { Mark } from "./spec.ts";

/** Draws a level as a dotted line. */
export function drawReference(f: Frame, value: number, colour: string): void {
  const { ctx, dpr } = f;
  const y = Math.round(toY(f)(value)) + 0.5;
  ctx.strokeStyle = colour;
  ctx.lineWidth = dpr;
  ctx.setLineDash([2 * dpr, 3 * dpr]);
  ctx.beginPath();
  ctx.moveTo(f.left, y);
  ctx.lineTo(f.left + f.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
}

/**
 * Draws named instants: a line through the plot and, with `labels`, their names above it in up to
 * two rows.
 */
export function drawMarks(
  f: Frame,
  marks: Mark[],
  labels: boolean,
  line: string,
  ink: string,
): void {
  const { ctx, dpr } = f;
  const ends = [-Infinity, -Infinity];
  ctx.save();
  ctx.font = font(12, dpr);
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "left";
  for (const { t, label } of marks) {
    if (t < f.x0 || t > f.x1) continue;
    const x = Math.round(toX(f)(t)) + 0.5;
    let top = f.top;
    if (labels) {
      const text = label.length > 40 ? `${label.slice(0, 39)}…` : label;
      const width = ctx.measureText(text).width;
      // The name goes left of its line if there is no room at the right.
      const from = x + 5 * dpr + width > f.left + f.width ? x - 5 * dpr - width : x + 5 * dpr;
      // The upper row is used unless the line from it would cross a name in the lower row.
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
