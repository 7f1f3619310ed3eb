import { drawDots, drawRug } from "./dots.ts";
import { drawFlights } from "./flights.ts";
import type { Frame } from "./frame.ts";
import { drawLine } from "./lines.ts";
import type { Layer } from "./spec.ts";

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
  else if (layer.style === "flight") drawFlights(f, layer);
  else drawDots(f, layer);
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}
