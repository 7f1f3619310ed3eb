import { placeTip, svg } from "../../page/dom.ts";

/** How far from a spot the pointer may be, in CSS pixels. */
const NEAR = 18;

/** A place on a plot that has something to say: a run, or the median of a case. */
export interface Place {
  x: number;
  y: number;
  /** The line or row that it belongs to: arrow keys go along it. */
  row: number;
}

/** The index of the spot with the least distance, if one is within `most`; else -1. */
function nearest<S extends Place>(
  all: S[],
  distance: (spot: S) => number,
  most = Infinity,
): number {
  let best = -1;
  all.forEach((spot, i) => {
    if (distance(spot) < (best < 0 ? most : distance(all[best]!))) best = i;
  });
  return best;
}

/** The spot that an arrow key leads to from the spot `at`; -1 if the key is no arrow. */
function stepFrom(all: Place[], at: number, key: string): number {
  const from = all[at];
  const side = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
  if (side === undefined) return key === "Home" ? 0 : key === "End" ? all.length - 1 : -1;
  if (!from) return 0;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    // Spots in the same place follow each other in the order of the list.
    const along = all
      .map((spot, i) => ({ spot, i }))
      .filter(({ spot }) => spot.row === from.row)
      .sort((a, b) => a.spot.x - b.spot.x || a.i - b.i);
    return along[along.findIndex(({ i }) => i === at) + side]?.i ?? at;
  }
  const rows = [...new Set(all.map((spot) => spot.row))].sort((a, b) => a - b);
  const row = rows[rows.indexOf(from.row) + side];
  if (row === undefined) return at;
  return nearest(all, (s) => (s.row === row ? Math.abs(s.x - from.x) : Infinity));
}

/**
 * Describes the spot nearest to the pointer, or the one that arrow keys lead to, and chooses it on
 * a click or Enter.
 */
export function onSpots<S extends Place>(
  plot: SVGSVGElement,
  tip: HTMLElement,
  spots: () => S[],
  words: (spot: S) => string,
  choose: (spot: S) => void,
): void {
  const ring = svg("circle", { class: "spot-ring", r: 9 });
  let at = -1;
  const show = (index: number): S | undefined => {
    const spot = spots()[index];
    tip.hidden = !spot;
    plot.style.cursor = spot ? "pointer" : "";
    if (!spot) return;
    tip.textContent = words(spot);
    placeTip(tip, [spot.x, spot.y], plot.clientWidth, spot.y < 40 ? "12px" : "-120%");
    return spot;
  };
  const pointed = (event: MouseEvent): number => {
    const box = plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return nearest(spots(), (s) => Math.hypot(s.x - x, s.y - y), NEAR);
  };
  const leave = (): void => {
    ring.remove();
    tip.hidden = true;
  };
  const pick = (index: number): void => {
    const spot = spots()[index];
    if (spot) choose(spot);
  };
  // It is more than a picture: keys move in it.
  plot.setAttribute("tabindex", "0");
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-roledescription", "plot");
  tip.setAttribute("role", "status");
  plot.addEventListener("pointermove", (event) => show(pointed(event)));
  plot.addEventListener("pointerleave", () => (tip.hidden = true));
  plot.addEventListener("click", (event) => pick(pointed(event)));
  plot.addEventListener("blur", leave);
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") pick(at);
    if (event.key === "Escape") leave();
    const next = stepFrom(spots(), at, event.key);
    if (next < 0) return;
    event.preventDefault();
    at = next;
    const spot = show(at);
    if (!spot) return;
    ring.setAttribute("cx", String(spot.x));
    ring.setAttribute("cy", String(spot.y));
    plot.append(ring);
  });
}
