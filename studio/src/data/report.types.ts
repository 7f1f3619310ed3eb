// Generated from report.schema.json by `npm run types`; do not edit.

import type { Run } from "./results.types.ts";

export type * from "./results.types.ts";

/** The clock that a scenario runs on. */
export type Clock = "virtual" | "real";
/** Kind of a published figure. */
export type PublishedKind = "objective" | "measured";
/** Data of the report page. */
export interface Report {
  /** Variant that the scenario names as the one that others are compared with; absent if none. */
  baseline?: string | null;
  clock: Clock;
  /** Commit that this version was built from; `null` if unknown. */
  commit: string | null;
  /** False if runs are missing because of an interruption or a failed run. */
  complete: boolean;
  /** Constellations of the runs; absent if there are none. */
  constellations?: ConstellationView[];
  /** Metrics of each run that are not fields of its flows; absent if there are none. */
  derived?: DerivedMetric[];
  /** Digest of the simulator's sources and dependencies. Equal ones give equal results. */
  engine: string;
  /** Expectations, and whether they passed. */
  expectations: Expectation[];
  /** Where the time of each variant went; absent if that is unknown. */
  explanations?: Explanation[];
  /** The other files of the directory. */
  files: string[];
  /** Metric that the scenario names as the one that it compares; `null` if it names none. */
  headline: string | null;
  /** The metric that comparisons of each visit of each flow are of. */
  headlines: FlowHeadline[];
  /** Copies of the files that the scenario names. */
  inputs?: InputFile[];
  /** Notes for readers of the results. */
  notes: string[];
  /** Path of the first case. */
  path: PathSummary | null;
  /**
   * True if the path of any case changes with time, so that visits that begin at different times
   * meet different conditions.
   */
  path_changes: boolean;
  /** Published figures. */
  published: Figure[];
  /** The runs; the first ones of each case if there are many. */
  runs: Run[];
  /** Number of runs in `results.json`. */
  runs_done: number;
  /** Number of runs of the scenario. */
  runs_planned: number;
  /** Name of the scenario. */
  scenario: string;
  /** Seed of all random numbers. */
  seed: number;
  /** Part of the runs that this directory has, as `K/N`; absent if it is the whole study. */
  shard?: string | null;
  /** The scenario as run, in TOML. */
  source: string;
  /** Statistics over the runs. */
  summary: Summary[];
  /** The swept keys in order. */
  sweep: SweepAxis[];
  /** Title of the scenario. */
  title: string;
  /** Time series, as references to the binary data of the page. */
  traces: Trace[];
  /**
   * Keys that the scenario sets in each variant, with their values as text, in the order of the
   * variants; absent if it lists none.
   */
  variant_keys?: {
    [k: string]: string;
  }[];
  /** Settings of each variant, in the same order. */
  variant_settings: VariantSettings[];
  /** Names of the variants in order. */
  variants: string[];
  /** Version of Bentpipe that wrote the directory. */
  version: string;
  /** Purpose of the scenario. */
  description: string | null;
}

/** Satellites, stations and links over time. */
export interface ConstellationView {
  /** Start of the run (RFC 3339). */
  begins: string;
  /** Inter-satellite links, as pairs of indices; empty if there are more than 5000. */
  isls: [number, number][];
  satellites: Satellites;
  /** The stations, in the order of the network. */
  stations: StationPlace[];
}

/** Satellites over time. */
export interface Satellites {
  /** Names of the satellites. */
  names: string[];
  positions: Positions;
  /** Index of each satellite's shell. */
  shell: number[];
}

/** Reference to positions in the blob. */
export interface Positions {
  /** Offset of the first byte, a multiple of 8. */
  offset: number;
  /** Interval between times, in seconds. */
  step_s: number;
  /** Number of times. The first is the start of the run. */
  times: number;
}

/** A ground station. */
export interface StationPlace {
  /** Altitude in metres above the ellipsoid. */
  altitude_m: number;
  /** Latitude in degrees north. */
  latitude_deg: number;
  /** Longitude in degrees east. */
  longitude_deg: number;
  /** Name of the station. */
  name: string;
}

/** A metric of a visit of a flow in each run. */
export interface DerivedMetric {
  /** Name of the flow. */
  flow: string;
  /** Name of the metric. */
  metric: string;
  /** Its value in each run, in the order of the runs; `null` if a run has none. */
  values: (number | null)[];
  /** Number of the visit, from 1. */
  visit: number;
}

/** An expectation, and whether it passed. */
export interface Expectation {
  /** Statistic or ratio that was compared. */
  measured: number | null;
  /** Whether it passed; `null` if runs that it needs are missing. */
  passed: boolean | null;
  /** The expectation in words. */
  text: string;
}

/**
 * Where the time of a visit of a flow went: in the median of the completed runs of a variant
 * at a sweep point.
 */
export interface Explanation {
  /**
   * The difference to another variant or visit in words, such as `is 3.5 s faster than none: …`;
   * `null` for what the others are compared with.
   */
  compared: string | null;
  /** Completion time of the median run in seconds. */
  completion_s: number;
  /** Name of the flow. */
  flow: string;
  /** Time of each part in it in seconds, without parts that have none. */
  parts: {
    [k: string]: number;
  };
  /** Value of each swept key. */
  point: {
    [k: string]: string;
  };
  /** Number of completed runs. */
  runs: number;
  /** The result and the longest parts in words that follow the name of the variant. */
  text: string;
  /** Name of the variant. */
  variant: string;
  /** Number of the visit, from 1. */
  visit: number;
}

/** The metric that comparisons of a visit of a flow are of. */
export interface FlowHeadline {
  /** Name of the flow. */
  flow: string;
  /** Name of the metric. */
  metric: string;
  /** Number of the visit, from 1. */
  visit: number;
}

/** A file that the scenario names. */
export interface InputFile {
  /** Copy in the run directory. */
  file: string;
  /** Name in the scenario. */
  name: string;
}

/** Description of a path for reports. */
export interface PathSummary {
  /** Bandwidth-delay product in the direction of the data. */
  bdp_bytes: number;
  /** Each hop, from the client to the server. */
  hops: HopSummary[];
  /** Title of the profile, or the names of the hops. */
  name: string;
  /** Name of the profile, if the path has one. */
  profile: string | null;
  /** RTT of the idle path. */
  rtt_ms: number;
  /** Source of the profile's figures. */
  source: string | null;
}

/** Description of a hop. */
export interface HopSummary {
  /** Direction towards the client. */
  forward: string;
  /** Name of the hop. */
  name: string;
  /** Direction towards the server. */
  return: string;
}

/** A `[[published]]` figure of a scenario. */
export interface Figure {
  /** Flow that it is compared with; every flow if absent. */
  flow?: string | null;
  kind: PublishedKind;
  /** Short heading. */
  label: string;
  /** Name of the metric. */
  metric: string;
  /** Values of some swept keys, which select points. */
  point: {
    [k: string]: string;
  };
  /** Publication that the value is from. */
  source: string;
  /** Published value, in the metric's unit. */
  value: number;
  /** Variant that it is compared with; every variant if absent. */
  variant?: string | null;
}

/** Statistics of one metric over the runs of one variant at one point. */
export interface Summary {
  /** Upper end of that interval. */
  ci95_high: number | null;
  /** Lower end of the 95 % confidence interval of the median; `null` if there is none. */
  ci95_low: number | null;
  /** Name of the flow, or `all` for a metric of all flows together. */
  flow: string;
  /** Arithmetic mean. */
  mean: number | null;
  /** Median. */
  median: number | null;
  /** Name of the metric. */
  metric: string;
  /** Number of runs in which the metric has a value. */
  n: number;
  /** 5th percentile; `null` for one run. */
  p5: number | null;
  /** 95th percentile; `null` for one run. */
  p95: number | null;
  /** Value of each swept key. */
  point: {
    [k: string]: string;
  };
  /** Name of the variant. */
  variant: string;
  /** Number of the visit, from 1. */
  visit: number;
}

/** A swept key. */
export interface SweepAxis {
  /** Dotted path of the key. */
  key: string;
  /** The same values as numbers in base units; `null` for a value that is not a quantity. */
  numbers: (number | null)[];
  /** Unit of the numbers: `bytes`, `s` or `bps`; `null` if there is none or they differ. */
  unit: string | null;
  /** Values in order, as text. */
  values: string[];
}

/** Time series of one run. */
export interface Trace {
  /** Index of the run's constellation; absent for a path of hops. */
  constellation?: number | null;
  /** One entry for each visit of each flow. */
  flows: FlowSeries[];
  /** One entry for each direction of each hop. */
  links: LinkSeries[];
  /** Value of each swept key. */
  point: {
    [k: string]: string;
  };
  /** Routes of the flows' data through a network, in order of time. */
  routes?: Route[];
  /** Number of the run, from 0. */
  run: number;
  /** Name of the variant. */
  variant: string;
}

/** Time series of one visit of a flow. */
export interface FlowSeries {
  /** Labelled points in time. */
  marks: Mark[];
  /** Name of the flow. */
  name: string;
  /** Phases of the sender's congestion control. Each lasts until the next. */
  phases: Mark[];
  /** Series by name. */
  series: {
    [k: string]: SeriesRef;
  };
  /** Start of the visit, in seconds since the start of the run. */
  start_s: number;
  /** Number of the visit, from 1. */
  visit: number;
}

/** A labelled point in time. */
export interface Mark {
  /** Label in plots. */
  label: string;
  /** Time in seconds since the start of the run. */
  t_s: number;
}

/** Reference to a series in the blob. */
export interface SeriesRef {
  /** Number of points. */
  n: number;
  /** Offset of the first byte, a multiple of 8. */
  offset: number;
  /** Unit of the values. */
  unit: string;
}

/** Time series of one direction of one hop. */
export interface LinkSeries {
  /** `hop/forward` or `hop/return`. */
  name: string;
  /** Limit of the queue; `null` if it is not fixed in bytes. */
  queue_limit_bytes: number | null;
  /** Rate of the link; `null` if it is not constant. */
  rate_mbps: number | null;
  /** Series by name. */
  series: {
    [k: string]: SeriesRef;
  };
}

/** Route of a flow's data, valid until the flow's next route. */
export interface Route {
  /** Name of the flow. */
  flow: string;
  /**
   * Indices of the nodes; empty without a route. Satellites have the first indices, stations the
   * following ones.
   */
  nodes: number[];
  /** Start of validity, in seconds since the start of the run. */
  t_s: number;
}

/** Settings of a variant at the first point of the sweep. */
export interface VariantSettings {
  /** Distinct settings of its flows. */
  flows: FlowSettings[];
  /** Name of the variant. */
  name: string;
}

/** The settings of a flow that affect its results most. */
export interface FlowSettings {
  /** ACK policy. */
  ack: string | null;
  /** Congestion controller, with what differs from the document that specifies it. */
  congestion: string | null;
  /** Names of the flows that have them. */
  flows: string[];
  /** Handshake of the measured visit: `1rtt` or `0rtt`. */
  handshake: string | null;
  /** Preset, if the scenario names one. */
  preset: string | null;
  /**
   * Use of saved path parameters: `none`, `careful` or `jump`, with `by token` if the client
   * keeps them.
   */
  resume: string | null;
  /** Slow-start algorithm. */
  slow_start: string | null;
  /** `quic` or `tcp`; otherwise the kind of workload. */
  transport: string;
}
