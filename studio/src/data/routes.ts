import type { WayEntry } from "./schema.ts";

/** The way of a flow at a time. */
export interface Way {
  /** From one end to the other; none: there is no way. */
  nodes: number[];
  /** When it began, and when another one follows (null: none does). */
  since: number;
  until: number | null;
}

/** Ways of all flows of a run over time. */
export class Ways {
  /** Flows that have ways, in the order of their first entry. */
  readonly flows: string[];
  readonly #of: Map<string, WayEntry[]>;

  /** `entries` ascend in time. */
  constructor(entries: WayEntry[]) {
    this.#of = new Map();
    for (const entry of entries) {
      const list = this.#of.get(entry.flow);
      // What is written again is no change.
      if (!list) this.#of.set(entry.flow, [entry]);
      else if (list.at(-1)!.nodes.join() !== entry.nodes.join()) list.push(entry);
    }
    this.flows = [...this.#of.keys()];
  }

  /** The way of a flow at a time of the run; null before its first entry. */
  at(flow: string, time: number): Way | null {
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

  /** When the way of a flow becomes another one, in order. */
  changesOf(flow: string): number[] {
    return (this.#of.get(flow) ?? []).slice(1).map((entry) => entry.t_s);
  }
}

/** Links of satellites that are at most `reach` links away from one of `nodes`, as pairs in one list. */
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
