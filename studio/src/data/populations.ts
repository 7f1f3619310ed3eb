import { ALL_FLOWS } from "./fairness.ts";
import { isOfPopulation } from "./metrics.ts";
import type { Run } from "./report.types.ts";

/** Separates the name of a population from that of a size class. */
const SEPARATOR = "/";

/** True if a name is that of a size class within a population. */
export const isSizeClass = (name: string): boolean => name.includes(SEPARATOR);

/**
 * The value of a metric of a group of users in a run: of a population, of a share, or of a size
 * class of these (`NAME/CLASS`). Undefined if the run has no such group; null without a value.
 */
export function userMetric(
  run: Run,
  { name, visit }: { name: string; visit: number },
  metric: string,
): number | null | undefined {
  if (!isOfPopulation(metric)) return undefined;
  const [population, size] = name.split(SEPARATOR, 2);
  const found = run.populations?.find((p) => p.name === population && p.visit === visit);
  const group = size === undefined ? found : found?.classes.find((c) => c.name === size);
  if (!group) return undefined;
  const value = group[metric as keyof typeof group];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Size classes: upper bound in bytes, name in results, and heading. */
export const SIZE_CLASSES = [
  { most: 100_000, name: "up-to-100-kB", label: "up to 100 kB" },
  { most: 1_000_000, name: "up-to-1-MB", label: "100 kB to 1 MB" },
  { most: 10_000_000, name: "up-to-10-MB", label: "1 to 10 MB" },
  { most: Number.POSITIVE_INFINITY, name: "above-10-MB", label: "above 10 MB" },
] as const;

/** A user's download: its slowdown (null if it did not complete) and its size class. */
export interface UserSlowdown {
  run: number;
  slowdown: number | null;
  size: string;
}

/**
 * The slowdowns of the users of a population or share, or of all (`all`), in some runs. A group
 * that transfers for a set time, whose share of the link is measured, is not slowed down.
 */
export function slowdownsOf(runs: Run[], name: string, visit: number): UserSlowdown[] {
  return runs.flatMap((run) =>
    (run.populations ?? []).flatMap((population) => {
      const { per_user: users } = population;
      const chosen = name === ALL_FLOWS || population.name === name;
      const lasts = typeof population.link_share_percent === "number";
      if (!users || !chosen || lasts || population.visit !== visit) return [];
      return users.bytes.map((bytes, i) => ({
        run: run.run,
        slowdown: users.slowdown[i] ?? null,
        size: SIZE_CLASSES.find((c) => bytes <= c.most)!.name,
      }));
    }),
  );
}

/** What calls and adaptive video have of each user, and which side of it is the bad one. */
export const EXPERIENCES = [
  { column: "mos", label: "Mean opinion score", unit: "", low: true },
  { column: "frame_delay_ms", label: "Mean frame delay", unit: "ms", low: false },
  { column: "bitrate_kbps", label: "Mean bitrate", unit: "kbps", low: true },
  { column: "stall_percent", label: "Stalled", unit: "%", low: false },
] as const;

export type Experience = (typeof EXPERIENCES)[number];

/** What users have of a metric: the values, ascending, and how many users have none. */
export interface Experienced {
  values: number[];
  without: number;
}

/** A value of each user of a population in some runs; nobody if its workload has none. */
export function experiencesOf(
  runs: Run[],
  name: string,
  visit: number,
  of: Experience,
): Experienced {
  const all = runs.flatMap((run) =>
    (run.populations ?? []).flatMap((population) =>
      population.name === name && population.visit === visit
        ? (population.per_user?.[of.column] ?? [])
        : [],
    ),
  );
  const values = all.flatMap((value) => value ?? []).sort((a, b) => a - b);
  return { values, without: all.length - values.length };
}
