import type { Layer } from "../charts/time/spec.ts";
import { SERIES } from "../data/names.ts";
import { variantColour } from "../format/palette.ts";
import { perFlow } from "./lines.ts";
import { BASE, marksOf, type Panel, routeChanges } from "./panel.ts";

/** The streams of a call: series and name. */
const STREAMS: readonly (readonly [string, string])[] = [
  [SERIES.audioDownloadDelay, "audio, download"],
  [SERIES.audioUploadDelay, "audio, upload"],
  [SERIES.videoDownloadDelay, "video, download"],
  [SERIES.videoUploadDelay, "video, upload"],
];

const TITLE = "Frame delay";

/** The rates of videos that adapt: series and name. */
const RATES: readonly (readonly [string, string])[] = [
  [SERIES.videoDownloadRate, "video, download"],
  [SERIES.videoUploadRate, "video, upload"],
];

const RATE = {
  title: "Rate of the video",
  unit: "Mbps",
  howto: "The rate that the encoder aims at, as the adaptation of the call sets it.",
} as const;

/** How long the frames of a call took from their capture until they had arrived, and their rate. */
export const frames: Panel = {
  flowSeries: [...STREAMS, ...RATES].map(([key]) => key),
  ofFlow: (view) => [
    {
      ...BASE,
      ...RATE,
      marks: marksOf(view),
      id: "video-rate",
      layers: RATES.flatMap(([key, name], index): Layer[] => {
        const data = view.cache.get(view.flow.series[key]);
        const title = `Rate of the ${name}`;
        const colour = (): string => variantColour(index);
        return data ? [{ name, title, style: "step", data, colour, shown: true }] : [];
      }),
    },
    {
      ...BASE,
      marks: marksOf(view),
      id: "frames",
      title: TITLE,
      unit: "ms",
      layers: STREAMS.flatMap(([key, name], index): Layer[] => {
        const data = view.cache.get(view.flow.series[key]);
        const title = `Delay of the frames of ${name}`;
        const colour = (): string => variantColour(index);
        return data ? [{ name, title, style: "dots", data, colour, shown: true }] : [];
      }),
      howto:
        "Each dot is a frame: the time from its capture until its last packet arrived. What is " +
        "above the lowest dots waited in queues, or behind larger frames. A frame whose dot is " +
        "further above them than the playout allows came too late.",
    },
  ],
  ofFlows: (view) => [
    ...RATES.map(([key, name]) => ({
      ...BASE,
      ...RATE,
      marks: routeChanges(view.trace, view.trace.flows),
      id: key,
      title: `${RATE.title}: ${name}`,
      layers: perFlow(view, key, RATE.title),
    })),
    ...STREAMS.map(([key, name]) => ({
      ...BASE,
      marks: routeChanges(view.trace, view.trace.flows),
      id: `frames:${key}`,
      title: `${TITLE}: ${name}`,
      unit: "ms",
      layers: perFlow(view, key, TITLE, { style: "dots" }),
      howto: "Each dot is a frame: the time from its capture until its last packet arrived.",
    })),
  ],
};
