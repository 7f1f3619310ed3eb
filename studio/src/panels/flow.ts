import type { Layer, PanelSpec, Reference, Style } from "../charts/time/chart.ts";
import { everyLink } from "../data/link-choice.ts";
import { CAREFUL, kindsIn, phasesOf } from "../data/phases.ts";
import { Ways } from "../data/routes.ts";
import type { Flow, PathInfo, Trace, TraceFlow } from "../data/schema.ts";
import { extentOf, type SeriesCache } from "../data/series-cache.ts";
import { count } from "../format/numbers.ts";
import { type Role, roleColour, variantColour } from "../format/palette.ts";
import { CREDIT_SERIES, creditPanel } from "./flow-control.ts";
import { linkPanels, type PanelBase } from "./links.ts";
import { RETURN_SERIES } from "./overlay.ts";

interface Plan {
  key: string;
  name: string;
  title: string;
  style: Style;
  role: Role;
  fill?: boolean;
  dash?: number[];
  width?: number;
  points?: boolean;
}

const SEQUENCE: Plan[] = [
  {
    key: "sent",
    name: "sent",
    title: "Packets sent, at their position among all bytes sent",
    style: "dots",
    role: "sent",
  },
  {
    key: "acked",
    name: "acknowledged",
    title: "Position of the newest packet acknowledged, when the ACK reached the sender",
    style: "step",
    role: "acked",
    width: 2,
    points: true,
  },
  {
    key: "received",
    name: "received",
    title: "Data delivered to the receiving application",
    style: "step",
    role: "received",
    width: 1.8,
  },
  {
    key: "lost",
    name: "declared lost",
    title: "Packets the sender declared lost, when it did",
    style: "cross",
    role: "lost",
    width: 1.8,
  },
  {
    key: "dropped_policer",
    name: "dropped by policer",
    title: "Packets that a policer dropped, when it did",
    style: "triangle",
    role: "dropped_policer",
  },
  {
    key: "dropped_queue",
    name: "dropped by queue",
    title: "Packets that a full queue dropped, when it did",
    style: "triangle",
    role: "dropped_queue",
  },
  {
    key: "dropped_loss",
    name: "lost on link",
    title: "Packets that a link lost at random, when it did",
    style: "plus",
    role: "dropped_loss",
    width: 1.8,
  },
];

const WINDOW: Plan[] = [
  {
    key: "bytes_in_flight",
    name: "in flight",
    title: "Bytes sent and not yet acknowledged or declared lost",
    style: "step",
    role: "flight",
    fill: true,
    width: 1.3,
  },
  {
    key: "cwnd",
    name: "congestion window",
    title: "What the controller allows in flight",
    style: "step",
    role: "cwnd",
    width: 2.2,
  },
  {
    key: "ssthresh",
    name: "slow-start threshold",
    title: "Where exponential growth ends; set at the first sign of congestion",
    style: "step",
    role: "ssthresh",
    dash: [7, 4],
  },
];

const RTT: Plan[] = [
  {
    key: "rtt",
    name: "latest",
    title: "Round-trip time of single samples",
    style: "dots",
    role: "rtt",
  },
  {
    key: "smoothed_rtt",
    name: "smoothed",
    title: "The sender's smoothed round-trip time",
    style: "line",
    role: "srtt",
    width: 2,
  },
];

const PACING: Plan[] = [
  {
    key: "pacing_rate",
    name: "pacing rate",
    title: "Rate at which the sender lets packets out",
    style: "step",
    role: "pacing",
    width: 1.8,
  },
];

/** How to read round trips of paths without packets. */
export const ALONE =
  "What the path itself takes there and back at each time. A slope is satellites that move; a step is another way, over other satellites; a gap is a time without any way.";

/** More changes of ways than these would be a pattern behind a plot. */
const MOST_CHANGES = 60;

/** What the thin lines in plots of paths over satellites are. */
export const CHANGES = " Thin upright lines stand where the way becomes another one.";

/** Lines where the ways of some flows become other ones; none where they would hide the plot. */
export function wayChanges(trace: Trace, flows: TraceFlow[]): PanelSpec["marks"] {
  const ways = new Ways(trace.paths ?? []);
  const times = [...new Set(flows.map((f) => f.name))].flatMap((name) => ways.changesOf(name));
  return times.length <= MOST_CHANGES
    ? times.sort((a, b) => a - b).map((t) => ({ t, label: "" }))
    : [];
}

/** How to read numbers of hops. */
export const HOPS =
  "Links on the way of the flow, from one end to the other. Where the number changes, so does the way; a way may change without it.";

/** Series of a flow that have a plot of their own, here or in the section on the return link. */
export const KNOWN = new Set([
  ...[...SEQUENCE, ...WINDOW, ...RTT, ...PACING].map((p) => p.key),
  ...CREDIT_SERIES,
  ...RETURN_SERIES,
]);

function layers(plans: Plan[], flow: TraceFlow, cache: SeriesCache): Layer[] {
  return plans.flatMap((p) => {
    const data = cache.get(flow.series[p.key]);
    if (!data) return [];
    const { name, title, style, role } = p;
    return [{ name, title, style, data, colour: () => roleColour(role), shown: true, ...pick(p) }];
  });
}

function pick(p: Plan): Partial<Layer> {
  return {
    ...(p.fill ? { fill: true } : {}),
    ...(p.dash ? { dash: p.dash } : {}),
    ...(p.width ? { width: p.width } : {}),
    ...(p.points ? { points: true } : {}),
  };
}

/** A level that is drawn where it is known. */
export const reference = (name: string, value: number | null | undefined): Reference[] =>
  value !== null && value !== undefined && Number.isFinite(value) && value > 0
    ? [{ name, value, colour: () => roleColour("reference") }]
    : [];

/** What the sender's series stand for where a visit took several connections; nothing where it took one. */
export function ofFirst(connections: number | undefined, rest = ""): Pick<PanelSpec, "note"> {
  return connections !== undefined && connections > 1
    ? {
        note: `The sender's series are those of the first of ${count(connections)} connections${rest}.`,
      }
    : {};
}

/** The plots of one flow of one run, top to bottom; those without any series are left out. `result` is what the flow measured, `links` which links are drawn. */
export function panelsOf(
  trace: Trace,
  flow: TraceFlow,
  path: PathInfo | undefined,
  cache: SeriesCache,
  result?: Flow,
  links = everyLink(trace),
): PanelSpec[] {
  const connections = result?.connections;
  const marks = flow.marks.map((m) => ({ t: m.t_s, label: m.label })).sort((a, b) => a.t - b.t);
  const changes = wayChanges(trace, [flow]);
  const base: PanelBase = {
    references: [],
    marks: [...marks, ...changes].sort((a, b) => a.t - b.t),
    phases: null,
    labels: false,
    zero: true,
    height: 190,
  };
  const [sequence, window, rtt, pacing] = [SEQUENCE, WINDOW, RTT, PACING].map((plans) =>
    layers(plans, flow, cache),
  ) as [Layer[], Layer[], Layer[], Layer[]];
  // Round trips without packets are of the path, and known at every time.
  const alone =
    trace.sky !== undefined && sequence.length + window.length === 0 && !flow.series.smoothed_rtt;
  if (alone)
    for (const layer of rtt)
      Object.assign(layer, {
        name: "path",
        title: "Round-trip time of the path",
        style: "line",
        width: 2,
      } satisfies Partial<Layer>);
  const phases = phasesOf(
    flow.phases,
    extentOf([...sequence, ...window, ...rtt, ...pacing])?.[1] ?? 0,
  );
  const bands = (): PanelSpec["phases"] => phases && { data: phases, shown: true };
  const panels: PanelSpec[] = [
    {
      ...base,
      ...ofFirst(connections, "; what was received and what links dropped is of all of them"),
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
      ...ofFirst(connections),
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
        (phases && kindsIn(phases).some((k) => CAREFUL.includes(k as never))
          ? " Coloured are the phases of Careful Resume: reconnaissance, before anything is confirmed; unvalidated, the jump to the remembered window; validating, until what was sent in the jump is acknowledged; safe retreat, the way back when it was too much."
          : ""),
    },
    {
      ...base,
      ...ofFirst(connections),
      id: "rtt",
      title: "Round-trip time",
      unit: "ms",
      zero: false,
      phases: bands(),
      layers: rtt,
      references: trace.sky === undefined ? reference("path, queues empty", path?.rtt_ms) : [],
      howto:
        (alone
          ? ALONE
          : trace.sky !== undefined
            ? "The round trip moves with the satellites, and jumps where the way becomes another one: the globe shows which. What comes and goes on top of that is time in queues."
            : "What stands above the dotted line is time in queues (and ACKs that the receiver held back). A ramp followed by losses is a queue that filled up; a step that stays is a change of the path itself.") +
        (changes.length > 0 ? CHANGES : ""),
    },
    {
      ...base,
      ...ofFirst(connections),
      id: "pacing",
      title: "Pacing rate",
      unit: "Mbps",
      phases: bands(),
      layers: pacing,
      howto:
        "How fast the sender lets packets out. Far above the link's rate, bursts pile up in the queue; below it, the link idles.",
    },
    ...creditPanel(flow, result, path, cache, { ...base, ...ofFirst(connections) }),
  ];
  for (const key of Object.keys(flow.series)) {
    const data = KNOWN.has(key) ? null : cache.get(flow.series[key]);
    if (!data) continue;
    const own: Layer = {
      name: key,
      title: `Series ${key} of the flow`,
      style: "step",
      data,
      colour: () => variantColour(0),
      shown: true,
    };
    panels.push({
      ...base,
      id: `flow:${key}`,
      title: key === "hops" ? "Hops" : key,
      unit: flow.series[key]!.unit,
      zero: key === "hops",
      height: 150,
      layers: [own],
      howto: key === "hops" ? HOPS : "A series of the flow that this page has no own plot for.",
    });
  }
  return [...panels, ...linkPanels(links, cache, base)].filter((p) => p.layers.length > 0);
}
