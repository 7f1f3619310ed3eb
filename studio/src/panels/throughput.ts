import type { Layer, PanelSpec, Reference } from "../charts/time/spec.ts";
import { LINK_SERIES } from "../data/names.ts";
import type { LinkSeries } from "../data/report.types.ts";
import { roleColour, variantColour } from "../format/palette.ts";
import { perLink } from "./lines.ts";
import { BASE, type LinksView, type Panel } from "./panel.ts";

/** What all plots of links have in common. */
export function linkBase({ links: { many }, marks }: LinksView) {
  const choice: Pick<PanelSpec, "note" | "ofLinks"> = many
    ? { note: many.words, ofLinks: { total: many.total, all: many.all } }
    : {};
  return { ...BASE, marks, ...choice };
}

/** A constant level of each link; if there are many links, one line per distinct value. */
export function levels(
  { links: { links, many } }: LinksView,
  key: string,
  name: string,
  of: (link: LinkSeries) => number | null,
): Reference[] {
  const known = links.flatMap((l, i): Reference[] => {
    const value = of(l) ?? 0;
    return l.series[key] !== undefined && value > 0
      ? [{ name: `${l.name} ${name}`, value, colour: () => variantColour(i) }]
      : [];
  });
  if (!many) return known;
  const colour = (): string => roleColour("reference");
  return [...new Set(known.map((r) => r.value))].map((value) => ({
    name: `${name} of links`,
    value,
    colour,
  }));
}

/** True if no packets were sent, so that only what links could carry is known. */
const isPlanned = ({ links: { links } }: LinksView): boolean =>
  links.length > 0 && links.every((l) => l.series[LINK_SERIES.throughput] === undefined);

/** What links will be able to carry. */
function planned(view: LinksView): PanelSpec {
  return {
    ...linkBase(view),
    // MODCODs, from each change on.
    labels: view.marks.some(({ label }) => label !== ""),
    id: "throughput",
    title: "Capacity",
    unit: "Mbps",
    height: 160,
    layers: perLink(view, LINK_SERIES.rate, "Capacity of", {
      style: "step",
      width: 1.8,
      hold: Infinity,
    }),
    references: [],
    howto:
      "What each link can carry, before any packet is sent: its rate, and zero while a fade or a " +
      "blockage loses everything. Of a route over satellites it is the lowest rate on the way, " +
      "and zero without a route or during a handover.",
  };
}

/** What links could carry, where that changes: rates over time, and allocated capacity. */
function capacityLines(view: LinksView): Layer[] {
  const of = (key: string, title: string, what: string): Layer[] =>
    perLink(view, key, title, { bounded: true, hold: Infinity }).map((layer) => ({
      ...layer,
      name: `${layer.name} ${what}`,
      dash: [5, 3],
      width: 1.6,
    }));
  return [
    ...of(LINK_SERIES.rate, "Rate over time of", "rate"),
    ...of(LINK_SERIES.allocated, "Capacity allocated on", "allocated"),
  ];
}

/** Throughput of links. */
export const throughput: Panel = {
  linkSeries: [LINK_SERIES.throughput, LINK_SERIES.rate],
  ofLinks: (view) => [isPlanned(view) ? planned(view) : measured(view)],
};

function measured(view: LinksView): PanelSpec {
  return {
    ...linkBase(view),
    id: "throughput",
    title: "Link throughput",
    unit: "Mbps",
    layers: [
      ...perLink(view, LINK_SERIES.throughput, "Throughput of", { width: 1.6 }),
      ...capacityLines(view),
    ],
    references: levels(view, LINK_SERIES.throughput, "rate", (l) =>
      l.series[LINK_SERIES.rate] === undefined ? l.rate_mbps : null,
    ),
    howto: view.links.many
      ? "Throughput of each link, of all flows together, in bins. When the route of a flow " +
        "changes, one link falls idle and another starts. Links that one flow fills one after " +
        "the other look alike: the first of them is the bottleneck. A dashed line is what a " +
        "link could carry: nothing in the outage of a handover, and without a satellite."
      : "Throughput of each link in bins. A download ends soonest if the forward link runs at " +
        "its rate from the first RTT on; every notch before that is time lost in slow start. " +
        "The return link carries mostly ACKs. A dashed line is the capacity of a link whose " +
        "rate changes: by schedule, fade, trace, allocation or outage.",
  };
}
