import type { ConstellationView, Report, Route, Trace } from "./report.types.ts";

/** The route of a flow at a time. */
export interface RouteAt {
  /** Nodes from one end to the other; empty if there is no route. */
  nodes: number[];
  /** When it began, and when the next route begins (null: never). */
  since: number;
  until: number | null;
}

/** The constellation over a trace's path, if there is one. */
export function constellationOf(
  report: Report,
  trace: Trace | undefined,
): ConstellationView | undefined {
  return report.constellations?.[trace?.constellation ?? -1];
}

/** True if a trace's path goes over a constellation. */
export const hasConstellation = (trace: Trace): boolean => typeof trace.constellation === "number";

/** Routes of all flows of a run over time. */
export class Routes {
  /** Flows that have routes, in the order of their first entry. */
  readonly flows: string[];
  readonly #of = new Map<string, Route[]>();

  /** `entries` ascend in time. */
  constructor(entries: Route[]) {
    for (const entry of entries) {
      const list = this.#of.get(entry.flow);
      // The same route written again is no change.
      if (!list) this.#of.set(entry.flow, [entry]);
      else if (list.at(-1)!.nodes.join() !== entry.nodes.join()) list.push(entry);
    }
    this.flows = [...this.#of.keys()];
  }

  /** The routes of a trace. */
  static of(trace: Trace): Routes {
    return new Routes(trace.routes ?? []);
  }

  /** The route of a flow at a time of the run; null before its first entry. */
  at(flow: string, time: number): RouteAt | null {
    const list = this.#of.get(flow) ?? [];
    let lo = 0;
    let hi = list.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (list[mid]!.t_s <= time) lo = mid + 1;
      else hi = mid;
    }
    const entry = list[lo - 1];
    return entry ? { nodes: entry.nodes, since: entry.t_s, until: list[lo]?.t_s ?? null } : null;
  }

  /** Times at which the route of a flow changes, ascending. */
  changesOf(flow: string): number[] {
    return (this.#of.get(flow) ?? []).slice(1).map((entry) => entry.t_s);
  }
}

/** Links between satellites at most `reach` links away from one of `nodes`, as a list of pairs. */
export function linksAround(
  isls: readonly (readonly [number, number])[],
  nodes: Iterable<number>,
  reach: number,
): Uint32Array {
  const near = new Set(nodes);
  const found = new Set<number>();
  for (let step = 0; step < reach; step++) {
    const edge: number[] = [];
    isls.forEach(([a, b], i) => {
      if (!near.has(a) && !near.has(b)) return;
      found.add(i);
      edge.push(a, b);
    });
    for (const n of edge) near.add(n);
  }
  return Uint32Array.from([...found].sort((a, b) => a - b).flatMap((i) => isls[i]!));
}
