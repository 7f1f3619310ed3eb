import { flowIn, type Group, runsAt } from "./groups.ts";
import type { Report } from "./report.types.ts";

/** A run of a variant: when its visit began, and what it measured. */
export interface Started {
  group: Group;
  run: number;
  /** Start of the visit in seconds since the start of the run. */
  start: number;
  value: number;
}

/** Differences of start times below this are none: a path does not change within them. */
const APART_S = 1;

/**
 * The runs of some groups with the starts of their visits; empty if all began together, or if the
 * path does not change, so that it does not matter when they began.
 */
export function startsOf(report: Report, groups: Group[], flow: string): Started[] {
  if (!report.path_changes) return [];
  const all = groups.flatMap((group) => {
    const values = new Map(group.values.map((v) => [v.run, v.value]));
    return runsAt(report, group.variant, group.point).flatMap((run): Started[] => {
      const value = values.get(run.run) ?? null;
      const start = flowIn(run, { name: flow, visit: group.visit })?.start_s;
      return value === null || start === undefined ? [] : [{ group, run: run.run, start, value }];
    });
  });
  const starts = all.map((s) => s.start);
  return Math.max(...starts) - Math.min(...starts) > APART_S ? all : [];
}
