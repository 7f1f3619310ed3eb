import type { PanelSpec } from "../charts/time/spec.ts";
import { heightOf, type Kind, type Row, type Waterfall } from "../charts/time/waterfall.ts";
import { SERIES } from "../data/names.ts";
import type { FlowSeries, PathSummary, Trace } from "../data/report.types.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { causesOf } from "../data/time-budget.ts";
import type { RequestDocument, TracePage } from "../data/trace.types.ts";
import { partColour, roleColour } from "../format/palette.ts";
import { binOf, rateOf } from "../panels/goodput.ts";
import { BASE, type FlowView, layersOf, type Plan, phasesIn, reference } from "../panels/panel.ts";
import { rtt } from "../panels/rtt.ts";
import { window } from "../panels/window.ts";
import { partNamed } from "./words.ts";

/** Height of the time axis, in CSS pixels. */
const AXIS = 36;

const cross = { style: "cross", width: 1.8 } as const;

/** The data at its sender, and what became of it. */
const SENT: Plan[] = [
  {
    key: SERIES.sent,
    name: "sent",
    title: "Packets of new data, at their position among all bytes sent",
    style: "dots",
    role: "sent",
  },
  {
    key: "sent_again",
    name: "sent again",
    title: "Packets of data that had been sent before",
    style: "dots",
    role: "limit",
  },
  {
    key: SERIES.acked,
    name: "acknowledged",
    title: "Position of the newest packet acknowledged, when the ACK arrived",
    style: "step",
    role: "acked",
    width: 2,
  },
  { key: "lost", name: "lost", title: "Lost packets, when they were sent", role: "lost", ...cross },
  {
    key: "lost_at_queue",
    name: "lost at a full queue",
    title: "Packets lost while the queue was about full, when they were sent",
    style: "triangle",
    role: "droppedQueue",
  },
];

/** The data at its receiver. */
const RECEIVED: Plan[] = [
  {
    key: SERIES.received,
    name: "received",
    title: "Packets of new data, at their position among all bytes received",
    style: "dots",
    role: "received",
  },
  {
    key: "received_late",
    name: "late or twice",
    title: "Packets of data before the newest: they fill a gap, or came twice",
    style: "dots",
    role: "limit",
  },
  {
    key: "repaired",
    name: "repairs a loss",
    title: "When lost data came after all",
    role: "lost",
    ...cross,
  },
];

/** What flow control allows. */
const LIMITS: Plan[] = [
  {
    key: SERIES.limitAtSender,
    name: "flow-control limit",
    title: "Limit of the peer's flow control, when it arrived",
    style: "step",
    role: "reference",
    dash: [6, 3],
    width: 1.6,
    bounded: true,
  },
  {
    key: SERIES.limit,
    name: "flow-control limit",
    title: "Limit of flow control, when this end announced it",
    style: "step",
    role: "reference",
    dash: [6, 3],
    width: 1.6,
    bounded: true,
  },
];

function sequence(view: FlowView, sender: boolean): PanelSpec {
  const howto = sender
    ? "Each dot is a packet at its position among all bytes sent, repeats included. A staircase " +
      "is slow start; a straight slope is the rate of the slowest link. The horizontal distance " +
      "from a dot to the acknowledged line is a round trip, the vertical distance the data in " +
      "flight. A flat stretch is a gap: the strip below says what was waited for."
    : "Each dot is a packet at its position among all new bytes. A staircase is slow start; a " +
      "straight slope is the rate of the slowest link; a flat stretch is a gap: the strip below " +
      "says what was waited for. Data that fills a gap lies on the line of the newest data.";
  return {
    ...BASE,
    id: "sequence",
    title: sender ? "Data sent" : "Data received",
    unit: "bytes",
    height: 330,
    layers: layersOf([...(sender ? SENT : RECEIVED), ...LIMITS], view),
    howto,
  };
}

/** The rate of the data in bins of a round trip. */
function rate(view: FlowView, page: TracePage): PanelSpec[] {
  const key = [SERIES.received, SERIES.sent].find((name) => view.flow.series[name]);
  const data = key && view.cache.get(view.flow.series[key]);
  if (!data) return [];
  const { path } = page.trace;
  const bin = binOf(view.path, [data.t.at(-1)! - data.t[0]!]);
  return [
    {
      ...BASE,
      id: "rate",
      title: key === SERIES.sent ? "Rate of sending" : "Rate of arrival",
      unit: "Mbps",
      height: 190,
      layers: [
        {
          name: key === SERIES.sent ? "sent" : "received",
          title: "Data in bins of a round trip",
          style: "step",
          data: rateOf(data, bin),
          colour: () => roleColour(key === SERIES.sent ? "sent" : "received"),
          width: 1.8,
          fill: true,
          shown: true,
        },
      ],
      references: path.rate_is_least
        ? reference("rate that was held, at least", path.proven_rate_mbps)
        : reference("rate of the path", path.rate_mbps),
      howto:
        `Data in bins of ${Math.round(bin * 1000)} ms. Below the dotted line the link was partly ` +
        "idle; the strip says why.",
    },
  ];
}

/** The requests as bars, in the colour of what held each up most. */
export function waterfallOf(requests: RequestDocument[]): Waterfall | null {
  if (requests.length < 2) return null;
  const kinds = new Map<string, Kind>();
  const rows = requests.map((r): Row => {
    const part = partNamed(r.cause);
    const name = part?.label ?? "Data on the link";
    const colour = (): string => partColour(part ?? partNamed("serialisation_s")!);
    const kind = kinds.get(name) ?? { name, objects: 0, bytes: 0, colour, shown: true };
    kinds.set(name, kind);
    kind.objects += 1;
    kind.bytes += r.bytes;
    const from = r.asked_s ?? r.first_byte_s;
    const words = r.stream === null ? `${r.number}` : `${r.number}, stream ${r.stream}`;
    return { name: words, bytes: r.bytes, from, to: r.last_byte_s, kind };
  });
  return { rows, kinds: [...kinds.values()] };
}

function requests(page: TracePage): PanelSpec[] {
  const waterfall = waterfallOf(page.trace.requests);
  if (!waterfall) return [];
  return [
    {
      ...BASE,
      id: "requests-plot",
      title: "Requests",
      unit: "",
      layers: [],
      waterfall,
      height: heightOf(waterfall.rows.length) + AXIS,
      howto:
        "Each bar is a request, from when it was asked to the last byte of its answer, in the " +
        "colour of what held it up most. Point at one for its size and times.",
    },
  ];
}

/** What the plots of a transfer are made from. */
export function viewOf(page: TracePage, cache: SeriesCache): FlowView {
  const flow: FlowSeries = page.series;
  const trace: Trace = { variant: "recorded", point: {}, run: 0, flows: [flow], links: [] };
  const { rtt_ms, rate_mbps, rate_is_least } = page.trace.path;
  const path: PathSummary = {
    name: page.file,
    profile: null,
    source: null,
    hops: [],
    rtt_ms,
    bdp_bytes: rate_is_least ? 0 : Math.round((rate_mbps * rtt_ms * 1000) / 8),
  };
  const links = { links: [], terminals: [], brief: (name: string) => name, many: null };
  return { trace, flow, path, result: undefined, links, cache, changes: [] };
}

/** The plots of a transfer, top to bottom. */
export function panelsOf(page: TracePage, cache: SeriesCache): PanelSpec[] {
  const view = viewOf(page, cache);
  const sender = view.flow.series[SERIES.sent] !== undefined;
  const data = { ...sequence(view, sender), phases: phasesIn(view) };
  const causes = causesOf(view.flow, cache);
  const all = [
    data,
    ...requests(page),
    ...rate(view, page),
    ...rtt.ofFlow!(view),
    ...window.ofFlow!(view),
  ].filter((p) => p.layers.length > 0 || p.waterfall);
  return causes ? all.map((p) => ({ ...p, causes })) : all;
}
