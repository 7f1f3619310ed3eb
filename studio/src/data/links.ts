import { flowIn, runOf } from "./groups.ts";
import { LINK_SERIES } from "./names.ts";
import type { Link, LinkSeries, Report, Trace } from "./report.types.ts";
import { constellationOf } from "./routes.ts";

/** Runs with up to this many links show all of them. */
export const FEW_LINKS = 8;
/** Packets that a link's full queue dropped. */
export const queueDrops = (link: Link | undefined): number => link?.dropped_queue ?? 0;

/** Number of links shown first of runs that have more. */
const BUSIEST = 6;

/** Series of a terminal whose capacity is allocated, one sample per frame. */
export const CAPACITY_SERIES: readonly string[] = [
  LINK_SERIES.requested,
  LINK_SERIES.allocated,
  LINK_SERIES.used,
];

/** True if the series are of a terminal that shares a carrier and requests capacity. */
export const isTerminal = (link: LinkSeries): boolean =>
  link.series[LINK_SERIES.allocated] !== undefined;

/** True if the series are of a terminal's capacity only, so that it is no link of its own. */
export const isOnlyTerminal = (link: LinkSeries): boolean =>
  isTerminal(link) && Object.keys(link.series).every((key) => CAPACITY_SERIES.includes(key));

/** The links of a run, ranked for some of its flows. */
export interface LinkRanking {
  /** Names of all links: the bottleneck, links that carried the flows' data, others; by use. */
  order: string[];
  /** Names of links that carried data of the flows; empty if the run does not say. */
  carried: ReadonlySet<string>;
  /** True if there are too many links to show at once. */
  many: boolean;
  /** Shortens a link's name by what all satellites' names begin with, if there are many links. */
  brief: (name: string) => string;
}

/** The links of a run that are drawn. */
export interface LinkChoice {
  links: LinkSeries[];
  /** Terminals with allocated capacity, whatever links are drawn. */
  terminals: LinkSeries[];
  brief: (name: string) => string;
  /** If there are too many links to show at once: their number, if all are drawn, a sentence. */
  many: { total: number; all: boolean; words: string } | null;
}

/** All links of a run. */
export const everyLink = (trace: Trace): LinkChoice => ({
  links: trace.links.filter((l) => !isOnlyTerminal(l)),
  terminals: trace.links.filter(isTerminal),
  brief: (name) => name,
  many: null,
});

/** A flow by its name and visit. */
interface Id {
  name: string;
  visit: number;
}

/** Length of the common beginning of all names, up to the last hyphen or space in it. */
export function commonBeginning(names: string[]): number {
  const first = names[0] ?? "";
  let n = names.length > 1 ? first.length : 0;
  for (const name of names) while (!name.startsWith(first.slice(0, n))) n--;
  return Math.max(first.lastIndexOf("-", n - 1), first.lastIndexOf(" ", n - 1)) + 1;
}

/**
 * Names of the links on the routes of a flow, in the direction of its data. Links of a
 * constellation are named `from>to`, `from>sky` or `from>ground`.
 */
export function linksOf(report: Report, trace: Trace, id: Id): Set<string> {
  const over = constellationOf(report, trace);
  const out = new Set<string>();
  if (!over) return out;
  const run = runOf(report, trace);
  const upload = (run && flowIn(run, id))?.direction === "upload";
  const satellites = over.satellites.names.length;
  const name = (node: number): string =>
    over.satellites.names[node] ?? over.stations[node - satellites]?.name ?? "";
  for (const { flow, nodes } of trace.routes ?? []) {
    if (flow !== id.name) continue;
    for (let i = 1; i < nodes.length; i++) {
      const [from, to] = upload ? [nodes[i - 1]!, nodes[i]!] : [nodes[i]!, nodes[i - 1]!];
      const end = from >= satellites ? "sky" : to >= satellites ? "ground" : name(to);
      out.add(`${name(from)}>${end}`);
    }
  }
  return out;
}

/** Merges lists by taking from each in turn; each name once. */
function inTurn(lists: string[][]): string[] {
  const longest = Math.max(0, ...lists.map((l) => l.length));
  const rounds = Array.from({ length: longest }, (_, i) => lists.flatMap((l) => l[i] ?? []));
  return [...new Set(rounds.flat())];
}

/**
 * Ranks the links of a run for some of its flows. Links whose utilisation is equal to a hundredth
 * are ranked by the packets they dropped.
 */
export function rankLinks(report: Report, trace: Trace, flows: Id[]): LinkRanking {
  const run = runOf(report, trace);
  const results = new Map<string, Link>(run?.links.map((l) => [l.name, l]));
  const drawn = trace.links.filter((l) => !isOnlyTerminal(l)).map((l) => l.name);
  const names = [...new Set([...results.keys(), ...drawn])];
  if (names.length <= FEW_LINKS)
    return { order: names, carried: new Set(), many: false, brief: (name) => name };
  const use = (name: string): number =>
    Math.round(100 * (results.get(name)?.utilisation ?? 0)) || 0;
  const drops = (name: string): number => queueDrops(results.get(name));
  const sorted = (list: string[]): string[] =>
    [...list].sort((a, b) => use(b) - use(a) || drops(b) - drops(a));
  const own = flows.map((f) => {
    const set = linksOf(report, trace, f);
    return names.filter((n) => set.has(n));
  });
  const bottleneck = names.filter((n) => n === run?.fairness?.bottleneck);
  const satellites = constellationOf(report, trace)?.satellites.names ?? [];
  const common = (satellites[0] ?? "").slice(0, commonBeginning(satellites));
  const cut = (part: string): string =>
    part.startsWith(common) ? part.slice(common.length) : part;
  return {
    order: [...new Set([...bottleneck, ...inTurn(own.map(sorted)), ...sorted(names)])],
    carried: new Set(own.flat()),
    many: true,
    brief: (name) => name.split(">").map(cut).join(">"),
  };
}

/** The links of a run to draw for some of its flows. */
export function chooseLinks(report: Report, trace: Trace, flows: Id[], all: boolean): LinkChoice {
  const { order, carried, many, brief } = rankLinks(report, trace, flows);
  const every = everyLink(trace);
  if (!many) return every;
  const found = new Map(trace.links.map((l) => [l.name, l]));
  const recorded = order.flatMap((name) => found.get(name) ?? []);
  // If it is known which links carried the flows' data, the others carried ACKs or other flows.
  const worth =
    carried.size > 0
      ? recorded.filter((l) => carried.has(l.name) || l.name === order[0])
      : recorded;
  const links = all ? recorded : worth.slice(0, BUSIEST);
  const whose = flows.length === 1 ? flows[0]!.name : "the flows";
  const which =
    carried.size === 0
      ? "links"
      : `links that carried data of ${whose}; the run had ${recorded.length} links`;
  const number =
    links.length < worth.length
      ? `${links.length} most used of ${worth.length}`
      : String(links.length);
  const words = all
    ? `All ${recorded.length} links, the most used first.`
    : `The ${number} ${which}.`;
  return {
    links,
    terminals: every.terminals,
    brief,
    many: { total: recorded.length, all, words },
  };
}
