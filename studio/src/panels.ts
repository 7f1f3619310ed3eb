import type { Layer, PanelSpec, Reference, Style } from "./chart.ts";
import { roleColour, variantColour, type Role } from "./palette.ts";
import { CAREFUL, kindsIn, phasesOf } from "./phases.ts";
import { pyramid, type Pyramid } from "./pyramid.ts";
import { seriesAt } from "./decode.ts";
import type { PathInfo, SeriesRef, Trace, TraceFlow } from "./types.ts";

/** Decodes series on demand and keeps their pyramids. */
export class SeriesCache {
  readonly #made = new Map<string, Pyramid>();
  /** Series that could not be read, in words. */
  readonly problems: string[] = [];

  constructor(readonly blob: ArrayBuffer) {}

  /** The series that `ref` points to; null where it is empty or not readable. */
  get(ref: SeriesRef | undefined): Pyramid | null {
    if (!ref || ref.n === 0) return null;
    const key = `${ref.offset}:${ref.n}`;
    const known = this.#made.get(key);
    if (known) return known;
    try {
      const made = pyramid(seriesAt(this.blob, ref));
      this.#made.set(key, made);
      return made;
    } catch (error) {
      this.problems.push(error instanceof Error ? error.message : String(error));
      return null;
    }
  }
}

interface Plan {
  key: string;
  name: string;
  title: string;
  style: Style;
  role: Role;
  fill?: boolean;
  dash?: number[];
  width?: number;
}

const SEQUENCE: Plan[] = [
  { key: "sent", name: "sent", title: "Packets sent, at their position among all bytes sent", style: "dots", role: "sent" },
  { key: "acked", name: "acknowledged", title: "Position of the newest packet acknowledged, when the ACK reached the sender", style: "step", role: "acked", width: 2 },
  { key: "received", name: "received", title: "Data delivered to the receiving application", style: "step", role: "received", width: 1.8 },
  { key: "lost", name: "declared lost", title: "Packets the sender declared lost, when it did", style: "cross", role: "lost", width: 1.8 },
  { key: "dropped_queue", name: "dropped by queue", title: "Packets that a full queue dropped, when it did", style: "triangle", role: "dropped_queue" },
  { key: "dropped_loss", name: "lost on link", title: "Packets that a link lost at random, when it did", style: "plus", role: "dropped_loss", width: 1.8 },
];

const WINDOW: Plan[] = [
  { key: "bytes_in_flight", name: "in flight", title: "Bytes sent and not yet acknowledged or declared lost", style: "step", role: "flight", fill: true, width: 1.3 },
  { key: "cwnd", name: "congestion window", title: "What the controller allows in flight", style: "step", role: "cwnd", width: 2.2 },
  { key: "ssthresh", name: "slow-start threshold", title: "Where exponential growth ends; set at the first sign of congestion", style: "step", role: "ssthresh", dash: [7, 4] },
];

const RTT: Plan[] = [
  { key: "rtt", name: "latest", title: "Round-trip time of single samples", style: "dots", role: "rtt" },
  { key: "smoothed_rtt", name: "smoothed", title: "The sender's smoothed round-trip time", style: "line", role: "srtt", width: 2 },
];

const PACING: Plan[] = [{ key: "pacing_rate", name: "pacing rate", title: "Rate at which the sender lets packets out", style: "step", role: "pacing", width: 1.8 }];

const KNOWN = new Set([...SEQUENCE, ...WINDOW, ...RTT, ...PACING].map((p) => p.key));
const KNOWN_LINK = new Set(["throughput", "queue", "drops_queue", "drops_loss"]);

function layers(plans: Plan[], flow: TraceFlow, cache: SeriesCache): Layer[] {
  return plans.flatMap((p) => {
    const data = cache.get(flow.series[p.key]);
    if (!data) return [];
    const { name, title, style, role } = p;
    return [{ name, title, style, data, colour: () => roleColour(role), shown: true, ...pick(p) }];
  });
}

function pick(p: Plan): Partial<Layer> {
  return { ...(p.fill ? { fill: true } : {}), ...(p.dash ? { dash: p.dash } : {}), ...(p.width ? { width: p.width } : {}) };
}

const reference = (name: string, value: number | null | undefined): Reference[] =>
  value !== null && value !== undefined && Number.isFinite(value) && value > 0 ? [{ name, value, colour: () => roleColour("reference") }] : [];

/** The plots of one flow of one run, top to bottom; those without any series are left out. */
export function panelsOf(trace: Trace, flow: TraceFlow, path: PathInfo | undefined, cache: SeriesCache): PanelSpec[] {
  const marks = flow.marks.map((m) => ({ t: m.t_s, label: m.label })).sort((a, b) => a.t - b.t);
  const base = { references: [] as Reference[], marks, phases: null, labels: false, zero: true, height: 190 };
  const links = trace.links;
  const [sequence, window, rtt, pacing] = [SEQUENCE, WINDOW, RTT, PACING].map((plans) => layers(plans, flow, cache)) as [Layer[], Layer[], Layer[], Layer[]];
  const phases = phasesOf(flow.phases, extentOf([...sequence, ...window, ...rtt, ...pacing])?.[1] ?? 0);
  const bands = (): PanelSpec["phases"] => phases && { data: phases, shown: true };
  const perLink = (key: string, style: Style, title: string, extra: Partial<Layer> = {}): Layer[] =>
    links.flatMap((l, i) => {
      const data = cache.get(l.series[key]);
      return data ? [{ name: l.name, title: `${title} ${l.name}`, style, data, colour: () => variantColour(i), shown: true, ...extra }] : [];
    });
  const panels: PanelSpec[] = [
    {
      ...base,
      id: "sequence",
      title: "Time and sequence",
      unit: "bytes",
      zero: false,
      labels: marks.length > 0,
      height: 330,
      layers: sequence,
      howto:
        "Each dot is a packet at its position among all bytes sent, what was sent again included. In slow start the dots form a staircase: one burst per round trip, each about twice as tall, until the steps merge into a slope, which is the rate of the narrowest link. Across from a dot to the acknowledged line is one round trip; straight down from it is what was in flight. Crosses are packets declared lost, one round trip or more after the link dropped them; a flat received line with packets still arriving is data waiting behind a hole. At the end that line stays below the others by what was sent twice, and by headers.",
    },
    {
      ...base,
      id: "window",
      title: "Congestion window and bytes in flight",
      unit: "bytes",
      height: 220,
      phases: bands(),
      layers: window,
      references: reference("bandwidth-delay product", path?.bdp_bytes),
      howto:
        "The window is what the controller allows, the filled area what really is on its way. Where the area touches the window, the controller limits the flow. A gap between them means that something else does: the application, flow control, or the start of a round trip with nothing acknowledged yet. Below the bandwidth-delay product the path runs partly empty; above it, the rest stands in a queue." +
        (phases ? " The strip on top says in which phase the congestion control was." : "") +
        (phases && kindsIn(phases).some((k) => CAREFUL.includes(k as never)) ? " Coloured are the phases of Careful Resume: reconnaissance, before anything is confirmed; unvalidated, the jump to the remembered window; validating, until what was sent in the jump is acknowledged; safe retreat, the way back when it was too much." : ""),
    },
    {
      ...base,
      id: "rtt",
      title: "Round-trip time",
      unit: "ms",
      zero: false,
      phases: bands(),
      layers: rtt,
      references: reference("path, queues empty", path?.rtt_ms),
      howto: "What stands above the dotted line is time in queues (and ACKs that the receiver held back). A ramp followed by losses is a queue that filled up; a step that stays is a change of the path itself.",
    },
    {
      ...base,
      id: "pacing",
      title: "Pacing rate",
      unit: "Mbps",
      phases: bands(),
      layers: pacing,
      howto: "How fast the sender lets packets out. Far above the link's rate, bursts pile up in the queue; below it, the link idles.",
    },
    {
      ...base,
      id: "throughput",
      title: "Link throughput",
      unit: "Mbps",
      layers: perLink("throughput", "step", "Throughput of", { width: 1.6 }),
      references: links
        .map((l, i) => ({ name: `${l.name} rate`, value: l.rate_mbps ?? 0, colour: () => variantColour(i), has: l.series["throughput"] !== undefined }))
        .filter((r) => r.value > 0 && r.has)
        .map(({ name, value, colour }) => ({ name, value, colour })),
      howto: "What each link carried, in bins. A download is done soonest when the forward link sits at its rate from the first round trip on; every notch before that is time lost to starting up. The return link carries mostly ACKs.",
    },
    {
      ...base,
      id: "queue",
      title: "Queue",
      unit: "bytes",
      layers: [
        ...perLink("queue", "step", "Bytes waiting at"),
        ...perLink("drops_queue", "rug", "Drops of the full queue at").map((l) => ({ ...l, name: `${l.name} drops` })),
        ...perLink("drops_loss", "rug", "Random losses on").map((l) => ({ ...l, name: `${l.name} losses`, colour: () => roleColour("dropped_loss") })),
      ],
      references: links
        .map((l, i) => ({ name: `${l.name} limit`, value: l.queue_limit_bytes ?? 0, colour: () => variantColour(i), has: l.series["queue"] !== undefined }))
        .filter((r) => r.value > 0 && r.has)
        .map(({ name, value, colour }) => ({ name, value, colour })),
      howto: "Bytes waiting before each link; the strokes at the bottom are dropped packets. A queue that never empties adds delay and no throughput; one at its limit drops.",
    },
  ];
  for (const key of Object.keys(flow.series)) {
    const data = KNOWN.has(key) ? null : cache.get(flow.series[key]);
    if (!data) continue;
    const own: Layer = { name: key, title: `Series ${key} of the flow`, style: "step", data, colour: () => variantColour(0), shown: true };
    panels.push({ ...base, id: `flow:${key}`, title: key, unit: flow.series[key]!.unit, zero: false, height: 150, layers: [own], howto: "A series of the flow that this page has no own plot for." });
  }
  for (const key of new Set(links.flatMap((l) => Object.keys(l.series)))) {
    if (KNOWN_LINK.has(key)) continue;
    const unit = links.find((l) => l.series[key])?.series[key]?.unit ?? "";
    panels.push({ ...base, id: `link:${key}`, title: `Link ${key}`, unit, zero: false, height: 150, layers: perLink(key, "step", `${key} of`), howto: key === "delay" ? "Delay of each link; over a constellation it moves with the satellites." : "A series of the links that this page has no own plot for." });
  }
  return panels.filter((p) => p.layers.length > 0);
}

/** First and last instant of some layers, in the run's time; null where there is none. */
export function extentOf(list: Layer[]): [number, number] | null {
  let lo = Infinity;
  let hi = -Infinity;
  for (const { data } of list) {
    if (data.n === 0) continue;
    lo = Math.min(lo, data.t[0]!);
    hi = Math.max(hi, data.t[data.n - 1]!);
  }
  return hi >= lo ? [lo, hi] : null;
}
