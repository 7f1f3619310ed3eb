import { lowerBound } from "../../data/pyramid.ts";
import { type Frame, toX, toY } from "./frame.ts";
import type { Layer } from "./spec.ts";

/** Most lines per CSS pixel of width: more would be a surface, so that only some are drawn. */
const DENSITY = 0.5;
/** Number of lines from which they are faint. */
const MANY = 250;
/** Half the width of the cross at the end of a line that does not arrive, in CSS pixels. */
const CROSS = 3;

/** Draws crossings as slanted lines from one end of the path to the other. */
export function drawFlights(f: Frame, { data: { t }, flight }: Layer): void {
  if (!flight) return;
  const { ctx, dpr } = f;
  const { ends, longest, from, to } = flight;
  const [x, y] = [toX(f), toY(f)];
  const first = lowerBound(t, f.x0 - longest);
  const last = lowerBound(t, f.x1, first);
  const step = Math.max(1, Math.ceil((last - first) / ((f.width / dpr) * DENSITY)));
  const lost = to !== 0 && to !== 1;
  const r = CROSS * dpr;
  const path = f.path();
  for (let i = first - (first % step); i < last; i += step) {
    if (i < first || ends[i]! < f.x0) continue;
    const [x1, y1] = [x(ends[i]!), y(to)];
    path.moveTo(x(t[i]!), y(from));
    path.lineTo(x1, y1);
    if (!lost) continue;
    path.moveTo(x1 - r, y1 - r);
    path.lineTo(x1 + r, y1 + r);
    path.moveTo(x1 + r, y1 - r);
    path.lineTo(x1 - r, y1 + r);
  }
  ctx.globalAlpha = (last - first) / step > MANY && !lost ? 0.35 : 0.85;
  ctx.stroke(path);
}
