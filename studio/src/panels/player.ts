import { SERIES } from "../data/names.ts";
import { variantColour } from "../format/palette.ts";
import { perFlow } from "./lines.ts";
import { BASE, marksOf, type Panel, routeChanges } from "./panel.ts";

/** What a player of adaptive video has in its buffer, and what it requests. */
const PLOTS = [
  {
    key: SERIES.playerBuffer,
    title: "Player's buffer",
    unit: "s",
    howto: "Media time that the player has and has not played. At zero the picture stands still.",
  },
  {
    key: SERIES.playerBitrate,
    title: "Bitrate of segments",
    unit: "Mbps",
    howto: "The bitrate of each segment, at its request.",
  },
] as const;

export const player: Panel = {
  flowSeries: PLOTS.map(({ key }) => key),
  ofFlow: (view) =>
    PLOTS.map(({ key, title, unit, howto }) => {
      const data = view.cache.get(view.flow.series[key]);
      const colour = (): string => variantColour(0);
      return {
        ...BASE,
        marks: marksOf(view),
        id: key,
        title,
        unit,
        layers: data ? [{ name: title, title, style: "step", data, colour, shown: true }] : [],
        howto,
      };
    }),
  ofFlows: (view) =>
    PLOTS.map(({ key, title, unit, howto }) => ({
      ...BASE,
      marks: routeChanges(view.trace, view.trace.flows),
      id: key,
      title,
      unit,
      layers: perFlow(view, key, title),
      howto,
    })),
};
