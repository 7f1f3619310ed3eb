import { gallop, lowerBound } from "./pyramid.ts";

/** Phases of Careful Resume, each with a colour of its own. */
export const CAREFUL = ["reconnaissance", "unvalidated", "validating", "safe retreat"] as const;

/**
 * How a phase is shown: a phase of Careful Resume by name, others by whether they reduce the rate.
 */
export type PhaseKind = (typeof CAREFUL)[number] | "backing off" | "other";

/** Phases of controllers that reduce the rate. */
const BACKING_OFF = new Set(["recovery", "drain", "settle", "probe rtt", "probe bw: down"]);

/**
 * Phases of one sender's congestion control, in order of time. Each lasts until the next one, the
 * last until `end`. No two neighbours are the same.
 */
export interface Phases {
  t: Float64Array;
  names: string[];
  end: number;
  /**
   * For each phase, the index of the next phase of Careful Resume, itself included, or their
   * number.
   */
  careful: Uint32Array;
  /** For each phase, the index of the next phase of another family, or their number. */
  familyEnd: Uint32Array;
}

/** A piece of the time axis, in pixels from the left of the window. */
export interface Band {
  from: number;
  to: number;
  /** Name of the phase; of merged phases, what their names have in common. */
  name: string;
  kind: PhaseKind;
  /** True if it stands for several phases. */
  merged: boolean;
}

/** The part before the colon: "probe bw" of "probe bw: up". */
function family(name: string): string {
  return name.split(":", 1)[0]!;
}

/** The part after the colon, for narrow bands: "up" of "probe bw: up". */
export function shortName(name: string): string {
  return name.slice(name.indexOf(":") + 1).trim();
}

/** How a phase is shown. */
export function kindOf(name: string): PhaseKind {
  const own = CAREFUL.find((c) => c === name);
  return own ?? (BACKING_OFF.has(name) ? "backing off" : "other");
}

/** Orders the phases of a trace, whose series end at `end`; null if it has none. */
export function phasesOf(
  entries: readonly { t_s: number; label: string }[],
  end: number,
): Phases | null {
  const t: number[] = [];
  const names: string[] = [];
  for (const { t_s, label } of [...entries].sort((a, b) => a.t_s - b.t_s)) {
    // Of several phases at one instant only the last one lasts.
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
 * The phases of [x0, x1] on `width` pixels. Phases shorter than `least` pixels are merged with
 * those that follow within them, so that the work depends on pixels rather than phases. A phase of
 * Careful Resume gives merged phases its name: it may be short, and readers look for it.
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
      // The last phase within these pixels has its own band if it is long enough.
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
