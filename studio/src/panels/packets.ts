import type { Layer } from "../charts/time/spec.ts";
import { crossingsOf, type Flights } from "../data/flights.ts";
import { flowMetric, METRIC } from "../data/metrics.ts";
import type { Flow, PathSummary } from "../data/report.types.ts";
import { type Role, roleColour } from "../format/palette.ts";
import { BASE, firstConnection, marksOf, type Panel } from "./panel.ts";

/** Ends of the path in the plot, and where a dropped packet ends: nowhere in particular. */
const [SENDER, RECEIVER, BETWEEN] = [1, 0, 0.5];

/** The smallest RTT of a flow, else that of the idle path, in seconds; 0 if both are unknown. */
export function rttOf({
  result,
  path,
}: {
  result: Flow | undefined;
  path: PathSummary | null | undefined;
}): number {
  return ((result && flowMetric(result, METRIC.rttMin)) ?? path?.rtt_ms ?? 0) / 1000;
}

/** Every packet and ACK of a flow between its ends: a sequence diagram, with time from the left. */
export const packets: Panel = {
  ofFlow: (view) => {
    const crossings = crossingsOf(view.flow, view.cache, rttOf(view));
    if (!crossings) return [];
    const layer = (
      { data, ...flight }: Flights,
      [from, to]: [number, number],
      role: Role,
      [name, title]: [string, string],
    ): Layer[] =>
      data.n === 0
        ? []
        : [
            {
              ...{ name, title, data, style: "flight", width: 1, shown: true },
              ...{ flight: { ...flight, from, to }, colour: () => roleColour(role) },
            },
          ];
    const acks = crossings.recorded
      ? "ACKs, from when they left the receiver until they reached the sender"
      : "ACKs; when they left is computed: half of the smallest RTT before they arrived";
    const covered = "Packets, from their sending until the ACK that reports them left";
    const lost = "Packets that a link dropped, until it did";
    return [
      {
        ...BASE,
        ...firstConnection(view.result?.connections),
        marks: marksOf(view),
        id: "packets",
        title: "Packets and ACKs",
        unit: "bytes",
        ends: ["receiver", "sender"],
        height: 240,
        layers: [
          ...layer(crossings.packets, [SENDER, RECEIVER], "sent", ["packets", covered]),
          ...layer(crossings.acks, [RECEIVER, SENDER], "acked", ["ACKs", acks]),
          ...layer(crossings.dropped, [SENDER, BETWEEN], "lost", ["dropped", lost]),
        ],
        folded: "each one between sender and receiver: open it and zoom to a second",
        howto:
          "Time from the left, the sender above, the receiver below. A line down is a packet; it " +
          "ends where the ACK that reports it left, which may be later than it arrived. A line " +
          "up is an ACK. The steeper a line, the shorter the queue. A cross is a drop: when, not " +
          "where. Of more lines than can be told apart, every second, third or tenth is drawn.",
      },
    ];
  },
};
