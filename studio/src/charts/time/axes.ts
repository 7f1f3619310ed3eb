import { type Frame, font, toX, toY } from "./frame.ts";

/** Labelled positions of both axes: run's times, and values. */
export interface Ticks {
  x: { at: number; words: string }[];
  y: { at: number; words: string }[];
}

/** Draws grid and labels, for surfaces on which uPlot does not draw. */
export function drawAxes(f: Frame, ticks: Ticks, below: number, ink: string, grid: string): void {
  const { ctx, left, top, width, height, dpr } = f;
  const bottom = top + height;
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
  ctx.lineWidth = dpr;
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  const [x, y] = [toX(f), toY(f)];
  for (const { at, words } of ticks.x) {
    if (at < f.x0 || at > f.x1) continue;
    line(x(at), top, x(at), bottom);
    ctx.fillText(words, x(at), bottom + (below + 18) * dpr);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const { at, words } of ticks.y) {
    if (at < f.y0 || at > f.y1) continue;
    line(left, y(at), left + width, y(at));
    ctx.fillText(words, left - 9 * dpr, y(at));
  }
  ctx.restore();
}
