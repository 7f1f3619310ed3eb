import type { Layer, PanelSpec, Reference } from "../charts/time/chart.ts";
import { extremes, type Pyramid } from "../data/pyramid.ts";
import type { Trace, TraceFlow } from "../data/schema.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { roleColour, variantColour, variantDash } from "../format/palette.ts";

/** Series of a flow that the section on the return link draws, and nothing else does. */
export const RETURN_SERIES = [
  "packet_number_sent",
  "packet_number_acked",
  "return_rate",
  "data_per_ack",
  "ack_frame_bytes",
];

/** What packets are counted in along the upright axis of the first plot. */
export type Count = "bytes" | "packets";

/** One run among those drawn over each other. */
export interface Overlaid {
  name: string;
  /** Place of its variant, which its colour goes by. */
  index: number;
  trace: Trace;
  flow: TraceFlow;
  /** Whether its data goes to the server, so that what acknowledges it comes on forward links. */
  upload: boolean;
}

/** The series with its times counted from the flow's first packet, so that runs begin together. */
function fromStart(data: Pyramid, start: number): Pyramid {
  if (start === 0) return data;
  const known = shifted.get(data);
  if (known) return known;
  const moved = { ...data, t: data.t.map((t) => t - start) };
  shifted.set(data, moved);
  return moved;
}

/** A series belongs to one flow, which has one beginning. */
const shifted = new WeakMap<Pyramid, Pyramid>();

/** The rate of the narrowest link that acknowledgements of a run pass, in kbps; null where one of them has none that is constant. */
export function returnCapacity({
  trace,
  upload,
}: Pick<Overlaid, "trace" | "upload">): number | null {
  const way = trace.links.filter((l) => l.name.endsWith(upload ? "/forward" : "/return"));
  const rates = way.map((l) => l.rate_mbps);
  return rates.length > 0 && rates.every((r) => r !== null)
    ? Math.min(...rates.map((r) => r!)) * 1000
    : null;
}

/** Plots of runs drawn over each other, each in its colour; those without any series are left out. */
export function overlayPanels(runs: Overlaid[], counted: Count, cache: SeriesCache): PanelSpec[] {
  const base = { references: [], marks: [], phases: null, labels: false, zero: true };
  const one = runs.length === 1;
  const perRun = (key: string, what: string, more: (run: Overlaid) => Partial<Layer>): Layer[] =>
    runs.flatMap((run) => {
      const data = cache.get(run.flow.series[key]);
      const { name, index } = run;
      return data
        ? [
            {
              name,
              title: `${what} ${name}`,
              style: "step",
              data: fromStart(data, run.flow.start_s),
              colour: () => variantColour(index),
              dash: variantDash(index),
              width: 1.8,
              shown: true,
              ...more(run),
            },
          ]
        : [];
    });
  const [sent, acked] =
    counted === "bytes" ? ["sent", "acked"] : ["packet_number_sent", "packet_number_acked"];
  const capacities = [...new Set(runs.flatMap((run) => returnCapacity(run) ?? []))];
  const capacity: Reference[] = capacities.map((value) => ({
    name: "return link",
    value,
    colour: () => roleColour("reference"),
  }));
  const sizes = perRun("ack_frame_bytes", "ACK frames of", () => ({ style: "dots" }));
  const ends = sizes.map(({ data }) => ({ ...extremes(data, 0, data.n) }));
  const [least, most] = [Math.min(...ends.map((e) => e.min)), Math.max(...ends.map((e) => e.max))];
  const panels: PanelSpec[] = [
    {
      ...base,
      id: "sender",
      title:
        counted === "bytes"
          ? "Byte sequence and ACKs at the sender"
          : "Packet numbers and ACKs at the sender",
      unit: counted,
      zero: false,
      height: 340,
      layers: [
        ...perRun(sent!, "Packets sent by", ({ name }) => ({
          name: `${name} sent`,
          style: "dots",
          ...(one ? { name: "sent", colour: () => roleColour("sent") } : {}),
        })),
        ...perRun(acked!, "ACKs that reach the sender of", ({ name }) => ({
          name: `${name} ACKs`,
          width: 1.4,
          points: true,
          ...(one ? { name: "ACKs", colour: () => roleColour("acked") } : {}),
        })),
        ...(counted === "bytes"
          ? perRun("lost", "Packets declared lost by", ({ name }) => ({
              name: `${name} lost`,
              style: "cross",
              dash: [],
              ...(one ? { name: "lost", colour: () => roleColour("lost") } : {}),
            }))
          : []),
      ],
      howto: `Each dot is a packet that leaves, ${counted === "bytes" ? "at its position among all bytes sent: for QUIC the lengths of packets are added up, which makes it comparable with TCP" : "at its number: QUIC's own, for TCP the count of segments"}. The line is what ACKs have reported when they reach the sender; zoom in, and each ACK is a dot on it. Few ACKs make tall steps: each of them lets a burst go, unless the sender paces. Runs begin together, at their first packet.`,
    },
    {
      ...base,
      id: "return-rate",
      title: "Return rate",
      unit: "kbps",
      height: 220,
      layers: perRun("return_rate", "IP bytes against the data of", () => ({})),
      references: capacity,
      howto:
        "What the receiver of the data sends, IP headers included. Where it stands at the rate of the return link, ACKs wait for each other there, and the sender learns late what has arrived.",
    },
    {
      ...base,
      id: "data-per-ack",
      title: "Data packets per ACK",
      unit: "packets",
      height: 200,
      layers: perRun("data_per_ack", "Data packets to one ACK of", () => ({ points: true })),
      howto:
        "How many packets of data arrive for one that acknowledges. A policy that follows the path begins at two, so that slow start is not held up, and goes higher once there is much to acknowledge.",
    },
    {
      ...base,
      id: "ack-size",
      title: "ACK frame sizes",
      unit: "bytes",
      height: 180,
      layers: sizes,
      howto:
        "Each dot is an ACK frame. Frames stay small while nothing is missing; each hole in what arrived adds a range to them, until the sender has been told and the receiver has heard that it was.",
      folded: least === most ? `${least} bytes each` : `${least} to ${most} bytes`,
    },
  ];
  return panels.filter((p) => p.layers.length > 0);
}

/** When the last run is over: the time of its last sample of what its sender saw. */
export function endOf(panels: PanelSpec[]): number {
  const own = panels.filter((p) => p.id === "sender");
  return Math.max(
    0,
    ...(own.length > 0 ? own : panels).flatMap((p) =>
      p.layers.map(({ data }) => data.t[data.n - 1] ?? 0),
    ),
  );
}
