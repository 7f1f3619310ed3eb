/** Draws lines over an axis, with names at their ends; a part can be looked at closer. */
import { type Axis, axis, drawXAxis, drawYAxis } from "../../charts/static/axes.ts";
import { markerPath } from "../../charts/static/marks.ts";
import { type Scale, shortest } from "../../format/numbers.ts";
import { variantColour, variantDash } from "../../format/palette.ts";
import { h, onWidth, placeTip, svg } from "../../page/dom.ts";
import type { Curve, LinePicture } from "./curve.ts";

/** Height of the drawing, and room around the lines, in CSS pixels. */
const HEIGHT = 286;
const [LEFT, TOP, BOTTOM] = [64, 12, 40];
/** Distance of names at the ends of lines. */
const LINE = 15;
/** Factor of one step of zooming. */
const STEP = 1.5;

type Range = [number, number];

/** The drawing. */
export class LinesPlot {
  readonly element: HTMLElement;
  readonly #plot = svg("svg", { class: "plot", height: HEIGHT });
  readonly #tip = h("div", { class: "tip", hidden: true });
  readonly #zoomed: () => void;
  #picture: LinePicture | null = null;
  #width = 0;
  #view: Range | null = null;
  #x: Axis = axis(0, 1, 0, 1);

  /** `zoomed` is called when another part is shown. */
  constructor(zoomed: () => void) {
    this.#zoomed = zoomed;
    this.element = h(
      "div",
      {
        class: "lines-plot",
        tabindex: 0,
        role: "group",
        keydown: (event: KeyboardEvent) => this.#key(event),
      },
      this.#plot,
      this.#tip,
    );
    onWidth(this.element, (width) => {
      this.#width = width;
      this.#draw();
    });
    this.#listen();
  }

  /** The part that is shown; null: all. */
  get view(): Range | null {
    return this.#view;
  }

  set view(view: Range | null) {
    this.#view = view;
    this.#draw();
    this.#zoomed();
  }

  /** Shows other lines. The part that is looked at stays. */
  show(picture: LinePicture): void {
    // Another axis has other parts.
    if (this.#picture && this.#picture.x.label !== picture.x.label) this.#view = null;
    this.#picture = picture;
    this.#draw();
  }

  get #full(): Range {
    const { curves, x } = this.#picture!;
    const firsts = curves.map((curve) => curve.x[0]!);
    const lasts = curves.map((curve) => curve.x[curve.x.length - 1]!);
    if (x.names) return [-0.3, x.names.length - 0.7];
    const hi = Math.max(...lasts);
    // Time begins at zero.
    const lo = x.label === "time" ? Math.min(0, ...firsts) : Math.min(...firsts);
    return hi > lo ? [lo, hi] : [lo - 1, lo + 1];
  }

  #draw(): void {
    const picture = this.#picture;
    if (!picture || this.#width < 40) return;
    const { x, y, curves } = picture;
    const view = this.#view ?? this.#full;
    const longest = Math.max(...curves.map((c) => Math.max(c.name.length, c.end.length)), 4);
    const right = this.#width - Math.min(this.#width * 0.3, 18 + 7 * longest);
    const values = curves.flatMap((curve) => extremes(curve, view));
    const least = Math.min(...values, Number.POSITIVE_INFINITY);
    const most = Math.max(...values, 0) || 1;
    // Zero is where things begin, but for an RTT that never comes near to it.
    const base = y.log ? least : least > 0.6 * most ? least - (most - least) * 0.2 || 0 : 0;
    const xs = axis(...view, LEFT, right, x.log);
    const ys = axis(
      base,
      y.log ? most * 1.1 : base + (most - base) * 1.06,
      HEIGHT - BOTTOM,
      TOP,
      y.log,
    );
    this.#x = xs;
    const clip = svg("clipPath", { id: "picture-clip" });
    clip.append(
      svg("rect", { x: LEFT - 1, y: 0, width: right - LEFT + 2, height: HEIGHT - BOTTOM + 1 }),
    );
    const plot = this.#plot;
    plot.setAttribute("width", String(this.#width));
    this.element.setAttribute("aria-label", describe(picture));
    plot.replaceChildren(clip);
    drawYAxis(plot, ys, LEFT, right, y.scale);
    if (x.names) {
      const middle = { y: HEIGHT - BOTTOM + 15, "text-anchor": "middle", class: "tick" };
      x.names.forEach((name, i) =>
        plot.append(svg("text", { ...middle, x: xs.px(i) }, name.slice(0, 16))),
      );
    } else drawXAxis(plot, xs, TOP, HEIGHT - BOTTOM, x.scale);
    plot.append(
      svg("text", { class: "caption", x: right, y: HEIGHT - 6, "text-anchor": "end" }, x.label),
    );
    const inside = svg("g", { "clip-path": "url(#picture-clip)" });
    for (const curve of curves) inside.append(...drawCurve(curve, xs, ys));
    plot.append(inside, ...drawEnds(curves, view, right, ys));
  }

  #listen(): void {
    const plot = this.#plot;
    let from: number | null = null;
    const band = svg("rect", { class: "zoom-band", y: TOP, height: HEIGHT - TOP - BOTTOM });
    const at = (event: PointerEvent): number => event.clientX - plot.getBoundingClientRect().left;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = at(event);
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => {
      const to = at(event);
      if (from === null) {
        this.#point(to);
        return;
      }
      band.setAttribute("x", String(Math.min(from, to)));
      band.setAttribute("width", String(Math.abs(to - from)));
      if (!band.isConnected) plot.append(band);
    });
    plot.addEventListener("pointerup", (event) => {
      const [a, b] = [Math.min(from ?? 0, at(event)), Math.max(from ?? 0, at(event))];
      from = null;
      band.remove();
      if (b - a >= 6 && !this.#picture?.x.names) this.view = [this.#value(a), this.#value(b)];
    });
    plot.addEventListener("pointercancel", () => {
      from = null;
      band.remove();
    });
    plot.addEventListener("dblclick", () => {
      this.view = null;
    });
    plot.addEventListener("pointerleave", () => this.#point(null));
  }

  /** The value of the axis at a place. */
  #value(px: number): number {
    const { lo, hi, log } = this.#x;
    const share = (px - this.#x.px(lo)) / (this.#x.px(hi) - this.#x.px(lo));
    const inside = Math.min(1, Math.max(0, share));
    return log ? lo * (hi / lo) ** inside : lo + (hi - lo) * inside;
  }

  /** Says what the lines are at a place; null: nothing. */
  #point(px: number | null): void {
    const picture = this.#picture;
    this.#plot.querySelector(".picture-cursor")?.remove();
    const at = px === null || !picture || px < LEFT ? null : this.#value(px);
    this.#tip.hidden = at === null;
    if (at === null || !picture) return;
    const { x, y, curves } = picture;
    const place = x.names ? (x.names[Math.round(at)] ?? "") : valueWords(at, x.scale);
    const rows = curves
      .map((curve) => ({ curve, value: valueAt(curve, at) }))
      .filter(({ value }) => value !== null)
      .map(({ curve, value }) => {
        const name = curve.isGhost ? `${curve.name}, pinned` : curve.name;
        return `${name}: ${valueWords(value!, y.scale)}`;
      });
    this.#tip.textContent = [place, ...rows].join("\n");
    const line = Math.round(this.#x.px(at)) + 0.5;
    this.#plot.append(
      svg("line", { class: "picture-cursor", x1: line, x2: line, y1: TOP, y2: HEIGHT - BOTTOM }),
    );
    placeTip(this.#tip, [line, 8], this.#width, "0");
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#picture) return;
    if (this.#picture.x.names || this.#picture.x.log) return;
    const full = this.#full;
    const [a, b] = this.#view ?? full;
    const moved = (from: number, to: number): void => {
      const span = Math.min(to - from, full[1] - full[0]);
      const start = Math.min(Math.max(from, full[0]), full[1] - span);
      this.view = [start, start + span];
    };
    const [middle, half] = [(a + b) / 2, (b - a) / 2];
    const acts: Record<string, () => void> = {
      ArrowLeft: () => moved(a - half / 3, b - half / 3),
      ArrowRight: () => moved(a + half / 3, b + half / 3),
      "+": () => moved(middle - half / STEP, middle + half / STEP),
      "-": () => moved(middle - half * STEP, middle + half * STEP),
      "0": () => {
        this.view = null;
      },
    };
    const act = Object.hasOwn(acts, event.key) ? acts[event.key] : undefined;
    if (!act) return;
    event.preventDefault();
    act();
  }
}

const valueWords = (value: number, { unit, divisor }: Scale): string =>
  `${shortest(value / divisor)} ${unit}`.trim();

/** The last index whose place is not after `at`; -1 if all are. */
function indexAt({ x }: Curve, at: number): number {
  let [a, b] = [0, x.length];
  while (a < b) {
    const middle = (a + b) >>> 1;
    if (x[middle]! <= at) a = middle + 1;
    else b = middle;
  }
  return a - 1;
}

function valueAt(curve: Curve, at: number): number | null {
  const { x, y, isStep, hasMarks } = curve;
  const i = indexAt(curve, at);
  const last = x.length - 1;
  if (hasMarks) {
    // The nearest one that was measured.
    const next = Math.min(last, i + 1);
    const near = i < 0 || Math.abs(x[next]! - at) < Math.abs(x[i]! - at) ? next : i;
    return y[near] ?? null;
  }
  if (i < 0 || (i === last && !isStep && at > x[last]!)) return null;
  return y[i] ?? null;
}

/** Smallest and largest value of a line in a range. */
function extremes(curve: Curve, [a, b]: Range): number[] {
  const from = Math.max(0, indexAt(curve, a));
  const to = Math.max(from, indexAt(curve, b));
  let [lo, hi] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = from; i <= to && i < curve.y.length; i++) {
    const y = curve.y[i]!;
    if (y < lo) lo = y;
    if (y > hi) hi = y;
  }
  return hi >= lo ? [lo, hi] : [];
}

/** A line, of at most four points for each pixel, and its marks. */
function drawCurve(curve: Curve, xs: Axis, ys: Axis): SVGElement[] {
  const { x, y, index, isGhost, isStep, hasMarks } = curve;
  const from = Math.max(0, indexAt(curve, xs.lo));
  const to = Math.min(x.length - 1, indexAt(curve, xs.hi) + 1);
  let d = "";
  let column = Number.NaN;
  let [lo, hi, last] = [0, 0, 0];
  const flush = (): void => {
    if (lo !== hi) d += `V${lo.toFixed(1)}V${hi.toFixed(1)}`;
    d += `V${last.toFixed(1)}`;
  };
  for (let i = from; i <= to; i++) {
    const px = Math.round(xs.px(x[i]!) * 2) / 2;
    const py = ys.px(y[i]!);
    if (px === column) {
      [lo, hi, last] = [Math.min(lo, py), Math.max(hi, py), py];
      continue;
    }
    if (d === "") d = `M${px},${py.toFixed(1)}`;
    else {
      flush();
      d += isStep ? `H${px}V${py.toFixed(1)}` : `L${px},${py.toFixed(1)}`;
    }
    [column, lo, hi, last] = [px, py, py, py];
  }
  if (d !== "") flush();
  const colour = variantColour(index);
  const dash = isGhost ? "5 4" : variantDash(index).join(" ");
  const line = svg("path", {
    class: isGhost ? "picture-line ghost" : "picture-line",
    d,
    stroke: colour,
    "stroke-dasharray": dash || null,
  });
  if (!hasMarks) return [line];
  const marks = Array.from({ length: x.length }, (_, i) =>
    svg("path", {
      class: isGhost ? "picture-mark ghost" : "picture-mark",
      d: markerPath(index, isGhost ? 4 : 5),
      fill: colour,
      transform: `translate(${xs.px(x[i]!).toFixed(1)},${ys.px(y[i]!).toFixed(1)})`,
    }),
  );
  return [line, ...marks];
}

/** Names at the ends of the lines, moved apart; those of the pinned run have none. */
function drawEnds(curves: Curve[], view: Range, right: number, ys: Axis): SVGElement[] {
  const ends = curves
    .filter(({ isGhost }) => !isGhost)
    .map((curve) => ({ curve, y: endOf(curve, view, ys) }))
    .sort((a, b) => a.y - b.y);
  const height = (curve: Curve): number => (curve.end ? 2 : 1) * LINE;
  let free = TOP;
  for (const end of ends) {
    end.y = Math.max(end.y, free);
    free = end.y + height(end.curve) + 3;
  }
  let below = HEIGHT - BOTTOM + 4;
  for (const end of [...ends].reverse()) {
    end.y = Math.min(end.y, below - height(end.curve));
    below = end.y - 3;
  }
  return ends.flatMap(({ curve, y }) => {
    const at = { x: right + 10, "text-anchor": "start" };
    const name = svg(
      "text",
      { ...at, y: y + 11, class: "end-name", style: `fill: ${variantColour(curve.index)}` },
      curve.name,
    );
    return curve.end
      ? [name, svg("text", { ...at, y: y + 11 + LINE, class: "end-value" }, curve.end)]
      : [name];
  });
}

/** Top of the name of a line, at the height at which it leaves the picture. */
function endOf(curve: Curve, view: Range, ys: Axis): number {
  const i = Math.max(0, Math.min(curve.y.length - 1, indexAt(curve, view[1])));
  return ys.px(Math.min(ys.hi, Math.max(ys.lo, curve.y[i]!))) - LINE;
}

function describe({ title, curves, x }: LinePicture): string {
  const ends = curves
    .filter(({ isGhost }) => !isGhost)
    .map(({ name, end }) => `${name} ${end}`.trim());
  return `${title} by ${x.label}: ${ends.join("; ")}. Plus and minus zoom, 0 shows all.`;
}
