import { valueWords } from "../data/points.ts";
import type { FlowSettings, Report } from "../data/report.types.ts";

/** Settings in the order in which they are named, with what stands before their values. */
export const SETTINGS: [key: Exclude<keyof FlowSettings, "flows">, words: string][] = [
  ["transport", ""],
  ["congestion", ""],
  ["slow_start", "slow start"],
  ["ack", "ACK"],
  ["handshake", ""],
  ["resume", "resume"],
  ["preset", "preset"],
];

/** A setting in a few words: "slow start hystart++", "cubic". */
export const settingWords = (words: string, value: string): string =>
  [words, value].filter(Boolean).join(" ");

/** Keys and values that have a name of their own. */
const WORDS: Record<string, string> = {
  "handshake 0rtt": "0-RTT",
  "handshake 1rtt": "1-RTT",
  "resume careful": "Careful Resume",
  "resume none": "no resume",
  "slow start standard": "standard slow start",
};

/** A key of a variant and its value in words: "pep filter", "http h2". */
function keyWords(key: string, value: string): string {
  const own = /^flow\.([^.]+)\.(.+)$/.exec(key);
  if (own) return `${own[1]}: ${keyWords(own[2]!, value)}`;
  const name = key.split(".").at(-1)!.replaceAll("_", " ");
  const words = WORDS[`${name} ${value}`] ?? valueWords(value);
  if (name === "ack") return `ACK ${words}`;
  if (name === "transport" || name === "congestion" || words !== valueWords(value)) return words;
  if (words === "true") return name;
  return words === "false" ? `no ${name}` : `${name} ${words}`;
}

/** What the scenario sets in each variant, without what all variants have alike. */
function ofKeys(keys: Record<string, string>[]): string[] {
  const common = (key: string): boolean => keys.every((own) => own[key] === keys[0]![key]);
  return keys.map((own) =>
    Object.entries(own)
      .flatMap(([key, value]) => (common(key) ? [] : [keyWords(key, value)]))
      .join(", "),
  );
}

/** The settings in which variants differ. */
function ofSettings(report: Report): string[] {
  const all = report.variants.map(
    (name) => report.variant_settings.find((v) => v.name === name)?.flows ?? [],
  );
  const text = (flows: FlowSettings[], key: (typeof SETTINGS)[number][0]): string =>
    [...new Set(flows.map((f) => f[key] ?? ""))].filter(Boolean).join(" and ");
  const told = SETTINGS.filter(([key]) => new Set(all.map((flows) => text(flows, key))).size > 1);
  return all.map((flows) =>
    told
      .flatMap(([key, words]) => {
        const value = text(flows, key);
        return value ? [settingWords(words, value)] : [];
      })
      .join(", "),
  );
}

/** In what each variant differs from the others, in the order of the variants; "" if in nothing. */
export function differences(report: Report): string[] {
  const keys = report.variant_keys;
  const known = keys?.length === report.variants.length && report.variants.length > 1;
  const own = known ? ofKeys(keys) : [];
  return own.some(Boolean) ? own : ofSettings(report);
}
