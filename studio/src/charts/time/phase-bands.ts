import { bandsIn, CAREFUL, type Phases, shortName } from "../../data/phases.ts";
import { phaseColour } from "../../format/palette.ts";
import { type Frame, font } from "./frame.ts";

/** Height of the strip above a plot that names the phases, in CSS pixels. */
export const STRIP = 19;

/** Widths in CSS pixels from which a band has a gap to its neighbour in the strip, and a name. */
const APART = 4;
const ROOMY = 20;

/** Space at each side of a name. */
const SIDE = 5;

/** Colours of the theme. */
export interface BandInk {
  text: string;
  line: string;
}

/**
 * Draws phases behind a plot: a strip above it with their names if they fit, and a tint below it
 * for phases of Careful Resume and phases that reduce the rate. A thin line marks where a phase
 * starts.
 */
export function drawBands(f: Frame, phases: Phases, ink: BandInk): void {
  const { ctx, dpr, left, top, width, height } = f;
  const strip = STRIP * dpr;
  ctx.save();
  ctx.font = font(11.5, dpr);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const bands = bandsIn(phases, f.x0, f.x1, width, dpr).map(({ from, to, name, kind }) => {
    const a = Math.round(left + from);
    // Short phases stay visible.
    const b = Math.min(
      left + width,
      Math.max(Math.round(left + to), a + (kind === "other" ? 0 : Math.ceil(dpr))),
    );
    return { a, width: b - a, begins: from > 0, name, kind };
  });
  // Kind by kind, as a change of colour costs more than a rectangle; the rarest come last, on top.
  for (const kind of ["other", "backing off", ...CAREFUL] as const) {
    const { head, body } = phaseColour(kind);
    const own = bands.filter((band) => band.kind === kind);
    ctx.fillStyle = head;
    for (const band of own)
      ctx.fillRect(
        band.a,
        top - strip,
        band.width - (band.width >= APART * dpr ? dpr : 0),
        strip - dpr,
      );
    if (body === 0) continue;
    ctx.globalAlpha = body;
    for (const band of own) ctx.fillRect(band.a, top, band.width, height);
    ctx.globalAlpha = 1;
  }
  // Most bands are too narrow for a name, and text is slow to measure.
  const wide = bands.filter((band) => band.width >= ROOMY * dpr);
  ctx.fillStyle = ink.line;
  for (const { a, begins } of wide) if (begins) ctx.fillRect(a, top, dpr, height);
  ctx.fillStyle = ink.text;
  for (const band of wide) {
    const room = band.width - 2 * SIDE * dpr;
    const words = [band.name, shortName(band.name)].find((n) => ctx.measureText(n).width <= room);
    if (words) ctx.fillText(words, band.a + SIDE * dpr, top - strip / 2);
  }
  ctx.restore();
}
