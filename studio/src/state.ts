/** What the page shows; everything here goes into the address, so that a view can be linked. */
export interface State {
  metric: string;
  flow: string;
  /** How a sweep with two sides is drawn; "" is what suits it. */
  picture: "" | "heat" | "lines";
  /** Key of the point shown, or "" for all. */
  point: string;
  /** Index of the trace shown, and of the one beside it (-1: none). */
  run: number;
  versus: number;
  /** Flow of the traces. */
  traceFlow: string;
  /** Time counted from the flow's first packet, or from the run's beginning. */
  origin: "flow" | "run";
  /** Which links are drawn where a run has many: those that matter most, or all. */
  links: "busy" | "all";
  zoom: [number, number] | null;
}

/** Reads the part of the address after `#`; what is malformed is left out. */
export function parseHash(hash: string): Partial<State> {
  const q = new URLSearchParams(hash.replace(/^#/, ""));
  const out: Partial<State> = {};
  for (const key of ["metric", "flow", "point", "traceFlow"] as const) {
    const value = q.get(key);
    if (value !== null) out[key] = value;
  }
  for (const key of ["run", "versus"] as const) {
    const value = q.get(key);
    if (value !== null && /^-?\d{1,6}$/.test(value)) out[key] = Number(value);
  }
  const origin = q.get("origin");
  if (origin === "flow" || origin === "run") out.origin = origin;
  const links = q.get("links");
  if (links === "busy" || links === "all") out.links = links;
  const picture = q.get("picture");
  if (picture === "heat" || picture === "lines") out.picture = picture;
  const zoom = q.get("zoom")?.split(",").map(Number);
  if (zoom?.length === 2 && zoom.every(Number.isFinite) && zoom[1]! > zoom[0]!) out.zoom = [zoom[0]!, zoom[1]!];
  return out;
}

/** Writes a state as the part of an address after `#`; what equals `usual` is left out. */
export function formatHash(state: State, usual: State): string {
  const q = new URLSearchParams();
  for (const key of ["metric", "flow", "picture", "point", "run", "versus", "traceFlow", "origin", "links"] as const) {
    if (state[key] !== usual[key]) q.set(key, String(state[key]));
  }
  if (state.zoom) q.set("zoom", state.zoom.map((x) => Number(x.toPrecision(8))).join(","));
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

  #write(): void {
    const hash = formatHash(this.state, this.#usual);
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // Some browsers refuse this for local files; the page works without.
    }
  }
}
