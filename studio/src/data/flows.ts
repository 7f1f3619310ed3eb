import { ALL_FLOWS } from "./fairness.ts";
import { memoised } from "./memoised.ts";
import { isShared } from "./metrics.ts";
import type { Report } from "./report.types.ts";

/**
 * A flow that can be chosen: its name, and which of its reported visits (1 is the first). A variant
 * that resumes has an unreported visit before, so the same place has another visit number there.
 */
export interface FlowId {
  name: string;
  place: number;
}

/** A flow's identity as text. */
export function flowKey(f: FlowId): string {
  return JSON.stringify([f.name, f.place]);
}

/** Reported visits by variant and flow name, ascending. */
type Visits = Map<string, Map<string, number[]>>;

const visits = memoised((report: Report): Visits => {
  const all: Visits = new Map();
  const add = (variant: string, name: string, visit: number): void => {
    const flows = all.get(variant) ?? new Map<string, number[]>();
    all.set(variant, flows);
    const list = flows.get(name) ?? [];
    if (!list.includes(visit))
      flows.set(
        name,
        [...list, visit].sort((a, b) => a - b),
      );
  };
  for (const run of report.runs) for (const f of run.flows) add(run.variant, f.name, f.visit);
  for (const s of report.summary)
    if (s.flow !== ALL_FLOWS || !isShared(s.metric)) add(s.variant, s.flow, s.visit);
  return all;
});

/** The visit number that a flow has in a variant; undefined if the variant has no such visit. */
export function visitOf(report: Report, variant: string, flow: FlowId): number | undefined {
  return visits(report).get(variant)?.get(flow.name)?.[flow.place - 1];
}

/** Flows of the report: each name as often as the variant with most reported visits of it has. */
export const flowsOf = memoised((report: Report): FlowId[] => {
  const most = new Map<string, number>();
  for (const flows of visits(report).values()) {
    for (const [name, list] of flows) most.set(name, Math.max(most.get(name) ?? 0, list.length));
  }
  return [...most].flatMap(([name, n]) =>
    Array.from({ length: n }, (_, i) => ({ name, place: i + 1 })),
  );
});

const ORDINALS = ["first", "second", "third", "fourth", "fifth"];

/** A flow in words, with its visit if a variant has several: the number if all variants agree. */
export function flowLabel(report: Report, f: FlowId): string {
  if (f === TOGETHER) return "all flows";
  if (!flowsOf(report).some((o) => o.name === f.name && o.place > 1)) return f.name;
  const numbers = new Set(report.variants.flatMap((v) => visitOf(report, v, f) ?? []));
  const ordinal = ORDINALS[f.place - 1] ?? `${f.place}th`;
  return numbers.size === 1
    ? `${f.name}, visit ${[...numbers][0]}`
    : `${f.name}, ${ordinal} reported visit`;
}

/** Stands for all flows together, for metrics of all of them. */
export const TOGETHER: FlowId = { name: ALL_FLOWS, place: 1 };

/** The flow a key stands for, or the first one. */
export function chosenFlow(report: Report, key: string): FlowId {
  const flows = flowsOf(report);
  return flows.find((f) => flowKey(f) === key) ?? flows[0] ?? { name: "", place: 1 };
}
