import { SERIES } from "../data/names.ts";
import {
  BASE,
  firstConnection,
  layersOf,
  marksOf,
  namedMarks,
  type Panel,
  type Plan,
} from "./panel.ts";

const PLANS: Plan[] = [
  {
    key: SERIES.sent,
    name: "sent",
    title: "Packets sent, at their position among all bytes sent",
    style: "dots",
    role: "sent",
  },
  {
    key: SERIES.acked,
    name: "acknowledged",
    title: "Position of the newest packet acknowledged, when the ACK reached the sender",
    style: "step",
    role: "acked",
    width: 2,
    points: true,
  },
  {
    key: SERIES.received,
    name: "received",
    title: "Data delivered to the receiving application",
    style: "step",
    role: "received",
    width: 1.8,
  },
  {
    key: SERIES.lost,
    name: "declared lost",
    title: "Packets that the sender declared lost, at the time it did",
    style: "cross",
    role: "lost",
    width: 1.8,
  },
  {
    key: SERIES.droppedPolicer,
    name: "dropped by policer",
    title: "Packets dropped by a policer",
    style: "triangle",
    role: "droppedPolicer",
  },
  {
    key: SERIES.droppedQueue,
    name: "dropped by queue",
    title: "Packets dropped by a full queue",
    style: "triangle",
    role: "droppedQueue",
  },
  {
    key: SERIES.droppedChannel,
    name: "lost on channel",
    title: "Packets lost on the channel of a link",
    style: "plus",
    role: "droppedChannel",
    width: 1.8,
  },
  {
    key: SERIES.droppedRouting,
    name: "lost by routing",
    title: "Packets lost without a link's fault: link down, no route, or hop limit",
    style: "plus",
    role: "droppedRouting",
    width: 1.8,
  },
];

/** The time-sequence plot of one flow: packets, ACKs, deliveries, losses. */
export const sequence: Panel = {
  flowSeries: PLANS.map((p) => p.key),
  ofFlow: (view) => [
    {
      ...BASE,
      ...firstConnection(
        view.result?.connections,
        "; received data and drops are of all connections",
      ),
      marks: marksOf(view),
      id: "sequence",
      title: "Time and sequence",
      unit: "bytes",
      zero: false,
      labels: namedMarks(view.flow).length > 0,
      height: 330,
      layers: layersOf(PLANS, view),
      howto:
        "Each dot is a packet at its position among all bytes sent, retransmissions included. In " +
        "slow start the dots form a staircase: one burst per RTT, each about twice as tall, " +
        "until the steps merge into a slope, which is the rate of the slowest link. The " +
        "horizontal distance from a dot to the acknowledged line is one RTT; the vertical " +
        "distance is the data in flight. Crosses are packets declared lost, one RTT or more " +
        "after a link dropped them. A flat received line while packets arrive means that data " +
        "waits behind a gap. At the end the received line stays below the others by " +
        "retransmissions and headers.",
    },
  ],
};
