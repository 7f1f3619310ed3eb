import {
  type Causes,
  causeBands,
  partsIn,
  type Share,
  sharesAt,
  type TimePart,
} from "../../data/time-budget.ts";
import { percent, seconds } from "../../format/numbers.ts";
import { partColour } from "../../format/palette.ts";
import { type Child, h, replace } from "../../page/dom.ts";
import type { Frame } from "./frame.ts";

/** Height of the strip below a plot, and of the gap above it, in CSS pixels. */
export const CAUSE_STRIP = 10;
const GAP = 2;

/** Space that the strip takes between a plot and its time axis, in CSS pixels. */
export const CAUSE_ROOM = CAUSE_STRIP + GAP;

/** Most parts that a text names, and the smallest share that it names. */
const NAMED = 4;
const SMALLEST = 0.01;

/** Draws below a plot what most of the time was spent on. */
export function drawCauses(f: Frame, causes: Causes): void {
  const { ctx, dpr, left, top, width, height } = f;
  const y = top + height + GAP * dpr;
  for (const { from, to, part } of causeBands(causes, f.x0, f.x1, Math.round(width))) {
    ctx.fillStyle = partColour(part);
    ctx.fillRect(Math.round(left) + from, y, to - from, CAUSE_STRIP * dpr);
  }
}

const named = (shares: Share[]): Share[] =>
  shares.filter(({ share }) => share >= SMALLEST).slice(0, NAMED);

/** The shares of a moment in a few words. */
export function sharesText(shares: Share[]): string {
  return named(shares)
    .map(({ part, share }) => `${percent(Math.round(share * 100) / 100)} ${part.words}`)
    .join(", ");
}

const block = (part: TimePart): HTMLElement =>
  h("i", { class: "block", style: `background: ${partColour(part)}` });

/** The legend of the strip, with the shares at the cursor. */
export function causeLegend(causes: Causes): { el: HTMLElement; at: (time: number) => string } {
  const out = h("output", {});
  const el = h(
    "div",
    { class: "chips-row causes" },
    h("span", { class: "chip fixed" }, "strip: time spent on"),
    partsIn(causes).map((part) =>
      h("span", { class: "chip fixed", title: part.about }, block(part), h("span", {}, part.label)),
    ),
    out,
  );
  const at = (time: number): string => sharesText(sharesAt(causes, time));
  return { el, at };
}

/** Says what the time was spent on where the pointer is on the strip. */
export class CausePointer {
  readonly #strip = h("div", { class: "cause-hit", style: `height: ${CAUSE_ROOM + 2}px` });
  readonly #tip = h("div", { class: "tip cause-tip", hidden: true });

  constructor(
    readonly causes: Causes,
    readonly over: HTMLElement,
    readonly t0: number,
  ) {
    over.append(this.#strip, this.#tip);
  }

  /** Shows the tip at a time of the run if the pointer is on the strip. */
  show(event: PointerEvent | null, time: number): void {
    const shares = event?.target === this.#strip ? sharesAt(this.causes, time) : [];
    const most = shares[0];
    this.#tip.hidden = !most;
    if (!event || !most) return;
    const rows = named(shares).map(
      ({ part, share }): Child =>
        h("span", {}, block(part), `${part.label} ${percent(Math.round(share * 100) / 100)}`),
    );
    replace(
      this.#tip,
      h("b", {}, `At ${seconds(time - this.t0)}`),
      h("span", { class: "shares" }, rows),
      h("span", {}, most.part.about),
    );
    const { clientWidth } = this.over;
    const x = event.clientX - this.over.getBoundingClientRect().left;
    const left = Math.max(0, Math.min(x - 40, clientWidth - this.#tip.offsetWidth));
    this.#tip.style.left = `${left}px`;
  }
}
