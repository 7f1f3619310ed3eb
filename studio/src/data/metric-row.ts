/** A metric of the results. */
export type MetricRow = readonly [
  name: string,
  scope: "flow" | "shared" | "population" | "link",
  unit: string,
  better: "lower" | "higher" | "neither",
  label: string,
  about: string,
  /** True for parts of another metric, which are of interest to few. */
  detail: boolean,
];
