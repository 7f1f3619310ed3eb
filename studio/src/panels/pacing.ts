import { SERIES } from "../data/names.ts";
import { BASE, firstConnection, layersOf, marksOf, type Panel, phasesIn } from "./panel.ts";

/** The pacing rate of one flow. */
export const pacing: Panel = {
  flowSeries: [SERIES.pacingRate],
  ofFlow: (view) => [
    {
      ...BASE,
      ...firstConnection(view.result?.connections),
      marks: marksOf(view),
      phases: phasesIn(view),
      id: "pacing",
      title: "Pacing rate",
      unit: "Mbps",
      layers: layersOf(
        [
          {
            key: SERIES.pacingRate,
            name: "pacing rate",
            title: "Rate at which the sender releases packets",
            style: "step",
            role: "pacing",
            width: 1.8,
          },
        ],
        view,
      ),
      howto:
        "The rate at which the sender releases packets. Far above the link's rate, bursts build " +
        "a queue; below it, the link is partly idle.",
    },
  ],
};
