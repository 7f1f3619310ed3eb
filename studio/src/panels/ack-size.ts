import { SERIES } from "../data/names.ts";
import { extremes } from "../data/pyramid.ts";
import { perRun } from "./lines.ts";
import { BASE, type Panel } from "./panel.ts";

/** Sizes of ACK frames over time, of several runs over each other; folded at first. */
export const ackSize: Panel = {
  flowSeries: [SERIES.ackFrameBytes],
  ofRuns: (view) => {
    const layers = perRun(view, SERIES.ackFrameBytes, "ACK frames of", () => ({ style: "dots" }));
    const ends = layers.map(({ data }) => ({ ...extremes(data, 0, data.n) }));
    const smallest = Math.min(...ends.map((e) => e.min));
    const largest = Math.max(...ends.map((e) => e.max));
    return [
      {
        ...BASE,
        id: "ack-size",
        title: "ACK frame sizes",
        unit: "bytes",
        height: 180,
        layers,
        howto:
          "Each dot is an ACK frame. Frames stay small while no packet is missing; each gap adds " +
          "a range to them until the receiver knows that the sender has seen it.",
        folded: smallest === largest ? `${smallest} bytes each` : `${smallest} to ${largest} bytes`,
      },
    ];
  },
};
