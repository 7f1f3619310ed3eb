import { keyLabel, pointKey, pointLabel } from "./points.ts";
import type { Point } from "./schema.ts";

/** Units of quantities: what they measure, and their size in the smallest unit. */
const UNITS: Record<string, [kind: string, factor: number]> = {
  "": ["number", 1],
  "%": ["ratio", 1],
  ns: ["time", 1e-9],
  us: ["time", 1e-6],
  µs: ["time", 1e-6],
  ms: ["time", 1e-3],
  s: ["time", 1],
  min: ["time", 60],
  h: ["time", 3600],
  d: ["time", 86_400],
  b: ["size", 1],
  byte: ["size", 1],
  bytes: ["size", 1],
  kb: ["size", 1e3],
  mb: ["size", 1e6],
  gb: ["size", 1e9],
  tb: ["size", 1e12],
  kib: ["size", 2 ** 10],
  mib: ["size", 2 ** 20],
  gib: ["size", 2 ** 30],
  bps: ["rate", 1],
  kbps: ["rate", 1e3],
  mbps: ["rate", 1e6],
  gbps: ["rate", 1e9],
  bdp: ["BDP", 1],
  packet: ["packets", 1],
  packets: ["packets", 1],
};

/** Reads a swept value as a number with a unit; null for names, such as a profile's. */
export function quantity(text: string): { value: number; kind: string } | null {
  const m = /^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%|[a-zµ/]*)\s*$/i.exec(text);
  const unit = m && m[2]!.toLowerCase();
  if (!m || unit === null || !Object.hasOwn(UNITS, unit)) return null;
  const [kind, factor] = UNITS[unit]!;
  return { value: Number(m[1]) * factor, kind };
}

/** The values of a key as numbers of one kind (a bare 0 is of any kind), or null. */
export function quantities(values: string[]): number[] | null {
  const all = values.map(quantity);
  if (all.some((q) => q === null)) return null;
  const kinds = new Set(
    all.flatMap((q) => (q!.value === 0 && q!.kind === "number" ? [] : [q!.kind])),
  );
  return kinds.size <= 1 ? all.map((q) => q!.value) : null;
}

/** The layout of a sweep: the key on the axis, and a panel per combination of the others. */
export interface Sweep {
  key: string;
  name: string;
  /** The values on the axis: numbers in ascending order, names as given. */
  values: { text: string; number: number | null }[];
  /** True if the values span more than a decade. A zero then stands left of a gap. */
  log: boolean;
  panels: { key: string; label: string; points: (Point | null)[] }[];
}

/** Lays a sweep out: the axis has the quantity with most values, or else the key with most. */
export function sweepOf(sweep: { key: string; values: string[] }[], points: Point[]): Sweep | null {
  const keys = sweep.map((s) => {
    const values = [...new Set([...s.values, ...points.flatMap((p) => p[s.key] ?? [])])].filter(
      (v) => points.some((p) => p[s.key] === v),
    );
    return { key: s.key, values, numbers: quantities(values) };
  });
  const varied = keys.filter((k) => k.values.length > 1);
  const most = (list: typeof keys): (typeof keys)[number] | undefined =>
    [...list].sort((a, b) => b.values.length - a.values.length)[0];
  const x = most(varied.filter((k) => k.numbers)) ?? most(varied);
  if (!x) return null;
  const values = x.values.map((text, i) => ({ text, number: x.numbers?.[i] ?? null }));
  if (x.numbers) values.sort((a, b) => a.number! - b.number!);
  const positive = x.numbers?.filter((v) => v > 0) ?? [];
  const log =
    positive.length > 1 &&
    !x.numbers!.some((v) => v < 0) &&
    Math.max(...positive) / Math.min(...positive) > 10;
  const others = varied.filter((k) => k !== x).map((k) => k.key);
  const panels = new Map<string, Sweep["panels"][number]>();
  for (const point of points) {
    const rest: Point = Object.fromEntries(
      others.flatMap((k) => (point[k] === undefined ? [] : [[k, point[k]]])),
    );
    const key = pointKey(rest);
    const panel = panels.get(key) ?? {
      key,
      label: pointLabel(
        rest,
        keys.map((k) => k.key),
      ),
      points: values.map(() => null),
    };
    panels.set(key, panel);
    const at = values.findIndex((v) => v.text === point[x.key]);
    if (at >= 0) panel.points[at] = point;
  }
  return {
    key: x.key,
    name: keyLabel(
      x.key,
      sweep.map((s) => s.key),
    ),
    values,
    log,
    panels: [...panels.values()],
  };
}

/** The points in reading order: along the axis, with the panels of each value side by side. */
export function inOrder(sweep: Sweep | null, points: Point[]): Point[] {
  if (!sweep) return points;
  const out = sweep.values.flatMap((_, i) =>
    sweep.panels.flatMap((p): Point[] => (p.points[i] ? [p.points[i]] : [])),
  );
  return out.length === points.length ? out : points;
}
