/** What differs between the settings of two texts, and how that is said. */
import { plural } from "../format/numbers.ts";
import type { Change, Setting } from "./api.ts";

/** Largest number of changes that are named. */
const MAX_CHANGES = 8;
/** Changes that fit in a line. */
const IN_LINE = 3;

/** What differs from the settings `old` to the settings `fresh`, up to a number. */
export function changesBetween(old: Setting[], fresh: Setting[]): Change[] {
  const [before, after] = [old, fresh].map((of) => new Map(of.map((one) => [one.key, one.value])));
  const keys = [...new Set([...before!.keys(), ...after!.keys()])];
  return keys
    .filter((key) => before!.get(key) !== after!.get(key))
    .slice(0, MAX_CHANGES)
    .map((key) => ({ key, from: before!.get(key) ?? null, to: after!.get(key) ?? null }));
}

/** A change in words: "path.rtt 650 ms → 100 ms". */
function changeWords({ key, from, to }: Change): string {
  const short = key.replace(/^(workload|path)\./, "");
  if (from === null) return `${short} = ${to}`;
  return to === null ? `without ${short}` : `${short} ${from} → ${to}`;
}

/** Some changes in a line; empty if there are none. */
export function changesLine(changes: Change[]): string {
  const rest = changes.length - IN_LINE;
  const more = rest > 0 ? [`${plural(rest, "more change")}`] : [];
  return [...changes.slice(0, IN_LINE).map(changeWords), ...more].join(", ");
}
