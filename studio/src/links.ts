import type { Layer, PanelSpec, Style } from "./chart.ts";
import { roleColour, variantColour } from "./palette.ts";
import type { SeriesCache } from "./series.ts";
import type { TraceLink } from "./types.ts";

const KNOWN_LINK = new Set(["throughput", "queue", "drops_policer", "drops_queue", "drops_loss"]);

/** What all plots of a run have in common. */
export type PanelBase = Omit<PanelSpec, "id" | "title" | "unit" | "layers" | "howto">;

/** The plots of the links of a run. */
export function linkPanels(links: TraceLink[], cache: SeriesCache, base: PanelBase): PanelSpec[] {
  const perLink = (key: string, style: Style, title: string, extra: Partial<Layer> = {}): Layer[] =>
    links.flatMap((l, i) => {
      const data = cache.get(l.series[key]);
      return data ? [{ name: l.name, title: `${title} ${l.name}`, style, data, colour: () => variantColour(i), shown: true, ...extra }] : [];
    });
  const panels: PanelSpec[] = [
    {
      ...base,
      id: "throughput",
      title: "Link throughput",
      unit: "Mbps",
      layers: perLink("throughput", "step", "Throughput of", { width: 1.6 }),
      references: links
        .map((l, i) => ({ name: `${l.name} rate`, value: l.rate_mbps ?? 0, colour: () => variantColour(i), has: l.series["throughput"] !== undefined }))
        .filter((r) => r.value > 0 && r.has)
        .map(({ name, value, colour }) => ({ name, value, colour })),
      howto: "What each link carried, in bins. A download is done soonest when the forward link sits at its rate from the first round trip on; every notch before that is time lost to starting up. The return link carries mostly ACKs.",
    },
    {
      ...base,
      id: "queue",
      title: "Queue",
      unit: "bytes",
      layers: [
        ...perLink("queue", "step", "Bytes waiting at"),
        ...perLink("drops_queue", "rug", "Drops of the full queue at").map((l) => ({ ...l, name: `${l.name} drops` })),
        ...perLink("drops_policer", "rug", "Drops of the policer at").map((l) => ({ ...l, name: `${l.name} policer drops`, colour: () => roleColour("dropped_policer") })),
        ...perLink("drops_loss", "rug", "Random losses on").map((l) => ({ ...l, name: `${l.name} losses`, colour: () => roleColour("dropped_loss") })),
      ],
      references: links
        .map((l, i) => ({ name: `${l.name} limit`, value: l.queue_limit_bytes ?? 0, colour: () => variantColour(i), has: l.series["queue"] !== undefined }))
        .filter((r) => r.value > 0 && r.has)
        .map(({ name, value, colour }) => ({ name, value, colour })),
      howto: "Bytes waiting before each link; the strokes at the bottom are dropped packets. A queue that never empties adds delay and no throughput; one at its limit drops.",
    },
  ];
  for (const key of new Set(links.flatMap((l) => Object.keys(l.series)))) {
    if (KNOWN_LINK.has(key)) continue;
    const unit = links.find((l) => l.series[key])?.series[key]?.unit ?? "";
    panels.push({ ...base, id: `link:${key}`, title: `Link ${key}`, unit, zero: false, height: 150, layers: perLink(key, "step", `${key} of`), howto: key === "delay" ? "Delay of each link; over a constellation it moves with the satellites." : "A series of the links that this page has no own plot for." });
  }
  return panels;
}
