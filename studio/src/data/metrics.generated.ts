// Generated from report.schema.json by `npm run types`; do not edit.

import { FLOW_METRICS } from "./flow-metrics.generated.ts";
import { PART_METRICS } from "./part-metrics.generated.ts";

/** Metrics of the short table beside a scenario's text; the report has all. */
export const MAIN_METRICS: readonly string[] = [
  "completion_s",
  "goodput_mbps",
  "first_byte_s",
  "packets_lost_queue",
  "rtt_p99_ms",
  "reverse_bytes",
];

/**
 * Every metric of the results: of a flow, of flows that share a path, of a link. Those of the
 * streams of calls are in call-metrics.generated.ts.
 */
export const METRICS = [
  ...FLOW_METRICS,
  ...PART_METRICS,
  {
    name: "jain_index",
    scope: "shared",
    unit: "",
    better: "higher",
    label: "Jain's index",
    about:
      "Jain's index: 1 if all flows receive the same, 1/n if one of n flows receives " +
      "everything.",
    detail: false,
  },
  {
    name: "min_max_ratio",
    scope: "shared",
    unit: "",
    better: "higher",
    label: "Min-max ratio",
    about: "Smallest share divided by the largest: 1 if all flows receive the same.",
    detail: false,
  },
  {
    name: "aggregate_goodput_mbps",
    scope: "shared",
    unit: "Mbps",
    better: "higher",
    label: "Total goodput",
    about: "Goodput of all flows together.",
    detail: false,
  },
  {
    name: "bottleneck_utilisation",
    scope: "shared",
    unit: "",
    better: "higher",
    label: "Bottleneck use",
    about: "Fraction of time that the bottleneck spent transmitting.",
    detail: false,
  },
  {
    name: "bottleneck_queue_ms",
    scope: "shared",
    unit: "ms",
    better: "lower",
    label: "Bottleneck delay",
    about: "Mean queueing delay at the bottleneck.",
    detail: false,
  },
  {
    name: "convergence_s",
    scope: "shared",
    unit: "s",
    better: "lower",
    label: "Convergence",
    about: "Time from the start of the last flow until all shares first reach their final values.",
    detail: false,
  },
  {
    name: "users",
    scope: "population",
    unit: "",
    better: "neither",
    label: "Users",
    about: "Number of users.",
    detail: false,
  },
  {
    name: "completed_percent",
    scope: "population",
    unit: "%",
    better: "higher",
    label: "Completed",
    about: "Users whose transfers completed, in percent.",
    detail: false,
  },
  {
    name: "mean_completion_s",
    scope: "population",
    unit: "s",
    better: "lower",
    label: "Mean completion",
    about: "Mean completion time of all users.",
    detail: false,
  },
  {
    name: "median_completion_s",
    scope: "population",
    unit: "s",
    better: "lower",
    label: "Median completion",
    about: "Median of the users' completion times.",
    detail: false,
  },
  {
    name: "p95_completion_s",
    scope: "population",
    unit: "s",
    better: "lower",
    label: "Completion, 95th percentile",
    about: "95th percentile of the users' completion times.",
    detail: false,
  },
  {
    name: "p99_completion_s",
    scope: "population",
    unit: "s",
    better: "lower",
    label: "Completion, 99th percentile",
    about: "99th percentile of the users' completion times.",
    detail: false,
  },
  {
    name: "mean_slowdown",
    scope: "population",
    unit: "",
    better: "lower",
    label: "Mean slowdown",
    about:
      "Mean slowdown of all users. The slowdown is the completion time over its lower bound " +
      "on the idle path: the RTTs of the handshake and of the request, and the wire bytes at " +
      "the rate of the bottleneck.",
    detail: false,
  },
  {
    name: "median_slowdown",
    scope: "population",
    unit: "",
    better: "lower",
    label: "Median slowdown",
    about: "Median of the users' slowdowns.",
    detail: false,
  },
  {
    name: "p95_slowdown",
    scope: "population",
    unit: "",
    better: "lower",
    label: "Slowdown, 95th percentile",
    about: "95th percentile of the users' slowdowns.",
    detail: false,
  },
  {
    name: "p99_slowdown",
    scope: "population",
    unit: "",
    better: "lower",
    label: "Slowdown, 99th percentile",
    about: "99th percentile of the users' slowdowns.",
    detail: false,
  },
  {
    name: "slowdown_jain_index",
    scope: "population",
    unit: "",
    better: "higher",
    label: "Jain's index of speeds",
    about:
      "Jain's index of the users' speeds, the inverse of their slowdowns: 1 if all users are " +
      "slowed down by the same factor.",
    detail: false,
  },
  {
    name: "population_goodput_mbps",
    scope: "population",
    unit: "Mbps",
    better: "higher",
    label: "Goodput of all users",
    about:
      "Application bytes of all completed transfers over the time from the first start to the " +
      "last completion.",
    detail: false,
  },
  {
    name: "packets_dropped",
    scope: "population",
    unit: "packets",
    better: "lower",
    label: "Packets dropped",
    about: "Packets of all users that the network dropped or lost.",
    detail: false,
  },
  {
    name: "dropped_percent",
    scope: "population",
    unit: "%",
    better: "lower",
    label: "Dropped",
    about:
      "Packets that the network dropped or lost, in percent of those that the users' senders " +
      "sent.",
    detail: false,
  },
  {
    name: "packets",
    scope: "link",
    unit: "packets",
    better: "neither",
    label: "Packets delivered",
    about: "Packets delivered.",
    detail: false,
  },
  {
    name: "bytes",
    scope: "link",
    unit: "bytes",
    better: "neither",
    label: "Bytes delivered",
    about: "Bytes delivered, IP headers included.",
    detail: false,
  },
  {
    name: "dropped_policer",
    scope: "link",
    unit: "packets",
    better: "lower",
    label: "Dropped by the policer",
    about: "Packets dropped by the policer.",
    detail: false,
  },
  {
    name: "dropped_queue",
    scope: "link",
    unit: "packets",
    better: "lower",
    label: "Dropped by the queue",
    about: "Packets dropped by the full queue or by active queue management.",
    detail: false,
  },
  {
    name: "dropped_channel",
    scope: "link",
    unit: "packets",
    better: "lower",
    label: "Lost on the channel",
    about: "Packets lost by a loss process of the channel.",
    detail: false,
  },
  {
    name: "marked_ce",
    scope: "link",
    unit: "packets",
    better: "lower",
    label: "Marked CE",
    about: "Packets that the link marked CE (RFC 3168).",
    detail: false,
  },
  {
    name: "queue_max_bytes",
    scope: "link",
    unit: "bytes",
    better: "lower",
    label: "Longest queue",
    about: "Maximum length of the queue.",
    detail: false,
  },
  {
    name: "queue_mean_ms",
    scope: "link",
    unit: "ms",
    better: "lower",
    label: "Mean queueing delay",
    about: "Mean time that packets waited in the queue.",
    detail: false,
  },
  {
    name: "utilisation",
    scope: "link",
    unit: "",
    better: "higher",
    label: "Utilisation",
    about: "Fraction of time spent transmitting.",
    detail: false,
  },
] as const satisfies readonly {
  name: string;
  scope: "flow" | "shared" | "population" | "link";
  unit: string;
  better: "lower" | "higher" | "neither";
  label: string;
  about: string;
  /** True for parts of another metric, which are of interest to few. */
  detail: boolean;
}[];
