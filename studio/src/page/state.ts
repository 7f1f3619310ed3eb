/** What the page shows. All of it goes into the address, so that a view can be linked. */
export interface State {
  metric: string;
  flow: string;
  /** How a sweep of two keys is drawn; "": what suits it. */
  picture: "" | "heat" | "lines";
  /** Key of the point shown, or "" for all. */
  point: string;
  /** Variant that the others are compared with; "": that of the scenario, or the first. */
  baseline: string;
  /** What variants are searched for, and the indices of those picked, with commas; "": all. */
  find: string;
  only: string;
  /** What the pivot table is sorted by: "name", "best" or a column; "-" before turns it round. */
  sort: string;
  /** Name of the figure that the page opens at; "": its beginning. */
  at: string;
  /** The table: a column per point, or a line per value; "": what suits it. */
  table: "" | "pivot" | "list";
  /** The sweep beside the answer: ratios to the baseline, or values. */
  across: "ratio" | "value";
  /** Index of the trace shown, and of the one compared with it (-1: none). */
  run: number;
  versus: number;
  /** Flow of the traces. */
  traceFlow: string;
  /** Time counts from the flow's first packet, or from the start of the run. */
  origin: "flow" | "run";
  /** Links drawn if a run has many: the most important, or all. */
  links: "busy" | "all";
  zoom: [number, number] | null;
  /**
   * Section on reverse traffic: key of the point, flow, indices of the variants drawn ("": the
   * usual ones), what packets are counted in, window.
   */
  reversePoint: string;
  reverseFlow: string;
  compared: string;
  count: "bytes" | "packets";
  reverseZoom: [number, number] | null;
}

const TEXTS = [
  "metric",
  "flow",
  "point",
  "baseline",
  "find",
  "only",
  "sort",
  "at",
  "traceFlow",
  "reversePoint",
  "reverseFlow",
  "compared",
] as const;
const NUMBERS = ["run", "versus"] as const;
const WORDS = {
  origin: ["flow", "run"],
  links: ["busy", "all"],
  picture: ["heat", "lines"],
  across: ["ratio", "value"],
  table: ["pivot", "list"],
  count: ["bytes", "packets"],
} as const;
const WINDOWS = ["zoom", "reverseZoom"] as const;

/** Reads the fragment of an address; malformed parts are ignored. */
export function parseHash(hash: string): Partial<State> {
  const q = new URLSearchParams(hash.replace(/^#/, ""));
  const out: Partial<State> = {};
  for (const key of TEXTS) {
    const value = q.get(key);
    if (value !== null) out[key] = value;
  }
  for (const key of NUMBERS) {
    const value = q.get(key);
    if (value !== null && /^-?\d{1,6}$/.test(value)) out[key] = Number(value);
  }
  for (const [key, allowed] of Object.entries(WORDS)) {
    const value = allowed.find((word) => word === q.get(key));
    if (value) Object.assign(out, { [key]: value });
  }
  for (const key of WINDOWS) {
    const ends = q.get(key)?.split(",").map(Number);
    if (ends?.length === 2 && ends.every(Number.isFinite) && ends[1]! > ends[0]!)
      out[key] = [ends[0]!, ends[1]!];
  }
  return out;
}

/** Writes a state as the fragment of an address, without what equals `usual`. */
export function formatHash(state: State, usual: State): string {
  const q = new URLSearchParams();
  for (const key of [...TEXTS, ...NUMBERS, ...(Object.keys(WORDS) as (keyof typeof WORDS)[])]) {
    if (state[key] !== usual[key]) q.set(key, String(state[key]));
  }
  for (const key of WINDOWS)
    if (state[key]) q.set(key, state[key].map((x) => Number(x.toPrecision(8))).join(","));
  return q.toString();
}

/** Holds the state, tells listeners of changes and keeps the address in step. */
export class Store {
  readonly state: State;
  readonly #usual: State;
  readonly #listeners: ((changed: ReadonlySet<keyof State>) => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(usual: State, from: Partial<State>) {
    this.#usual = { ...usual };
    this.state = { ...usual, ...from };
  }

  /** Calls `listener` after each change with the keys that changed. */
  on(listener: (changed: ReadonlySet<keyof State>) => void): void {
    this.#listeners.push(listener);
  }

  /** Changes some of the state. */
  set(part: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const key of Object.keys(part) as (keyof State)[]) {
      if (this.state[key] !== part[key]) changed.add(key);
    }
    if (changed.size === 0) return;
    Object.assign(this.state, part);
    for (const listener of this.#listeners) listener(changed);
    // Browsers limit how often an address may change; one write after a gesture is enough.
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#write(), 200);
  }

  /** The address of the page as it is now, opened at a figure. */
  linkTo(at: string): string {
    return `${location.href.split("#", 1)[0]}#${formatHash({ ...this.state, at }, this.#usual)}`;
  }

  #write(): void {
    const hash = formatHash(this.state, this.#usual);
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // Some browsers refuse this for local files; the page works without.
    }
  }
}
