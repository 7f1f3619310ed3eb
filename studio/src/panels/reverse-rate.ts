import { SERIES } from "../data/names.ts";
import { reverseCapacity } from "../data/reverse.ts";
import { perRun } from "./lines.ts";
import { BASE, type Panel, reference } from "./panel.ts";

/** Rate of the traffic against the data, of several runs over each other. */
export const reverseRate: Panel = {
  flowSeries: [SERIES.reverseRate],
  ofRuns: (view) => {
    const capacities = new Set(view.runs.flatMap((run) => reverseCapacity(run) ?? []));
    return [
      {
        ...BASE,
        id: "reverse-rate",
        title: "Reverse rate",
        unit: "kbps",
        height: 220,
        layers: perRun(view, SERIES.reverseRate, "IP bytes against the data of"),
        references: [...capacities].flatMap((rate) => reference("rate of the link", rate)),
        howto:
          "What the receiver of the data sends, IP headers included. At the rate of the link, " +
          "ACKs queue there, and the sender learns late what has arrived.",
      },
    ];
  },
};
