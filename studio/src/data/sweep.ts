import { keyLabel, type Point, pointKey, pointLabel, valueWords } from "./points.ts";
import type { Report } from "./report.types.ts";

/** A swept key and its values. */
type Axis = Report["sweep"][number];

/** Numbers with one unit that has no base unit here, such as "0.5 BDP" and "20 packets". */
function ofOneUnit(values: string[]): number[] | null {
  const parts = values.map((text) => /^([-+]?[\d.]+)\s*(\D*)$/.exec(text));
  const units = new Set(parts.map((p) => p?.[2]));
  const numbers = parts.map((p) => Number(p?.[1]));
  return units.size === 1 && numbers.every(Number.isFinite) ? numbers : null;
}

/**
 * Some values of a key as numbers: those that the report gives, in base units, or else those of one
 * unit; null for names.
 */
export function numbersOf(axis: Axis, values = axis.values): number[] | null {
  const known = new Map(axis.values.map((text, i) => [text, axis.numbers[i] ?? null]));
  const given = values.flatMap((text) => known.get(text) ?? []);
  return given.length === values.length ? given : ofOneUnit(values);
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
export function sweepOf(sweep: Axis[], points: Point[]): Sweep | null {
  const keys = sweep.map((s) => {
    const values = [...new Set([...s.values, ...points.flatMap((p) => p[s.key] ?? [])])].filter(
      (v) => points.some((p) => p[s.key] === v),
    );
    return { key: s.key, values, numbers: numbersOf(s, values) };
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
    values: values.map((v) => ({ ...v, text: valueWords(v.text) })),
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
