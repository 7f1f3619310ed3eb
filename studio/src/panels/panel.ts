import type { Layer, Mark, PanelSpec, Reference, Style } from "../charts/time/spec.ts";
import type { LinkChoice } from "../data/links.ts";
import { SENDER_SERIES, SERIES } from "../data/names.ts";
import { type Phases, phasesOf } from "../data/phases.ts";
import type { Flow, FlowSeries, PathSummary, Trace } from "../data/report.types.ts";
import type { ReversePath } from "../data/reverse.ts";
import { hasConstellation, Routes } from "../data/routes.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { count } from "../format/numbers.ts";
import { type Role, roleColour } from "../format/palette.ts";

/** What the plots of one flow are made from. */
export interface FlowView {
  trace: Trace;
  flow: FlowSeries;
  path: PathSummary | undefined;
  /** What the flow measured, if that is known. */
  result: Flow | undefined;
  links: LinkChoice;
  cache: SeriesCache;
  /** Times at which the path changes, such as reconfigurations. */
  changes: number[];
}

/** What the plots of all flows of a run in one axis are made from. */
export interface FlowsView {
  trace: Trace;
  path: PathSummary | undefined;
  /** Most connections that a flow took. */
  connections: number;
  links: LinkChoice;
  cache: SeriesCache;
  /** Times at which the path changes, such as reconfigurations. */
  changes: number[];
}

/** What the plots of links are made from. */
export interface LinksView {
  links: LinkChoice;
  marks: Mark[];
  cache: SeriesCache;
}

/** One run among those drawn over each other. */
export interface ComparedRun extends ReversePath {
  name: string;
  /** Index of its variant, which gives its colour. */
  index: number;
  flow: FlowSeries;
}

/** What packets are counted in. */
export type Count = "bytes" | "packets";

/** What plots of several runs drawn over each other are made from. */
export interface RunsView {
  runs: ComparedRun[];
  counted: Count;
  cache: SeriesCache;
}

/**
 * A kind of plot. Each method makes the plots of one view; plots without any series are left out
 * later. Series named here get no generic plot.
 */
export interface Panel {
  flowSeries?: readonly string[];
  linkSeries?: readonly string[];
  ofFlow?(view: FlowView): PanelSpec[];
  ofFlows?(view: FlowsView): PanelSpec[];
  ofLinks?(view: LinksView): PanelSpec[];
  ofRuns?(view: RunsView): PanelSpec[];
}

/** What most plots have in common. */
export const BASE = {
  references: [],
  marks: [],
  phases: null,
  labels: false,
  zero: true,
  height: 190,
} satisfies Partial<PanelSpec>;

/** A series of a flow and how it is drawn. */
export interface Plan extends Partial<Layer> {
  key: string;
  name: string;
  title: string;
  style: Style;
  role: Role;
}

/** When the series of a flow's sender end. */
function endOfFlow(flow: FlowSeries, cache: SeriesCache): number {
  const keys = [...SENDER_SERIES, SERIES.rtt, SERIES.smoothedRtt, SERIES.pacingRate];
  return Math.max(...keys.map((key) => cache.get(flow.series[key])?.t.at(-1) ?? 0));
}

/** The layers of some series of a flow; missing series are left out. */
export function layersOf(plans: Plan[], { flow, cache }: FlowView): Layer[] {
  const hold = endOfFlow(flow, cache);
  return plans.flatMap(({ key, role, ...layer }) => {
    const data = cache.get(flow.series[key]);
    return data ? [{ ...layer, hold, data, colour: () => roleColour(role), shown: true }] : [];
  });
}

/** A reference level, if its value is known. */
export const reference = (name: string, value: number | null | undefined): Reference[] =>
  typeof value === "number" && Number.isFinite(value) && value > 0
    ? [{ name, value, colour: () => roleColour("reference") }]
    : [];

/** A remark for plots of a sender that is only the first of several connections. */
export function firstConnection(
  connections: number | undefined,
  rest = "",
): Pick<PanelSpec, "note"> {
  return connections !== undefined && connections > 1
    ? { note: `The sender's series are of the first of ${count(connections)} connections${rest}.` }
    : {};
}

/** More route changes than this would hide a plot. */
const MOST_CHANGES = 60;

/** Explains the thin vertical lines in plots of paths over satellites. */
export const CHANGES = " Thin vertical lines mark changes of the route or the path.";

/** Marks where the routes of some flows change; none if there are too many. */
export function routeChanges(trace: Trace, flows: FlowSeries[]): Mark[] {
  const routes = Routes.of(trace);
  const times = [...new Set(flows.map((f) => f.name))].flatMap((name) => routes.changesOf(name));
  return times.length <= MOST_CHANGES ? times.map((t) => ({ t, label: "" })).sort(byTime) : [];
}

const byTime = (a: Mark, b: Mark): number => a.t - b.t;

/** Named instants of a flow, such as the end of its handshake. */
export const namedMarks = (flow: FlowSeries): Mark[] =>
  flow.marks.map((m) => ({ t: m.t_s, label: m.label })).sort(byTime);

/** Marks of times at which a path changes; none if there are too many. */
export const pathChanges = (times: number[]): Mark[] =>
  times.length <= MOST_CHANGES ? times.map((t) => ({ t, label: "" })) : [];

/** All marks of a flow: named instants, and changes of its route or path. */
export const marksOf = ({
  trace,
  flow,
  changes,
}: Pick<FlowView, "trace" | "flow" | "changes">): Mark[] =>
  [...namedMarks(flow), ...routeChanges(trace, [flow]), ...pathChanges(changes)].sort(byTime);

/** True if a flow only has the RTT of its route or path, as it sent no packets. */
export function isRouteOnly({ trace, flow, result, cache }: FlowView): boolean {
  const sender = [...SENDER_SERIES, SERIES.smoothedRtt];
  const noPackets = !sender.some((key) => cache.get(flow.series[key]));
  return noPackets && (hasConstellation(trace) || result === undefined);
}

/** Phases of a flow's congestion control, which end with its series; null if unknown. */
export function phasesIn({ flow, cache }: FlowView): { data: Phases; shown: boolean } | null {
  const data = phasesOf(flow.phases, endOfFlow(flow, cache));
  return data && { data, shown: true };
}

/** Name of a flow among the flows of its run, with the visit if there are several. */
export function flowName(flows: FlowSeries[], f: FlowSeries): string {
  return flows.some((o) => o.visit !== f.visit) ? `${f.name}, visit ${f.visit}` : f.name;
}
