import type { Layer, PanelSpec } from "../charts/time/chart.ts";
import type { TraceLink } from "../data/schema.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { roleColour, variantColour, variantDash } from "../format/palette.ts";
import type { PanelBase } from "./links.ts";

/** Series of a terminal, frame by frame, that stand in the plots of its capacity. */
export const CAPACITY_SERIES = ["requested", "allocated", "used"];

/** Whether series are of a terminal on a carrier, whose capacity is asked for and allocated. */
export const isTerminal = (link: TraceLink): boolean => link.series.allocated !== undefined;

/** Whether they are of nothing else, and so of no link in the sense of the other plots. */
export const isOnlyTerminal = (link: TraceLink): boolean =>
  isTerminal(link) && Object.keys(link.series).every((key) => CAPACITY_SERIES.includes(key));

/** The name of the carrier and that of the terminal: `hop/return#terminal`. */
function split(name: string): { carrier: string; terminal: string } {
  const at = name.lastIndexOf("#");
  return at < 0
    ? { carrier: name, terminal: "" }
    : { carrier: name.slice(0, at), terminal: name.slice(at + 1) };
}

/** What capacity each terminal asked for, was given and used: a plot of each, and where there are several one of all. */
export function capacityPanels(
  terminals: TraceLink[],
  links: TraceLink[],
  cache: SeriesCache,
  base: PanelBase,
): PanelSpec[] {
  const carriers = [...new Set(terminals.map((l) => split(l.name).carrier))];
  return carriers.flatMap((carrier): PanelSpec[] => {
    const own = terminals.filter((l) => split(l.name).carrier === carrier);
    const rate = links.find((l) => l.name === carrier)?.rate_mbps ?? own[0]!.rate_mbps;
    const references: PanelSpec["references"] =
      rate !== null && rate > 0
        ? [{ name: "carrier", value: rate, colour: () => roleColour("reference") }]
        : [];
    const single = own.map((l, i): PanelSpec => {
      const { terminal } = split(l.name);
      const layer = (
        key: string,
        name: string,
        title: string,
        colour: Layer["colour"],
        more: Partial<Layer>,
      ): Layer[] => {
        const data = cache.get(l.series[key]);
        return data ? [{ name, title, style: "step", data, colour, shown: true, ...more }] : [];
      };
      return {
        ...base,
        id: `capacity:${l.name}`,
        title: `Capacity of ${carrier}${own.length > 1 ? `, terminal ${terminal}` : ""}`,
        unit: "Mbps",
        height: 220,
        references,
        layers: [
          ...layer(
            "allocated",
            "allocated",
            "What the carrier gave the terminal, frame by frame",
            () => roleColour("allocated"),
            { fill: true, width: 1.6 },
          ),
          ...layer("used", "used", "What the terminal sent in it", () => roleColour("used"), {
            width: 1.6,
          }),
          ...layer(
            "requested",
            "requested",
            "What the terminal is due or had asked for, as known when the frame was planned",
            () => roleColour("requested"),
            { dash: [5, 3], width: 1.8, bounded: true },
          ),
        ],
        howto:
          "Requested is what was known when the frame was planned. It left the terminal a way over the satellite and the planning before, and the plan took as long to come back: so long do the first packets of a burst wait. Area above the used line is capacity that nobody gets back. Where the request stays above the area, the carrier is full, or the terminal has all that it may have.",
        ...(own.length > 1 && i > 0 ? { folded: "requested, allocated, used" } : {}),
      };
    });
    if (own.length < 2) return single;
    const all: PanelSpec = {
      ...base,
      id: `capacity:${carrier}`,
      title: `Capacity of ${carrier}, all terminals`,
      unit: "Mbps",
      height: 220,
      references,
      layers: own.flatMap((l, i): Layer[] => {
        const data = cache.get(l.series.allocated);
        const { terminal } = split(l.name);
        return data
          ? [
              {
                name: `terminal ${terminal}`,
                title: `Capacity allocated to terminal ${terminal}`,
                style: "step",
                data,
                colour: () => variantColour(i),
                dash: variantDash(i),
                width: 1.8,
                shown: true,
              },
            ]
          : [];
      }),
      howto:
        "What the carrier gave each terminal, frame by frame. Terminals that want more than their share stand at the same height; what one of them does not want is shared among the others.",
    };
    return [all, ...single];
  });
}
