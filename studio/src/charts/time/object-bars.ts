import { h } from "../../page/dom.ts";
import { type Frame, font, type Surface } from "./frame.ts";
import { type Row, rowText, shortRowName, type Waterfall } from "./waterfall.ts";

/** Row heights in CSS pixels from which a row has its name beside it, and a gap below its bar. */
const NAMED = 10;
const APART = 4;

/** Space for a row's name, left of the plot. CSS pixels. */
const GUTTER = 70;

/** Opacity of an object that never completed. */
const UNDONE = 0.35;

/** Shortens a text with an ellipsis so that it fits. */
function cut(ctx: Surface, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  let n = text.length;
  while (n > 1 && ctx.measureText(`${text.slice(0, n)}…`).width > room) n--;
  return `${text.slice(0, n)}…`;
}

/** Draws a bar per object, the first at the top, with names at the left if rows are high enough. */
export function drawBars(f: Frame, { rows, kinds }: Waterfall, ink: string): void {
  const { ctx, dpr, left, top, width, height } = f;
  const row = height / rows.length;
  const gap = row >= APART * dpr ? Math.min(3 * dpr, Math.round(row * 0.22)) : 0;
  const x = (t: number): number =>
    left + Math.max(-1, Math.min(2, (t - f.x0) / (f.x1 - f.x0))) * width;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  // Kind by kind, as a change of colour costs more than a rectangle.
  for (const kind of kinds) {
    if (!kind.shown) continue;
    ctx.fillStyle = kind.colour();
    rows.forEach((r, i) => {
      if (r.kind !== kind || r.from > f.x1 || (r.to ?? f.x1) < f.x0) return;
      const from = x(r.from);
      // Short bars stay visible.
      const to = Math.max(x(r.to ?? f.x1), from + 1.5 * dpr);
      ctx.globalAlpha = r.to === null ? UNDONE : 1;
      ctx.fillRect(from, top + i * row + gap / 2, to - from, Math.max(dpr * 0.75, row - gap));
    });
  }
  ctx.restore();
  if (row >= NAMED * dpr) drawNames(f, rows, row, ink);
}

function drawNames({ ctx, dpr, left, top }: Frame, rows: Row[], row: number, ink: string): void {
  ctx.save();
  ctx.font = font(Math.min(11.5, row / dpr - 1.5), dpr);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  ctx.fillStyle = ink;
  const room = GUTTER * dpr;
  const whole = rows.map((r) => shortRowName(r.name));
  // The colour tells the kind, so all names lose their extensions first.
  const names = whole.every((n) => ctx.measureText(n).width <= room)
    ? whole
    : whole.map((n) => n.replace(/(.)\.[^.]*$/, "$1"));
  rows.forEach((r, i) => {
    ctx.globalAlpha = r.kind.shown ? 1 : 0.4;
    ctx.fillText(cut(ctx, names[i]!, room), left - 6 * dpr, top + (i + 0.5) * row);
  });
  ctx.restore();
}

/** Highlights the row under the pointer and describes it, above the canvas. */
export class RowPointer {
  readonly #band = h("div", { class: "row-band", hidden: true });
  readonly #tip = h("div", { class: "tip row-tip", hidden: true });
  readonly #rows: Row[];
  /** First row of each name. */
  readonly #byName = new Map<string, number>();

  constructor(
    waterfall: Waterfall,
    readonly over: HTMLElement,
    readonly t0: number,
  ) {
    this.#rows = waterfall.rows;
    waterfall.rows.forEach((r, i) => this.#byName.has(r.name) || this.#byName.set(r.name, i));
    over.append(this.#band, this.#tip);
  }

  /** The row at a height within the plot, in CSS pixels. */
  at(y: number): number {
    return Math.max(
      0,
      Math.min(this.#rows.length - 1, Math.floor((y / this.over.clientHeight) * this.#rows.length)),
    );
  }

  /** The name of a row. */
  name(i: number): string {
    return this.#rows[i]!.name;
  }

  /**
   * Highlights and describes a row, given by its index or by its name; null: none. `place` returns
   * the horizontal position of the text, in CSS pixels.
   */
  show(which: number | string | null, place: (row: Row) => number): void {
    const i = typeof which === "string" ? this.#byName.get(which) : (which ?? undefined);
    this.#band.hidden = this.#tip.hidden = i === undefined;
    if (i === undefined) return;
    const row = this.over.clientHeight / this.#rows.length;
    const top = i * row;
    this.#band.style.top = `${top}px`;
    this.#band.style.height = `${Math.max(2, row)}px`;
    this.#tip.textContent = rowText(this.#rows[i]!, this.t0);
    // The text goes below the row, or above it near the end of the plot.
    const { offsetHeight: high, offsetWidth: wide } = this.#tip;
    const below = top + row + 4;
    const { clientHeight, clientWidth } = this.over;
    const y = below + high > clientHeight ? Math.max(0, top - high - 4) : below;
    const x = Math.max(0, Math.min(place(this.#rows[i]!), clientWidth - wide));
    this.#tip.style.top = `${y}px`;
    this.#tip.style.left = `${x}px`;
  }
}
