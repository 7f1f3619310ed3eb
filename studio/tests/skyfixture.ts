import type {
  ConstellationView,
  FlowSeries,
  Route,
  StationPlace,
} from "../src/data/report.types.ts";
import { EARTH_KM, earthFixed, LIGHT_KM_PER_MS } from "../src/sky/model.ts";
import { fairnessWith, flowWith, layers, reportWith } from "./base.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { random } from "./flowmodel.ts";

/** A Walker delta shell. */
export interface Shell {
  planes: number;
  perPlane: number;
  inclination: number;
  altitudeKm: number;
}

export const STARLINK: Shell = { planes: 72, perPlane: 22, inclination: 53, altitudeKm: 550 };
/** Seven shells with 10,080 satellites. */
export const MANY: Shell[] = [550, 570, 540, 1200, 630, 610, 1015].map((altitudeKm, i) => ({
  planes: 72,
  perPlane: 20,
  inclination: [53, 70, 53.2, 87.9, 51.9, 42, 98.98][i]!,
  altitudeKm,
}));

export const PLACES: StationPlace[] = [
  { name: "Toronto", latitude_deg: 43.65, longitude_deg: -79.38, altitude_m: 76 },
  { name: "Washington", latitude_deg: 38.91, longitude_deg: -77.04, altitude_m: 2 },
  { name: "Wuhan", latitude_deg: 30.59, longitude_deg: 114.31, altitude_m: 37 },
  { name: "Nairobi", latitude_deg: -1.29, longitude_deg: 36.82, altitude_m: 1795 },
];

const RAD = Math.PI / 180;
/** Of the Earth, in radians per second, and its gravity in km³/s². */
const SPIN = 7.2921159e-5;
const MU = 398_600.4418;

/** Latitude, longitude and altitude of a satellite on a circular orbit over a turning ball. */
function orbit(s: Shell, plane: number, index: number, t: number): [number, number, number] {
  const motion = Math.sqrt(MU / (EARTH_KM + s.altitudeKm) ** 3);
  const u = ((2 * Math.PI) / s.perPlane) * (index + (plane % 2) / 2) + motion * t;
  const node = ((2 * Math.PI) / s.planes) * plane - SPIN * t;
  const [c, i] = [Math.cos(u), s.inclination * RAD];
  const [x, y, z] = [
    c * Math.cos(node) - Math.sin(u) * Math.cos(i) * Math.sin(node),
    c * Math.sin(node) + Math.sin(u) * Math.cos(i) * Math.cos(node),
    Math.sin(u) * Math.sin(i),
  ];
  return [Math.asin(z) / RAD, Math.atan2(y, x) / RAD, s.altitudeKm];
}

/** A sky with +grid links, its positions written to the blob. */
export function skyOf(
  shells: Shell[],
  times: number,
  step_s: number,
  blob: BlobWriter,
): { sky: ConstellationView; at: (t: number) => Float64Array } {
  const list = shells.flatMap((s, k) =>
    Array.from({ length: s.planes * s.perPlane }, (_, i) => ({
      s,
      k,
      plane: Math.floor(i / s.perPlane),
      index: i % s.perPlane,
    })),
  );
  const values = new Float32Array(list.length * times * 3);
  for (let t = 0; t < times; t++)
    list.forEach(({ s, plane, index }, i) =>
      values.set(orbit(s, plane, index, t * step_s), (t * list.length + i) * 3),
    );
  const isls: [number, number][] = [];
  let base = 0;
  for (const { planes, perPlane } of shells) {
    for (let p = 0; p < planes; p++) {
      for (let i = 0; i < perPlane; i++) {
        isls.push([base + p * perPlane + i, base + p * perPlane + ((i + 1) % perPlane)]);
        isls.push([base + p * perPlane + i, base + ((p + 1) % planes) * perPlane + i]);
      }
    }
    base += planes * perPlane;
  }
  const sky: ConstellationView = {
    begins: "2000-01-01T00:00:00Z",
    satellites: {
      names: list.map(
        ({ k, plane, index }) => `${shells.length > 1 ? `${k + 1}/` : ""}${plane}-${index}`,
      ),
      shell: list.map(({ k }) => k),
      positions: { offset: blob.addFloats(values), times, step_s },
    },
    stations: PLACES,
    isls,
  };
  const at = (t: number): Float64Array => {
    const out = new Float64Array((list.length + PLACES.length) * 3);
    list.forEach(({ s, plane, index }, i) =>
      out.set(earthFixed(...orbit(s, plane, index, t)), i * 3),
    );
    PLACES.forEach((p, i) =>
      out.set(
        earthFixed(p.latitude_deg, p.longitude_deg, p.altitude_m / 1000),
        (list.length + i) * 3,
      ),
    );
    return out;
  };
  return { sky, at };
}

/** Longest link from the ground, in kilometres. */
const GROUND_KM = 1090;

/** Shortest way between two stations, and its length in kilometres; null where there is none. */
function route(
  sky: ConstellationView,
  links: number[][],
  xyz: Float64Array,
  from: number,
  to: number,
): { nodes: number[]; km: number } | null {
  const n = sky.satellites.names.length;
  const far = (a: number, b: number): number =>
    Math.hypot(
      xyz[a * 3]! - xyz[b * 3]!,
      xyz[a * 3 + 1]! - xyz[b * 3 + 1]!,
      xyz[a * 3 + 2]! - xyz[b * 3 + 2]!,
    );
  const km = new Float64Array(n).fill(Infinity);
  const back = new Int32Array(n).fill(-1);
  const open = new Set<number>();
  for (let i = 0; i < n; i++) {
    const d = far(i, n + from);
    if (d > GROUND_KM) continue;
    km[i] = d;
    open.add(i);
  }
  let end = -1;
  let length = Infinity;
  while (open.size > 0) {
    let best = -1;
    for (const i of open) if (best < 0 || km[i]! < km[best]!) best = i;
    open.delete(best);
    if (km[best]! >= length) break;
    const down = far(best, n + to);
    if (down <= GROUND_KM && km[best]! + down < length) {
      length = km[best]! + down;
      end = best;
    }
    for (const next of links[best]!) {
      const d = km[best]! + far(best, next);
      if (d < km[next]!) {
        km[next] = d;
        back[next] = best;
        open.add(next);
      }
    }
  }
  if (end < 0) return null;
  const middle: number[] = [];
  for (let i = end; i >= 0; i = back[i]!) middle.unshift(i);
  return { nodes: [n + from, ...middle, n + to], km: length };
}

const PAIRS: [string, number, number][] = [
  ["toronto-washington", 0, 1],
  ["wuhan-washington", 2, 1],
];

/**
 * What `bentpipe orbit` writes: routes and RTTs over time, without packets. One flow has no route
 * for a while.
 */
export function orbitReport(
  shells: Shell[] = [STARLINK],
  length = 200,
  step = 10,
  changes = 100,
): Fixture {
  const blob = new BlobWriter();
  const { sky, at } = skyOf(shells, Math.floor(length / step) + 1, step, blob);
  const routes: Route[] = [];
  const links: number[][] = sky.satellites.names.map(() => []);
  for (const [a, b] of sky.isls) {
    links[a]!.push(b);
    links[b]!.push(a);
  }
  const every = length / changes;
  const series = PAIRS.map(() => ({ t: [] as number[], v: [] as number[] }));
  const before = PAIRS.map(() => "");
  for (let t = 0; t <= length; t += every) {
    const xyz = at(t);
    PAIRS.forEach(([flow, from, to], i) => {
      const out = i === 1 && t >= length * 0.5 && t < length * 0.58;
      const { nodes, km } = (out ? null : route(sky, links, xyz, from, to)) ?? {
        nodes: [],
        km: NaN,
      };
      series[i]!.t.push(t);
      series[i]!.v.push((2 * km) / LIGHT_KM_PER_MS);
      if (nodes.join() !== before[i]) routes.push({ flow, t_s: t, nodes });
      before[i] = nodes.join();
    });
  }
  const flows: FlowSeries[] = PAIRS.map(([name], i) => ({
    name,
    visit: 1,
    start_s: 0,
    marks: [],
    phases: [],
    series: { rtt: blob.add(series[i]!, "ms") },
  }));
  const report = reportWith({
    scenario: "two-pairs",
    title: "Two pairs that share the last links",
    description:
      "Toronto to Washington and Wuhan to Washington over a shell of 72 planes with 22 satellites.",
    seed: 1,
    clock: "virtual",
    version: "0.4.0",
    source: 'name = "two-pairs"\n',
    variants: [],
    sweep: [],
    runs: [],
    summary: [],
    expectations: [],
    published: [],
    traces: [{ variant: "", point: {}, run: 0, flows, links: [], constellation: 0, routes }],
    constellations: [sky],
  });
  return { report, blob: blob.bytes() };
}

/** A run of two flows that share a bottleneck under the same sky, with how fairly they did. */
export function constellationReport(): Fixture {
  const blob = new BlobWriter();
  const base = orbitReport([STARLINK], 100, 5);
  const draw = random(11);
  const report = structuredClone(base.report);
  const end = 100;
  const n = 2000;
  const t = Float64Array.from({ length: n }, (_, i) => (i / n) * end);
  const rates = [6.1, 3.4];
  const rtts = [11, 105];
  const { sky } = skyOf([STARLINK], 21, 5, blob);
  report.constellations = [sky];
  report.variants = ["reno"];
  report.path = {
    name: "Starlink-550",
    hops: [],
    rtt_ms: 105,
    bdp_bytes: 130_000,
    profile: null,
    source: null,
  };
  report.traces[0]!.variant = "reno";
  report.traces[0]!.flows = PAIRS.map(([name], i) => {
    const saw = t.map((x) => ((x + i * 3) % [8, 31][i]!) / [8, 31][i]!);
    const sum = { t, v: Float32Array.from(t, (x) => (rates[i]! * 1e6 * x) / 8) };
    return {
      name,
      visit: 1,
      start_s: i * 0.1,
      marks: [],
      phases: [],
      series: {
        received: blob.add(sum, "bytes"),
        cwnd: blob.add({ t, v: saw.map((s) => 15_000 + s * 90_000 * (1 + i)) }, "bytes"),
        rtt: blob.add({ t, v: saw.map((s) => rtts[i]! + s * 60 + 4 * draw()) }, "ms"),
        smoothed_rtt: blob.add({ t, v: saw.map((s) => rtts[i]! + s * 60) }, "ms"),
      },
    };
  });
  report.runs = [
    {
      variant: "reno",
      point: {},
      run: 0,
      flows: PAIRS.map(([name], i) =>
        flowWith({
          ...{
            name,
            visit: 1,
            transport: "tcp",
            congestion: "newreno",
            direction: "download",
            bytes: rates[i]! * 1.25e7,
            completed: true,
            start_s: i * 0.1,
          },
          ...{
            handshake_s: 0.011,
            first_byte_s: 0.03,
            completion_s: 100,
            goodput_mbps: rates[i]!,
            packets_sent: 50_000,
            packets_lost_queue: 120,
            packets_lost_channel: 0,
            packets_declared_lost: 121,
          },
          ...{
            flow_control_blocked_s: null,
            reverse_packets: 25_000,
            reverse_packets_lost: 0,
            reverse_bytes: layers({ total: 1_300_000 }),
            rtt_min_ms: rtts[i]!,
            rtt_mean_ms: rtts[i]! + 30,
            rtt_p99_ms: rtts[i]! + 60,
            rtt_max_ms: rtts[i]! + 70,
            cwnd_max_bytes: 2_000_000,
            objects: [],
          },
        }),
      ),
      links: [],
      fairness: fairnessWith({
        from_s: 10,
        to_s: 100,
        jain_index: 0.93,
        min_max_ratio: 0.557,
        bottleneck: "isl 12-4 > 12-5",
        bottleneck_utilisation: 0.953,
        bottleneck_queue_ms: 31.5,
        convergence_s: null,
        aggregate_goodput_mbps: 9.5,
      }),
    },
  ];
  return { report, blob: blob.bytes() };
}
