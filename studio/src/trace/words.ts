import { PARTS, type TimePart } from "../data/time-budget.ts";
import type { PathDocument, RemedyDocument } from "../data/trace.types.ts";
import { significant } from "../format/numbers.ts";

/** The part of a time budget that has this name. */
export const partNamed = (name: string | null | undefined): TimePart | undefined =>
  PARTS.find((part) => part.name === name);

/** A text with a capital letter. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Seconds with three digits. */
export const time = (s: number): string => `${significant(s)}\u00a0s`;

/** What a change saves, in words. */
export function saving({ saves_s, saves_up_to_s }: RemedyDocument): string {
  if (saves_s !== null) return `saves about ${time(saves_s)}`;
  if (saves_up_to_s !== null) return `saves up to ${time(saves_up_to_s)}`;
  return "what it saves cannot be told from this file";
}

/** What to change, to what and where: "the send buffer: 7 MB, at the server". */
export function change({ setting, value, where }: RemedyDocument): string {
  const place = ["client", "server"].includes(where) ? `the ${where}` : where;
  return `${setting}${value && `: ${value}`} (${place})`;
}

/** The rate of a path, and how much is known of it. */
export function rateWords(path: PathDocument): [value: string, below: string] {
  const mbps = (rate: number): string => `${significant(rate)}\u00a0Mbps`;
  return path.rate_is_least
    ? ["not known", `never filled; at least ${mbps(path.proven_rate_mbps)}`]
    : [mbps(path.rate_mbps), "the link was filled"];
}
