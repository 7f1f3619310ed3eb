import type { Frame } from "./paint.ts";
import { phaseColour } from "./palette.ts";
import { bandsIn, CAREFUL, shortName, type Phases } from "./phases.ts";

/** Height of the strip above a plot that names the phases, in CSS pixels. */
export const STRIP = 19;

/** Space at each side of a name. */
const SIDE = 5;

/** Colours that go with the theme rather than with a phase. */
export interface BandInk {
  text: string;
  line: string;
}

/**
 * Draws phases behind a plot: a strip above it with their names where they fit, and under it a tint for those that
 * say how the flow got where it is. The rest leaves the plot as it is but for a thin line where each begins.
 */
export function drawBands(f: Frame, phases: Phases, ink: BandInk): void {
  const { ctx, dpr, left, top, width, height } = f;
  const strip = STRIP * dpr;
  ctx.save();
  ctx.font = `${11.5 * dpr}px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const bands = bandsIn(phases, f.x0, f.x1, width, dpr).map(({ from, to, name, kind }) => {
    const a = Math.round(left + from);
    // What is narrower than a pixel is still to be seen.
    const b = Math.min(left + width, Math.max(Math.round(left + to), a + (kind === "other" ? 0 : Math.ceil(dpr))));
    return { a, b, wide: b - a >= 4 * dpr, begins: from > 0, name, kind };
  });
  // Colour by colour, since changing it costs more than filling a rectangle; those that were widened last, on top.
  for (const kind of ["other", "backing off", ...CAREFUL] as const) {
    const { head, body } = phaseColour(kind);
    const own = bands.filter((band) => band.kind === kind);
    ctx.fillStyle = head;
    for (const { a, b, wide } of own) ctx.fillRect(a, top - strip, b - a - (wide ? dpr : 0), strip - dpr);
    if (body === 0) continue;
    ctx.globalAlpha = body;
    for (const { a, b } of own) ctx.fillRect(a, top, b - a, height);
    ctx.globalAlpha = 1;
  }
  const wide = bands.filter((band) => band.wide);
  ctx.fillStyle = ink.line;
  for (const { a, begins } of wide) if (begins) ctx.fillRect(a, top, dpr, height);
  ctx.fillStyle = ink.text;
  for (const { a, b, name } of wide) {
    // Most bands are too narrow for any name, and measuring text is slow.
    const room = b - a - 2 * SIDE * dpr;
    const words = room < 12 * dpr ? undefined : [name, shortName(name)].find((n) => ctx.measureText(n).width <= room);
    if (words) ctx.fillText(words, a + SIDE * dpr, top - strip / 2);
  }
  ctx.restore();
}
