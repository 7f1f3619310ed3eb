import { SERIES } from "../data/names.ts";
import type { PathSummary, Trace } from "../data/report.types.ts";
import { hasConstellation } from "../data/routes.ts";
import { perFlow } from "./lines.ts";
import {
  BASE,
  CHANGES,
  firstConnection,
  isRouteOnly,
  layersOf,
  marksOf,
  type Panel,
  type Plan,
  phasesIn,
  reference,
  routeChanges,
} from "./panel.ts";
import { firstOfEach } from "./window.ts";

const PLANS: Plan[] = [
  { key: SERIES.rtt, name: "latest", title: "RTT of single samples", style: "dots", role: "rtt" },
  {
    key: SERIES.smoothedRtt,
    name: "smoothed",
    title: "The sender's smoothed RTT",
    style: "line",
    role: "srtt",
    width: 2,
  },
];

/** The RTT of a route without packets. */
const ROUTE: Plan[] = [
  {
    key: SERIES.rtt,
    name: "without queues",
    title: "RTT of the path, without queues",
    style: "line",
    role: "rtt",
    width: 2,
  },
];

const OF_ROUTE =
  "The RTT of the path at each time, without queues. Over satellites, a slope comes from their " +
  "movement, a step from a change to others, and a gap is a time without any route.";

const OVER_SATELLITES =
  "The RTT changes as satellites move, and jumps when the route changes: the globe shows which. " +
  "What comes and goes on top of that is queueing.";

const FIXED =
  "RTT above the dotted line is queueing (and ACK delay at the receiver). A ramp followed by " +
  "losses is a queue that filled up; a step that stays is a change of the path itself.";

const emptyPath = (trace: Trace, path: PathSummary | undefined) =>
  hasConstellation(trace) ? [] : reference("path with empty queues", path?.rtt_ms);

/** RTT, as samples and smoothed. */
export const rtt: Panel = {
  flowSeries: PLANS.map((p) => p.key),
  ofFlow: (view) => {
    const { trace, path, result } = view;
    const alone = isRouteOnly(view);
    const howto = alone ? OF_ROUTE : hasConstellation(trace) ? OVER_SATELLITES : FIXED;
    return [
      {
        ...BASE,
        ...firstConnection(result?.connections),
        marks: marksOf(view),
        phases: phasesIn(view),
        id: "rtt",
        title: "Round-trip time",
        unit: "ms",
        zero: false,
        layers: layersOf(alone ? ROUTE : PLANS, view),
        references: alone ? [] : emptyPath(trace, path),
        howto:
          howto +
          (routeChanges(trace, [view.flow]).length + view.changes.length > 0 ? CHANGES : ""),
      },
    ];
  },
  ofFlows: (view) => {
    const { trace, path, connections } = view;
    const marks = routeChanges(trace, trace.flows);
    // Routes without packets have one RTT at each time, and nothing to smooth.
    const smoothed = trace.flows.some((f) => f.series[SERIES.smoothedRtt]);
    const key = smoothed ? SERIES.smoothedRtt : SERIES.rtt;
    const howto =
      hasConstellation(trace) && !smoothed
        ? OF_ROUTE
        : "Flows through the same queue see it grow and drain at the same time.";
    return [
      {
        ...BASE,
        ...firstOfEach(connections),
        marks,
        height: 220,
        id: "rtt",
        title: smoothed ? "Smoothed RTT of all flows" : "RTT of all flows",
        unit: "ms",
        zero: false,
        layers: perFlow(view, key, smoothed ? "Smoothed RTT" : "RTT", { style: "line" }),
        references: emptyPath(trace, path),
        howto: howto + (marks.length > 0 ? CHANGES : ""),
      },
    ];
  },
};
