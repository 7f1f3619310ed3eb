import type { Layer, PanelSpec } from "../charts/time/chart.ts";
import type { Flow, PathInfo, TraceFlow } from "../data/schema.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { metricOf, metricValue } from "../format/numbers.ts";
import { type Role, roleColour } from "../format/palette.ts";
import type { PanelBase } from "./links.ts";

/** Series of a flow that stand in this plot and in no other. */
export const CREDIT_SERIES = ["credit", "credit_at_sender", "consumed"];

/** The longest time at a stretch that a flow stood still for want of credit, or the whole of it where only that is known. */
export function blockedFor(flow: Flow | undefined): number | null {
  return flow?.flow_control_blocked_longest_s ?? flow?.flow_control_blocked_s ?? null;
}

/**
 * Flow-control credit against what is used. The plot is folded where flow control never held the sender up for longer than a
 * round trip: what it would show is that there is nothing to see.
 */
export function creditPanel(
  flow: TraceFlow,
  result: Flow | undefined,
  path: PathInfo | undefined,
  cache: SeriesCache,
  base: PanelBase,
): PanelSpec[] {
  const layer = (
    key: string,
    role: Role,
    name: string,
    title: string,
    more: Partial<Layer>,
  ): Layer[] => {
    const data = cache.get(flow.series[key]);
    return data
      ? [{ name, title, style: "step", data, colour: () => roleColour(role), shown: true, ...more }]
      : [];
  };
  const credit = layer(
    "credit",
    "credit",
    "credit announced",
    "The limit that the receiver has announced",
    { width: 2, bounded: true, points: true },
  );
  if (credit.length === 0) return [];
  const blocked = blockedFor(result);
  // Without a round trip of the path, that of the flow.
  const rtt = (path && path.rtt_ms > 0 ? path.rtt_ms : (result?.rtt_min_ms ?? 0)) / 1000;
  const held = blocked === null || blocked > rtt;
  return [
    {
      ...base,
      id: "credit",
      title: "Flow-control credit",
      unit: "bytes",
      height: 260,
      layers: [
        ...layer("sent", "sent", "sent", "Packets sent, at their position among all bytes sent", {
          style: "dots",
        }),
        ...credit,
        ...layer(
          "credit_at_sender",
          "credit",
          "credit at the sender",
          "The same limit, as it arrives at the sender",
          { dash: [6, 3], width: 1.6, bounded: true },
        ),
        ...layer("consumed", "received", "consumed", "What the receiving application has taken", {
          width: 1.8,
        }),
      ],
      howto:
        "What lies between the dots and the limit is what the sender may still send. Where the dots run along it, flow control decides, and each step of it comes half a round trip late. What lies between the limit and the consumed line is the receive window: what the receiver has promised to hold. Sent bytes count headers and what was sent again, so they may lie a few per cent above a limit that was kept.",
      ...(held
        ? {}
        : {
            folded:
              blocked === 0
                ? "flow control never held the sender up"
                : `flow control held the sender up for at most ${metricValue(metricOf("flow_control_blocked_s"), blocked)}`,
          }),
    },
  ];
}
