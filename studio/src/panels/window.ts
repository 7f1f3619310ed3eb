import { SERIES } from "../data/names.ts";
import { CAREFUL, kindsIn } from "../data/phases.ts";
import { perFlow } from "./lines.ts";
import {
  BASE,
  firstConnection,
  layersOf,
  marksOf,
  type Panel,
  type Plan,
  phasesIn,
  reference,
  routeChanges,
} from "./panel.ts";

const PLANS: Plan[] = [
  {
    key: SERIES.inFlight,
    name: "in flight",
    title: "Bytes sent, and neither acknowledged nor declared lost yet",
    style: "step",
    role: "flight",
    fill: true,
    width: 1.3,
  },
  {
    key: SERIES.cwnd,
    name: "cwnd",
    title: "Congestion window: the bytes that the controller allows in flight",
    style: "step",
    role: "cwnd",
    width: 2.2,
  },
  {
    key: SERIES.ssthresh,
    name: "ssthresh",
    title: "Slow-start threshold: where exponential growth ends; unset before the first congestion",
    style: "step",
    role: "ssthresh",
    dash: [7, 4],
  },
];

const BDP = "bandwidth-delay product";

/** A remark for plots of several flows if one of them took several connections. */
export const firstOfEach = (connections: number): { note?: string } =>
  connections > 1
    ? { note: "If a flow took several connections, this is the sender of the first one." }
    : {};

/** Congestion window, slow-start threshold and bytes in flight. */
export const window: Panel = {
  flowSeries: PLANS.map((p) => p.key),
  ofFlow: (view) => {
    const phases = phasesIn(view);
    const careful = phases && kindsIn(phases.data).some((k) => CAREFUL.includes(k as never));
    return [
      {
        ...BASE,
        ...firstConnection(view.result?.connections),
        marks: marksOf(view),
        phases,
        id: "window",
        title: "Congestion window and bytes in flight",
        unit: "bytes",
        height: 220,
        layers: layersOf(PLANS, view),
        references: reference(BDP, view.path?.bdp_bytes),
        howto:
          "The window is what the controller allows, the filled area what is in flight. If the " +
          "area touches the window, the controller limits the flow. If it does not, something " +
          "else does: the application, flow control, or the start of a round trip before any " +
          "ACK. Below the bandwidth-delay product the path is partly idle; above it, the rest " +
          "waits in a queue." +
          (phases ? " The strip on top names the phase of congestion control." : "") +
          (careful
            ? " Phases of Careful Resume are coloured: reconnaissance, before the path is " +
              "confirmed; unvalidated, the jump to the saved window; validating, until the data " +
              "of the jump is acknowledged; safe retreat, the reduction after a jump too far."
            : ""),
      },
    ];
  },
  ofFlows: (view) => [
    {
      ...BASE,
      ...firstOfEach(view.connections),
      marks: routeChanges(view.trace, view.trace.flows),
      height: 220,
      id: "window",
      title: "Congestion windows of all flows",
      unit: "bytes",
      layers: perFlow(view, SERIES.cwnd, "Congestion window"),
      references: reference(BDP, view.path?.bdp_bytes),
      howto:
        "The bytes that each flow's controller allows in flight. Together the flows fill the " +
        "path if the sum of their windows is the bandwidth-delay product; the rest waits in a " +
        "queue. Growth of one window may cause losses of another flow.",
    },
    {
      ...BASE,
      ...firstOfEach(view.connections),
      marks: routeChanges(view.trace, view.trace.flows),
      height: 220,
      id: "flight",
      title: "Bytes in flight of all flows",
      unit: "bytes",
      layers: perFlow(view, SERIES.inFlight, "Bytes in flight"),
      references: reference(BDP, view.path?.bdp_bytes),
      howto: "Bytes sent by each flow, and neither acknowledged nor declared lost yet.",
    },
  ],
};
