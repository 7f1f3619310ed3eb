/** How long runs take, in words that are as exact as they can be meant. */
import type { Outlook } from "./api.ts";

/** A time in words. */
export function duration(seconds: number): string {
  if (seconds < 1) return "under a second";
  if (seconds < 90) return `about ${Math.round(seconds)} s`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} min`;
  return `about ${(seconds / 3600).toFixed(1)} h`;
}

/** What follows the number of runs. */
export function timeWords({ to_run, seconds, from_earlier_runs }: Outlook): string {
  if (to_run === 0) return "; all are there";
  const from = from_earlier_runs ? "as earlier runs took" : "by the speed of a small download here";
  return seconds < 1 ? `; ${duration(seconds)}` : `; ${duration(seconds)}, ${from}`;
}
