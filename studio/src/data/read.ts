import { pointKey } from "./points.ts";
import type {
  Fairness,
  Flow,
  LinkResult,
  Point,
  Report,
  Run,
  Sky,
  Summary,
  Trace,
} from "./schema.ts";

/** The text of an embedded data element; null if the page has no data. */
export function embedded(id: string): string | null {
  const text = document.getElementById(id)?.textContent;
  return text?.trim() ? text : null;
}

type Loose = Record<string, unknown>;

const isObject = (x: unknown): x is Loose =>
  typeof x === "object" && x !== null && !Array.isArray(x);
const text = (x: unknown, otherwise = ""): string =>
  typeof x === "string" ? x : typeof x === "number" ? String(x) : otherwise;
const num = (x: unknown): number | null => (typeof x === "number" && Number.isFinite(x) ? x : null);
const list = (x: unknown): Loose[] => (Array.isArray(x) ? x.filter(isObject) : []);

function point(x: unknown): Point {
  return isObject(x)
    ? Object.fromEntries(
        Object.entries(x).map(([key, value]) => [key, text(value, JSON.stringify(value))]),
      )
    : {};
}

function flow(x: Loose): Flow {
  const numbers = isObject(x.return_bytes) ? x.return_bytes : {};
  return {
    ...(x as unknown as Flow),
    name: text(x.name, "flow"),
    visit: num(x.visit) ?? 1,
    transport: text(x.transport),
    congestion: text(x.congestion),
    direction: text(x.direction),
    completed: x.completed === undefined ? num(x.completion_s) !== null : x.completed === true,
    ...(x.error === undefined ? {} : { error: text(x.error) || null }),
    start_s: num(x.start_s) ?? 0,
    return_bytes: Object.fromEntries(
      Object.entries(numbers).flatMap(([key, value]) =>
        num(value) === null ? [] : [[key, num(value)!]],
      ),
    ),
    objects: list(x.objects).map((o) => ({
      name: text(o.name),
      bytes: num(o.bytes) ?? 0,
      start_s: num(o.start_s) ?? 0,
      completion_s: num(o.completion_s),
    })),
  };
}

function summary(x: Loose): Summary {
  return {
    variant: text(x.variant),
    point: point(x.point),
    flow: text(x.flow),
    visit: num(x.visit) ?? 1,
    metric: text(x.metric),
    n: num(x.n) ?? 0,
    median: num(x.median),
    p5: num(x.p5),
    p95: num(x.p95),
    mean: num(x.mean),
    ci95_low: num(x.ci95_low),
    ci95_high: num(x.ci95_high),
  };
}

const instants = (x: unknown): Trace["flows"][number]["marks"] =>
  list(x).flatMap((m) => (num(m.t_s) === null ? [] : [{ t_s: num(m.t_s)!, label: text(m.label) }]));

function trace(x: Loose, skies: Sky[]): Trace {
  const refs = (y: unknown): Trace["links"][number]["series"] => {
    if (!isObject(y)) return {};
    return Object.fromEntries(
      Object.entries(y).flatMap(([key, r]) =>
        isObject(r) && num(r.offset) !== null && num(r.n) !== null
          ? [[key, { offset: num(r.offset)!, n: num(r.n)!, unit: text(r.unit) }]]
          : [],
      ),
    );
  };
  return {
    variant: text(x.variant),
    point: point(x.point),
    run: num(x.run) ?? 0,
    flows: list(x.flows).map((f) => ({
      name: text(f.name, "flow"),
      visit: num(f.visit) ?? 1,
      start_s: num(f.start_s) ?? 0,
      series: refs(f.series),
      marks: instants(f.marks),
      phases: instants(f.phases),
    })),
    links: list(x.links).map((l) => ({
      name: text(l.name, "link"),
      rate_mbps: num(l.rate_mbps),
      queue_limit_bytes: num(l.queue_limit_bytes),
      series: refs(l.series),
    })),
    ...overSky(x, skies),
  };
}

function fairness(x: Loose): Fairness {
  return {
    flows: list(x.flows).map((f) => ({
      flow: text(f.flow),
      goodput_mbps: num(f.goodput_mbps),
    })),
    from_s: num(x.from_s),
    to_s: num(x.to_s),
    jain: num(x.jain),
    share_ratio: num(x.share_ratio),
    bottleneck: text(x.bottleneck) || null,
    bottleneck_utilisation: num(x.bottleneck_utilisation),
    bottleneck_queue_ms: num(x.bottleneck_queue_ms),
    convergence_s: num(x.convergence_s),
    aggregate_mbps: num(x.aggregate_mbps),
  };
}

function sky(x: Loose): Sky {
  const satellites = isObject(x.satellites) ? x.satellites : {};
  const positions = isObject(satellites.positions) ? satellites.positions : {};
  const names = Array.isArray(satellites.names) ? satellites.names.map((n) => text(n)) : [];
  const shells = Array.isArray(satellites.shell) ? satellites.shell : [];
  return {
    begins: text(x.begins),
    satellites: {
      names,
      shell: names.map((_, i) => num(shells[i]) ?? 0),
      positions: {
        offset: num(positions.offset) ?? 0,
        times: num(positions.times) ?? 0,
        step_s: num(positions.step_s) ?? 1,
      },
    },
    stations: list(x.stations).map((s) => ({
      name: text(s.name),
      latitude_deg: num(s.latitude_deg) ?? 0,
      longitude_deg: num(s.longitude_deg) ?? 0,
      altitude_m: num(s.altitude_m) ?? 0,
    })),
    isls: (Array.isArray(x.isls) ? x.isls : []).flatMap((pair): [number, number][] => {
      const [a, b] = Array.isArray(pair) ? pair : [];
      return isIndex(a, names.length) && isIndex(b, names.length) && a !== b ? [[a, b]] : [];
    }),
  };
}

const isIndex = (x: unknown, n: number): x is number =>
  typeof x === "number" && Number.isInteger(x) && x >= 0 && x < n;

/** The routes of a trace over a constellation; a route over an unknown node counts as none. */
function overSky(x: Loose, skies: Sky[]): Pick<Trace, "sky" | "paths"> {
  const index = x.sky;
  if (!isIndex(index, skies.length)) return {};
  const nodes = skies[index]!.satellites.names.length + skies[index]!.stations.length;
  const paths = list(x.paths).flatMap((p) => {
    const t_s = num(p.t_s);
    const way: unknown[] = Array.isArray(p.nodes) ? p.nodes : [];
    return t_s === null
      ? []
      : [
          {
            flow: text(p.flow, "flow"),
            t_s,
            nodes: way.every((n) => isIndex(n, nodes)) ? (way as number[]) : [],
          },
        ];
  });
  return { sky: index, paths: paths.sort((a, b) => a.t_s - b.t_s) };
}

function sweepOf(points: Point[]): Report["sweep"] {
  const values = new Map<string, string[]>();
  for (const p of points) {
    for (const [key, value] of Object.entries(p)) {
      const seen = values.get(key) ?? [];
      if (!seen.includes(value)) seen.push(value);
      values.set(key, seen);
    }
  }
  return [...values].map(([key, v]) => ({ key, values: v }));
}

/**
 * Makes a report of parsed JSON: an embedded document, or a bare `results.json`, whose variants and
 * sweep are read off its runs. Missing parts become empty. Throws if it is no report.
 */
export function normalise(data: unknown): Report {
  if (!isObject(data) || (!Array.isArray(data.runs) && !Array.isArray(data.skies)))
    throw new Error("this is not a results document: it has no list of runs");
  const runs: Run[] = list(data.runs).map((r) => ({
    variant: text(r.variant),
    point: point(r.point),
    run: num(r.run) ?? 0,
    flows: list(r.flows).map(flow),
    links: list(r.links) as unknown as LinkResult[],
    ...(isObject(r.fairness) ? { fairness: fairness(r.fairness) } : {}),
  }));
  const skies = list(data.skies).map(sky);
  const summaries = list(data.summary).map(summary);
  const named = Array.isArray(data.variants) ? data.variants.map((v) => text(v)) : [];
  const variants = [
    ...new Set([...named, ...runs.map((r) => r.variant), ...summaries.map((s) => s.variant)]),
  ];
  const points = [...new Map(runs.map((r) => [pointKey(r.point), r.point])).values()];
  const path = isObject(data.path) ? data.path : null;
  const out: Report = {
    scenario: text(data.scenario, "scenario"),
    title: text(data.title) || text(data.scenario, "Results"),
    seed: num(data.seed) ?? 0,
    clock: text(data.clock),
    version: text(data.version),
    complete: data.complete !== false,
    notes: Array.isArray(data.notes) ? data.notes.map((n) => text(n)).filter(Boolean) : [],
    source: text(data.source),
    variants,
    sweep: Array.isArray(data.sweep)
      ? list(data.sweep).map((s) => ({
          key: text(s.key),
          values: Array.isArray(s.values) ? s.values.map((v) => text(v)) : [],
        }))
      : sweepOf(points),
    runs,
    summary: summaries,
    expectations: list(data.expectations).map((e) => ({
      text: text(e.text),
      held: typeof e.held === "boolean" ? e.held : null,
      measured: num(e.measured),
    })),
    published: list(data.published).flatMap((p) => {
      const value = num(p.value);
      if (value === null) return [];
      return [
        {
          label: text(p.label),
          kind: p.kind === "objective" ? ("objective" as const) : ("measured" as const),
          metric: text(p.metric),
          ...(typeof p.variant === "string" ? { variant: p.variant } : {}),
          point: point(p.point),
          value,
          source: text(p.source),
        },
      ];
    }),
    traces: list(data.traces).map((t) => trace(t, skies)),
    skies,
  };
  if (typeof data.description === "string" && data.description) out.description = data.description;
  if (path) {
    out.path = {
      name: text(path.name),
      hops: list(path.hops).map((hop) => ({
        name: text(hop.name),
        forward: text(hop.forward),
        return: text(hop.return),
      })),
      rtt_ms: num(path.rtt_ms) ?? NaN,
      bdp_bytes: num(path.bdp_bytes) ?? NaN,
      ...(typeof path.profile === "string" ? { profile: path.profile } : {}),
      ...(typeof path.source === "string" ? { source: path.source } : {}),
    };
  }
  return out;
}
