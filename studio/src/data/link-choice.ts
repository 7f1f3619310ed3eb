import { isOnlyTerminal, isTerminal } from "../panels/capacity.ts";
import { commonBeginning } from "../sky/model.ts";
import { flowIn, runOf } from "./groups.ts";
import type { LinkResult, Report, Trace, TraceLink } from "./schema.ts";

/** Runs with up to this number of links show all of them. */
export const FEW_LINKS = 8;
/** Links shown of runs that have more, unless all are asked for. */
const BUSIEST = 6;

/** The links of a run by what they mean for some of its flows. */
export interface LinkRanking {
  /** Names of all links: the bottleneck, then those that carried data of the flows, then the others, each by use. */
  order: string[];
  /** Names of the links that carried data of the flows; empty where the run does not say. */
  carried: ReadonlySet<string>;
  /** Whether there are more links than can be looked at together. */
  many: boolean;
  /** A link's name without what the names of all satellites begin with, where there are many. */
  brief: (name: string) => string;
}

/** Which links of a run are drawn. */
export interface LinkChoice {
  links: TraceLink[];
  /** Those that have capacity allocated to them, whatever links are drawn. */
  terminals: TraceLink[];
  brief: (name: string) => string;
  /** Where there are more than can be looked at together: how many there are, whether all are drawn, which are in words. */
  many: { total: number; all: boolean; words: string } | null;
}

/** All links of a run, as they are drawn where they are few. */
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

/** Names of the links that the data of a flow went over, from the ways it had: in a mesh `from>to`, `from>sky`, `from>ground`. */
export function linksOf(report: Report, trace: Trace, id: Id): Set<string> {
  const sky = trace.sky === undefined ? undefined : report.skies[trace.sky];
  const out = new Set<string>();
  if (!sky) return out;
  const run = runOf(report, trace);
  const upload = (run && flowIn(run, id))?.direction === "upload";
  const satellites = sky.satellites.names.length;
  const name = (node: number): string =>
    sky.satellites.names[node] ?? sky.stations[node - satellites]?.name ?? "";
  for (const { flow, nodes } of trace.paths ?? []) {
    if (flow !== id.name) continue;
    for (let i = 1; i < nodes.length; i++) {
      const [from, to] = upload ? [nodes[i - 1]!, nodes[i]!] : [nodes[i]!, nodes[i - 1]!];
      out.add(
        `${name(from)}>${from >= satellites ? "sky" : to >= satellites ? "ground" : name(to)}`,
      );
    }
  }
  return out;
}

/** One of each list in turn, each name once. */
function inTurn(lists: string[][]): string[] {
  const out = new Set<string>();
  for (let i = 0; lists.some((l) => i < l.length); i++)
    for (const l of lists) if (l[i] !== undefined) out.add(l[i]!);
  return [...out];
}

/** Ranks the links of a run for some of its flows. Links used alike, to a hundredth, go by the packets they dropped. */
export function rankLinks(report: Report, trace: Trace, flows: Id[]): LinkRanking {
  const run = runOf(report, trace);
  const results = new Map<string, LinkResult>(run?.links.map((l) => [l.name, l]));
  const names = [
    ...new Set([
      ...results.keys(),
      ...trace.links.flatMap((l) => (isOnlyTerminal(l) ? [] : [l.name])),
    ]),
  ];
  if (names.length <= FEW_LINKS)
    return { order: names, carried: new Set(), many: false, brief: (name) => name };
  const use = (name: string): number =>
    Math.round(100 * (results.get(name)?.utilisation ?? 0)) || 0;
  const drops = (name: string): number => results.get(name)?.dropped_queue ?? 0;
  const sorted = (list: string[]): string[] =>
    [...list].sort((a, b) => use(b) - use(a) || drops(b) - drops(a));
  const own = flows
    .map((f) => linksOf(report, trace, f))
    .map((set) => names.filter((n) => set.has(n)));
  const carried = new Set(own.flat());
  const bottleneck = names.filter((n) => n === run?.fairness?.bottleneck);
  const begin = (
    trace.sky === undefined ? [] : (report.skies[trace.sky]?.satellites.names ?? [])
  ).slice();
  const common = (begin[0] ?? "").slice(0, commonBeginning(begin));
  return {
    order: [...new Set([...bottleneck, ...inTurn(own.map(sorted)), ...sorted(names)])],
    carried,
    many: true,
    brief: (name) =>
      common
        ? name
            .split(">")
            .map((part) => (part.startsWith(common) ? part.slice(common.length) : part))
            .join(">")
        : name,
  };
}

/** The links of a run to draw for some of its flows. */
export function chooseLinks(report: Report, trace: Trace, flows: Id[], all: boolean): LinkChoice {
  const { order, carried, many, brief } = rankLinks(report, trace, flows);
  if (!many) return everyLink(trace);
  const found = new Map(trace.links.map((l) => [l.name, l]));
  const recorded = order.flatMap((name) => found.get(name) ?? []);
  const { terminals } = everyLink(trace);
  // Where it is known what carried the flows' data, the rest is of others, or ACKs.
  const worth =
    carried.size > 0
      ? recorded.filter((l) => carried.has(l.name) || l.name === order[0])
      : recorded;
  const links = all ? recorded : worth.slice(0, BUSIEST);
  const whose =
    carried.size === 0
      ? "links"
      : `links that carried data of ${flows.length > 1 ? "the flows" : flows[0]!.name}; the run had ${recorded.length} links`;
  const words = all
    ? `All ${recorded.length} links, the most used first.`
    : `The ${links.length < worth.length ? `${links.length} most used of ${worth.length}` : links.length} ${whose}.`;
  return { links, terminals, brief, many: { total: recorded.length, all, words } };
}
