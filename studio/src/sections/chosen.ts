import { baselineOf } from "../answer/comparison.ts";
import { SETTINGS } from "../answer/differs.ts";
import { memoised } from "../data/memoised.ts";
import type { Report } from "../data/report.types.ts";
import { partOf } from "../data/shown.ts";
import type { State } from "../page/state.ts";

/** Most values of a key by which variants can be told apart, and most keys offered. */
const MOST_VALUES = 16;
const MOST_FACETS = 5;

/** What each variant sets, by the last part of a key: the scenario's keys, or its settings. */
const settingsOf = memoised((report: Report): Record<string, string>[] => {
  const own = report.variant_keys;
  if (own?.length === report.variants.length)
    return own.map((keys) =>
      Object.fromEntries(Object.entries(keys).map(([k, v]) => [k.split(".").at(-1)!, v])),
    );
  return report.variants.map((name) => {
    const flow = report.variant_settings.find((v) => v.name === name)?.flows[0];
    const known = SETTINGS.flatMap(([key]) => (flow?.[key] ? [[key, flow[key]]] : []));
    return Object.fromEntries(known) as Record<string, string>;
  });
});

/** Keys in which variants differ, with their values: few enough to choose from. */
export const facetsOf = memoised((report: Report): { key: string; values: string[] }[] => {
  const all = settingsOf(report);
  const keys = [...new Set(all.flatMap((own) => Object.keys(own)))];
  return keys
    .map((key) => ({ key, values: [...new Set(all.flatMap((own) => own[key] ?? []))] }))
    .filter(({ key, values }) => values.length > (all.every((own) => own[key]) ? 1 : 0))
    .filter(({ values }) => values.length <= MOST_VALUES && values.length < all.length)
    .slice(0, MOST_FACETS);
});

/** The words of a search: `key=value`, in quotation marks if the value has spaces, or a text. */
const wordsIn = (find: string): string[] => find.match(/[^\s="]+=(?:"[^"]*"|\S+)|\S+/g) ?? [];

/** The word for a key and its value. */
const facetWord = (key: string, value: string): string =>
  `${key}=${/\s/.test(value) ? `"${value}"` : value}`;

/** The value that a search names for a key; "" for none. */
export const facetIn = (find: string, key: string): string =>
  wordsIn(find)
    .find((word) => word.startsWith(`${key}=`))
    ?.slice(key.length + 1)
    .replaceAll('"', "") ?? "";

/** A search with another value for a key; "" takes the key out. */
export const withFacet = (find: string, key: string, value: string): string =>
  [
    ...wordsIn(find).filter((word) => !word.startsWith(`${key}=`)),
    ...(value ? [facetWord(key, value)] : []),
  ].join(" ");

/** The indices of the variants that a search finds: each word is in the name or a setting. */
export function found(report: Report, find: string): number[] {
  const words = wordsIn(find);
  const facets = facetsOf(report);
  return report.variants.flatMap((name, i) => {
    const own = settingsOf(report)[i]!;
    const text = [name, ...Object.values(own)].join("\n").toLowerCase();
    const matches = (word: string): boolean => {
      const { key } = facets.find((f) => word.startsWith(`${f.key}=`)) ?? {};
      return key ? own[key] === facetIn(word, key) : text.includes(word.toLowerCase());
    };
    return words.every(matches) ? [i] : [];
  });
}

/** The indices picked by hand; null: all. */
export const picked = (only: string): Set<number> | null =>
  only === "" ? null : new Set(only.split(",").map(Number));

/** The last part of a report that was asked for, with what was asked. */
const last = new WeakMap<Report, { asked: string; part: Report }>();

/** The report with the variants that the reader has found and picked, and the baseline. */
export function shownReport(report: Report, { find, only, baseline }: State): Report {
  if (!find && !only) return report;
  const asked = JSON.stringify([find, only, baseline]);
  const known = last.get(report);
  if (known?.asked === asked) return known.part;
  const some = picked(only);
  const indices = found(report, find).filter((i) => some?.has(i) ?? true);
  const names = indices.map((i) => report.variants[i]!);
  const part = partOf(report, new Set([...names, baselineOf(report, baseline)]));
  last.set(report, { asked, part });
  return part;
}
