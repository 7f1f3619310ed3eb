import { flowMetric, METRIC, metricOf } from "../data/metrics.ts";
import { SERIES } from "../data/names.ts";
import type { Flow } from "../data/report.types.ts";
import { metricValue } from "../format/metric.ts";
import { BASE, firstConnection, layersOf, marksOf, type Panel, type Plan } from "./panel.ts";

const SENT: Plan = {
  key: SERIES.sent,
  name: "sent",
  title: "Packets sent, at their position among all bytes sent",
  style: "dots",
  role: "sent",
};

const LIMIT: Plan = {
  key: SERIES.limit,
  name: "limit",
  title: "Flow-control limit, when the receiver sent it",
  style: "step",
  role: "limit",
  width: 2,
  bounded: true,
  points: true,
};

const REST: Plan[] = [
  {
    key: SERIES.limitAtSender,
    name: "limit at sender",
    title: "Flow-control limit, when it reached the sender",
    style: "step",
    role: "limit",
    dash: [6, 3],
    width: 1.6,
    bounded: true,
  },
  {
    key: SERIES.consumed,
    name: "consumed",
    title: "Data that the receiving application has read",
    style: "step",
    role: "received",
    width: 1.8,
  },
];

/** Longest time that flow control blocked a flow, or all of that time if only that is known. */
export function blockedFor(flow: Flow | undefined): number | null {
  if (!flow) return null;
  return flowMetric(flow, METRIC.blockedLongest) ?? flowMetric(flow, METRIC.blocked);
}

/**
 * The flow-control limit against the bytes sent. Folded if flow control never blocked the sender
 * for longer than an RTT: there is nothing to see then.
 */
export const flowControl: Panel = {
  flowSeries: [LIMIT, ...REST].map((p) => p.key),
  ofFlow: (view) => {
    const { path, result } = view;
    const limit = layersOf([LIMIT], view);
    if (limit.length === 0) return [];
    const blocked = blockedFor(result);
    // Without the path's RTT, the flow's minimum stands in.
    const own = result ? (flowMetric(result, METRIC.rttMin) ?? 0) : 0;
    const rtt = (path && path.rtt_ms > 0 ? path.rtt_ms : own) / 1000;
    const limited = blocked === null || blocked > rtt;
    const longest = metricValue(metricOf(METRIC.blocked), blocked);
    const folded =
      blocked === 0 ? "never blocked the sender" : `blocked the sender for at most ${longest}`;
    return [
      {
        ...BASE,
        ...firstConnection(result?.connections),
        marks: marksOf(view),
        id: "flow-control",
        title: "Flow control",
        unit: "bytes",
        height: 260,
        layers: [...layersOf([SENT], view), ...limit, ...layersOf(REST, view)],
        howto:
          "The distance from the dots up to the limit is what the sender may still send. If the " +
          "dots run along the limit, flow control limits the flow, and each step of it comes " +
          "half an RTT late. The distance from the consumed line up to the limit is the receive " +
          "window. Sent bytes include headers and retransmissions, so they may lie a few per " +
          "cent above a limit that was respected.",
        ...(limited ? {} : { folded }),
      },
    ];
  },
};
