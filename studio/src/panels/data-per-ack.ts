import { SERIES } from "../data/names.ts";
import { perRun } from "./lines.ts";
import { BASE, type Panel } from "./panel.ts";

/** Data packets per ACK over time, of several runs over each other. */
export const dataPerAck: Panel = {
  flowSeries: [SERIES.dataPerAck],
  ofRuns: (view) => [
    {
      ...BASE,
      id: "data-per-ack",
      title: "Data packets per ACK",
      unit: "packets",
      height: 200,
      layers: perRun(view, SERIES.dataPerAck, "Data packets per ACK of", () => ({ points: true })),
      howto:
        "Data packets received per packet with an ACK. A policy that adapts to the path starts " +
        "at two, so as not to slow down slow start, and rises once there is much to acknowledge.",
    },
  ],
};
