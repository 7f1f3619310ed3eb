import type { Layer, PanelSpec, Reference, Style } from "../charts/time/chart.ts";
import type { LinkChoice } from "../data/link-choice.ts";
import type { TraceLink } from "../data/schema.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { roleColour, variantColour, variantDash } from "../format/palette.ts";
import { CAPACITY_SERIES, capacityPanels } from "./capacity.ts";

const KNOWN_LINK = new Set([
  "throughput",
  "queue",
  "drops_policer",
  "drops_queue",
  "drops_loss",
  ...CAPACITY_SERIES,
]);

/** What all plots of a run have in common. */
export type PanelBase = Omit<PanelSpec, "id" | "title" | "unit" | "layers" | "howto">;

/** The plots of the links of a run. */
export function linkPanels(
  { links, terminals, brief, many }: LinkChoice,
  cache: SeriesCache,
  base: PanelBase,
): PanelSpec[] {
  const perLink = (key: string, style: Style, title: string, extra: Partial<Layer> = {}): Layer[] =>
    links.flatMap((l, i) => {
      const data = cache.get(l.series[key]);
      return data
        ? [
            {
              name: brief(l.name),
              title: `${title} ${l.name}`,
              style,
              data,
              colour: () => variantColour(i),
              shown: true,
              ...(many && style !== "rug" ? { dash: variantDash(i) } : {}),
              ...extra,
            },
          ]
        : [];
    });
  const levels = (key: string, what: string, of: (l: TraceLink) => number | null): Reference[] => {
    const known = links.flatMap((l, i) =>
      l.series[key] !== undefined && (of(l) ?? 0) > 0
        ? [{ name: `${l.name} ${what}`, value: of(l)!, colour: () => variantColour(i) }]
        : [],
    );
    if (!many) return known;
    // Many links have few levels, and one line stands for all that are alike.
    return [...new Set(known.map((r) => r.value))].map((value) => ({
      name: `${what} of links`,
      value,
      colour: () => roleColour("reference"),
    }));
  };
  const common: PanelBase = many
    ? { ...base, note: many.words, ofLinks: { total: many.total, all: many.all } }
    : base;
  const panels: PanelSpec[] = [
    ...capacityPanels(terminals, links, cache, base),
    {
      ...common,
      id: "throughput",
      title: "Link throughput",
      unit: "Mbps",
      layers: perLink("throughput", "step", "Throughput of", { width: 1.6 }),
      references: levels("throughput", "rate", (l) => l.rate_mbps),
      howto: many
        ? "What each link carried, in bins, of all flows. Where the way of a flow becomes another one, a link falls silent and another one begins. Links that one flow fills one after the other look alike: the first of them is what holds it up."
        : "What each link carried, in bins. A download is done soonest when the forward link sits at its rate from the first round trip on; every notch before that is time lost to starting up. The return link carries mostly ACKs.",
    },
    {
      ...common,
      id: "queue",
      title: "Queue",
      unit: "bytes",
      layers: [
        ...perLink("queue", "step", "Bytes waiting at"),
        ...perLink("drops_queue", "rug", "Drops of the full queue at").map((l) => ({
          ...l,
          name: `${l.name} drops`,
        })),
        ...perLink("drops_policer", "rug", "Drops of the policer at").map((l) => ({
          ...l,
          name: `${l.name} policer drops`,
          colour: () => roleColour("dropped_policer"),
        })),
        ...perLink("drops_loss", "rug", "Random losses on").map((l) => ({
          ...l,
          name: `${l.name} losses`,
          colour: () => roleColour("dropped_loss"),
        })),
      ],
      references: levels("queue", "limit", (l) => l.queue_limit_bytes),
      howto:
        "Bytes waiting before each link; the strokes at the bottom are dropped packets. A queue that never empties adds delay and no throughput; one at its limit drops.",
    },
  ];
  for (const key of new Set(links.flatMap((l) => Object.keys(l.series)))) {
    if (KNOWN_LINK.has(key)) continue;
    const unit = links.find((l) => l.series[key])?.series[key]?.unit ?? "";
    panels.push({
      ...common,
      id: `link:${key}`,
      title: `Link ${key}`,
      unit,
      zero: false,
      height: 150,
      layers: perLink(key, "step", `${key} of`),
      howto:
        key === "delay"
          ? "Delay of each link; over a constellation it moves with the satellites."
          : "A series of the links that this page has no own plot for.",
    });
  }
  return panels;
}
