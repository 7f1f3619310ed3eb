import { memoised } from "./memoised.ts";
import type { Report, Run } from "./report.types.ts";

/** Values of the swept keys, as text. */
export type Point = Run["point"];

/** A point's identity: its entries sorted by key. */
export const pointKey = memoised((point: Point): string =>
  JSON.stringify(Object.entries(point).sort(([a], [b]) => (a < b ? -1 : 1))),
);

/**
 * A swept key in words: its last part, after "return" if it belongs to that direction. It has two
 * parts if another key ends in the same one, and the whole key if that does not tell them apart.
 */
export function keyLabel(key: string, among: string[]): string {
  const ends = (n: number): string => key.split(".").slice(-n).join(".");
  const rivals = (end: string): boolean =>
    among.some((other) => other !== key && `.${other}`.endsWith(`.${end}`));
  const own = rivals(ends(1)) || /\breturn\.\w+$/.test(key) ? ends(2) : ends(1);
  return (rivals(own) ? key : own.replace(".", " ")).replaceAll("_", " ");
}

/** Keys of tables that are abbreviations: those of capacity allocation (ETSI EN 301 545-2). */
const ABBREVIATIONS = /^(cra|rbdc|vbdc|avbdc|fca|aqm|mtu|rtt)$/;

/** A swept value in words: of a table such as `{ fca = true, rbdc = "2 Mbps" }`, its entries. */
export function valueWords(value: string): string {
  const inside = /^\{\s*(.*?)\s*\}$/.exec(value)?.[1];
  if (inside === undefined) return value.replace(/^"(.*)"$/, "$1");
  return inside
    .split(/,\s*(?=[\w.]+\s*=)/)
    .map((entry) => {
      const [key = "", text = ""] = entry.split(/\s*=\s*/, 2);
      const plain = text.replace(/^"(.*)"$/, "$1");
      if (key === "aqm") return plain;
      const name = ABBREVIATIONS.test(key) ? key.toUpperCase() : key.replaceAll("_", " ");
      return plain === "true" ? name : `${name} ${plain}`;
    })
    .join(", ");
}

/** A point in words. */
export function pointLabel(point: Point, keys = Object.keys(point)): string {
  return Object.entries(point)
    .map(([key, value]) => `${keyLabel(key, keys)} ${valueWords(value)}`)
    .join(", ");
}

/** True if `whole` has every entry of `part`. */
export function within(part: Point, whole: Point): boolean {
  return Object.entries(part).every(([key, value]) => whole[key] === value);
}

/** Sweep points in order of appearance. */
export const pointsOf = memoised((report: Pick<Report, "runs" | "summary">): Point[] => {
  const all = [...report.runs, ...report.summary].map(({ point }) => point);
  const seen = new Map<string, Point>();
  for (const point of all) if (!seen.has(pointKey(point))) seen.set(pointKey(point), point);
  return [...seen.values()];
});
