import type { PanelSpec } from "../charts/time/spec.ts";
import { LINK_SERIES, SERIES, SERIES_OF_PARTS } from "../data/names.ts";
import { variantColour } from "../format/palette.ts";
import { perFlow, perLink } from "./lines.ts";
import {
  BASE,
  type FlowsView,
  type FlowView,
  type LinksView,
  marksOf,
  routeChanges,
} from "./panel.ts";
import { linkBase } from "./throughput.ts";

const HOPS =
  "Number of links on the flow's route. A change of the number is a route change; a route may " +
  "change without it.";

const unknown = (whose: string): string => `A series of the ${whose} that has no plot of its own.`;

/** A plot for each series of a flow that no panel draws. */
export function otherSeriesOfFlow(view: FlowView, drawn: ReadonlySet<string>): PanelSpec[] {
  const { flow, cache } = view;
  return Object.entries(flow.series).flatMap(([key, ref]): PanelSpec[] => {
    // Shares of time are the strips below the plots.
    const own = drawn.has(key) || key.startsWith(SERIES_OF_PARTS);
    const data = own ? null : cache.get(ref);
    if (!data) return [];
    const hops = key === SERIES.hops;
    const colour = (): string => variantColour(0);
    return [
      {
        ...BASE,
        marks: marksOf(view),
        id: `flow:${key}`,
        title: hops ? "Hops" : key.replaceAll("_", " "),
        unit: ref.unit,
        zero: hops,
        height: 150,
        layers: [
          {
            name: key,
            title: `Series ${key} of the flow`,
            style: "step",
            data,
            colour,
            shown: true,
          },
        ],
        howto: hops ? HOPS : unknown("flow"),
      },
    ];
  });
}

/** A plot for each series of any flow that no panel draws, of all flows in one axis. */
export function otherSeriesOfFlows(view: FlowsView, drawn: ReadonlySet<string>): PanelSpec[] {
  const { flows } = view.trace;
  const keys = [...new Set(flows.flatMap((f) => Object.keys(f.series)))];
  return keys
    .filter((key) => !drawn.has(key) && !key.startsWith(SERIES_OF_PARTS))
    .map((key) => ({
      ...BASE,
      marks: routeChanges(view.trace, flows),
      id: `flow:${key}`,
      title: `${key === SERIES.hops ? "Hops" : key.replaceAll("_", " ")} of all flows`,
      unit: flows.find((f) => f.series[key])!.series[key]!.unit,
      height: 150,
      layers: perFlow(view, key, key),
      howto: key === SERIES.hops ? HOPS : unknown("flows"),
    }));
}

/** A plot for each series of links that no panel draws. */
export function otherSeriesOfLinks(view: LinksView, drawn: ReadonlySet<string>): PanelSpec[] {
  const { links } = view.links;
  const keys = [...new Set(links.flatMap((l) => Object.keys(l.series)))];
  return keys
    .filter((key) => !drawn.has(key))
    .map((key) => ({
      ...linkBase(view),
      id: `link:${key}`,
      title: `Link ${key.replaceAll("_", " ")}`,
      unit: links.find((l) => l.series[key])!.series[key]!.unit,
      zero: false,
      height: 150,
      layers: perLink(view, key, `${key} of`),
      howto:
        key === LINK_SERIES.delay
          ? "Delay of each link. Over a constellation it changes as satellites move."
          : unknown("links"),
    }));
}
