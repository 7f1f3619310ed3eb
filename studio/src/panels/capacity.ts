import type { Layer, PanelSpec, Reference } from "../charts/time/spec.ts";
import { CAPACITY_SERIES } from "../data/links.ts";
import { LINK_SERIES } from "../data/names.ts";
import type { LinkSeries } from "../data/report.types.ts";
import { type Role, roleColour, variantColour, variantDash } from "../format/palette.ts";
import { BASE, type LinksView, type Panel, reference } from "./panel.ts";

/** A terminal on a carrier; its series are named `hop/return#terminal`. */
interface Terminal {
  carrier: string;
  name: string;
  link: LinkSeries;
}

function terminalOf(link: LinkSeries): Terminal {
  const at = link.name.lastIndexOf("#");
  if (at < 0) return { carrier: link.name, name: "", link };
  return { carrier: link.name.slice(0, at), name: link.name.slice(at + 1), link };
}

/** What a carrier's plots are made from. */
interface Carrier {
  view: LinksView;
  name: string;
  terminals: Terminal[];
  references: Reference[];
}

const common = ({ view, references }: Carrier) => ({
  ...BASE,
  marks: view.marks,
  unit: "Mbps",
  height: 220,
  references,
});

/** Capacity that one terminal requested, was allocated and used. */
function ofTerminal(carrier: Carrier, { name, link }: Terminal, i: number): PanelSpec {
  const several = carrier.terminals.length > 1;
  const layer = (key: string, role: Role, title: string, more: Partial<Layer>): Layer[] => {
    const data = carrier.view.cache.get(link.series[key]);
    const colour = (): string => roleColour(role);
    return data ? [{ name: key, title, style: "step", data, colour, shown: true, ...more }] : [];
  };
  return {
    ...common(carrier),
    id: `capacity:${link.name}`,
    title: `Capacity of ${carrier.name}${several ? `, terminal ${name}` : ""}`,
    layers: [
      ...layer(
        LINK_SERIES.allocated,
        "allocated",
        "Capacity allocated to the terminal, frame by frame",
        { fill: true, width: 1.6 },
      ),
      ...layer(LINK_SERIES.used, "used", "Capacity that the terminal used", { width: 1.6 }),
      ...layer(
        LINK_SERIES.requested,
        "requested",
        "Capacity assured to or requested by the terminal, as known when the frame was planned",
        { dash: [5, 3], width: 1.8, bounded: true },
      ),
    ],
    howto:
      "Requested is what the planner knew when it planned the frame: the request crossed the " +
      "satellite before, and the plan takes as long to come back. The first packets of a burst " +
      "wait for that time. Area above the used line is capacity wasted. If the request stays " +
      "above the area, the carrier is full, or the terminal has reached its maximum.",
    ...(several && i > 0 ? { folded: "requested, allocated, used" } : {}),
  };
}

/** Capacity allocated to all terminals of a carrier. */
function ofAll(carrier: Carrier): PanelSpec {
  return {
    ...common(carrier),
    id: `capacity:${carrier.name}`,
    title: `Capacity of ${carrier.name}, all terminals`,
    layers: carrier.terminals.flatMap(({ name, link }, i): Layer[] => {
      const data = carrier.view.cache.get(link.series[LINK_SERIES.allocated]);
      if (!data) return [];
      return [
        {
          name: `terminal ${name}`,
          title: `Capacity allocated to terminal ${name}`,
          style: "step",
          data,
          colour: () => variantColour(i),
          dash: variantDash(i),
          width: 1.8,
          shown: true,
        },
      ];
    }),
    howto:
      "Capacity allocated to each terminal, frame by frame. Terminals that request more than " +
      "their share get equal amounts; what a terminal does not request is divided among the " +
      "others.",
  };
}

/** Capacity allocated to terminals: a plot of each, after one of all if there are several. */
export const capacity: Panel = {
  linkSeries: CAPACITY_SERIES,
  ofLinks: (view) => {
    const all = view.links.terminals.map(terminalOf);
    return [...new Set(all.map((t) => t.carrier))].flatMap((name) => {
      const terminals = all.filter((t) => t.carrier === name);
      const link = view.links.links.find((l) => l.name === name);
      const rate = link?.rate_mbps ?? terminals[0]!.link.rate_mbps;
      const carrier = { view, name, terminals, references: reference("carrier", rate) };
      const single = terminals.map((t, i) => ofTerminal(carrier, t, i));
      return terminals.length > 1 ? [ofAll(carrier), ...single] : single;
    });
  },
};
