import { gallop, lowerBound } from "./pyramid.ts";

/** Phases that are told apart by colour; every other one is a shade of grey. */
export const CAREFUL = ["reconnaissance", "unvalidated", "validating", "safe retreat"] as const;

/** How a phase is shown: one of Careful Resume by its name, others by whether the sender holds back in them. */
export type PhaseKind = (typeof CAREFUL)[number] | "backing off" | "other";

/** The controllers' own phases in which they send less than they did; other names need no list. */
const BACKING_OFF = new Set(["recovery", "drain", "settle", "probe rtt", "probe bw: down"]);

/**
 * What the congestion control of one sender was doing, in order of time: each phase lasts until the next, the last one
 * until `end`. No two neighbours are the same.
 */
export interface Phases {
  t: Float64Array;
  names: string[];
  end: number;
  /** For each phase, the index of the next one that belongs to Careful Resume, itself included; their number if none does. */
  careful: Uint32Array;
  /** For each phase, the index of the next one of another family; their number if there is none. */
  familyEnd: Uint32Array;
}

/** A piece of the time axis, in pixels from the left of the window. */
export interface Band {
  from: number;
  to: number;
  /** The phase; where several are too short to be drawn, what they have in common, which may be nothing. */
  name: string;
  kind: PhaseKind;
  /** Several phases in one. */
  merged: boolean;
}

/** What comes before the colon: "probe bw" of "probe bw: up". */
function family(name: string): string {
  return name.split(":", 1)[0]!;
}

/** What comes after the colon, for where there is little room: "up" of "probe bw: up". */
export function shortName(name: string): string {
  return name.slice(name.indexOf(":") + 1).trim();
}

/** How a phase is shown. */
export function kindOf(name: string): PhaseKind {
  const own = CAREFUL.find((c) => c === name);
  return own ?? (BACKING_OFF.has(name) ? "backing off" : "other");
}

/** Orders what a trace says about phases; `end` is where its series end. Null where it says nothing. */
export function phasesOf(
  entries: readonly { t_s: number; label: string }[],
  end: number,
): Phases | null {
  const t: number[] = [];
  const names: string[] = [];
  for (const { t_s, label } of [...entries].sort((a, b) => a.t_s - b.t_s)) {
    // Of several at one instant, all but the last took no time.
    if (t.at(-1) === t_s) {
      t.pop();
      names.pop();
    }
    if (names.at(-1) === label) continue;
    t.push(t_s);
    names.push(label);
  }
  const n = t.length;
  if (n === 0) return null;
  const careful = new Uint32Array(n);
  const familyEnd = new Uint32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    const kind = kindOf(names[i]!);
    careful[i] = kind !== "backing off" && kind !== "other" ? i : i + 1 < n ? careful[i + 1]! : n;
    familyEnd[i] =
      i + 1 < n && family(names[i + 1]!) === family(names[i]!) ? familyEnd[i + 1]! : i + 1;
  }
  return { t: Float64Array.from(t), names, end: Math.max(end, t[n - 1]!), careful, familyEnd };
}

/** Index of the phase at a time, or -1 before the first and after the end. */
function indexAt({ t, end }: Phases, time: number): number {
  if (time > end) return -1;
  const i = lowerBound(t, time);
  return t[i] === time ? i : i - 1;
}

/** Name of the phase at a time; empty before the first and after the end. */
export function phaseAt(p: Phases, time: number): string {
  return p.names[indexAt(p, time)] ?? "";
}

/** The kinds that occur, those of Careful Resume first, in its order. */
export function kindsIn(p: Phases): PhaseKind[] {
  const seen = new Set(p.names.map(kindOf));
  return [...CAREFUL, "backing off" as const, "other" as const].filter((k) => seen.has(k));
}

/**
 * The phases of [x0, x1] on `width` pixels. What is shorter than `least` pixels is merged with what follows within
 * them, so the work goes with the pixels and not with the phases. A phase of Careful Resume among merged ones gives
 * them its name: it may last a few packets only and is what a reader looks for.
 */
export function bandsIn(p: Phases, x0: number, x1: number, width: number, least = 1): Band[] {
  const out: Band[] = [];
  if (!(x1 > x0)) return out;
  const { t, names, end } = p;
  const n = t.length;
  const scale = width / (x1 - x0);
  const pixel = (i: number): number =>
    Math.max(0, Math.min(width, ((i < n ? t[i]! : end) - x0) * scale));
  let i = Math.max(0, indexAt(p, Math.min(x0, end)));
  while (i < n && t[i]! < x1) {
    const from = pixel(i);
    let next = i + 1;
    if (pixel(next) - from < least) {
      next = Math.max(next, gallop(t, x0 + (from + least) / scale, i));
      // The last that begins within these pixels has its own band if it is long enough.
      if (next > i + 1 && pixel(next) - pixel(next - 1) >= least) next--;
    }
    const merged = next > i + 1;
    const first = names[i]!;
    const name = !merged
      ? first
      : p.careful[i]! < next
        ? names[p.careful[i]!]!
        : p.familyEnd[i]! >= next
          ? family(first)
          : "";
    const to = pixel(next);
    const before = out.at(-1);
    if (merged && before?.merged && before.name === name) before.to = to;
    else if (to > from) out.push({ from, to, name, kind: kindOf(name), merged });
    i = next;
  }
  return out;
}
