import { sharedValue } from "../data/fairness.ts";
import { flowIn, runOf } from "../data/groups.ts";
import { rankLinks } from "../data/links.ts";
import {
  flowMetric,
  METRIC,
  metricOf,
  RUN_FACTS,
  RUN_METRICS,
  reverseMetrics,
} from "../data/metrics.ts";
import type { Flow, PathKnowledge, Report, Trace } from "../data/report.types.ts";
import { metricValue } from "../format/metric.ts";
import { bytes, count, ms, percent, plural, seconds } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";
import { linkTable, objectTable, originTable } from "./run-tables.ts";

/** Number of links whose use is among the facts if a run has many links. */
const NAMED = 3;

const fact = (name: string, value: string, about = ""): Child =>
  h("div", {}, h("dt", { title: about || null }, name), h("dd", {}, value));

/** The number of a fact, to fold those that are 0. */
interface Numbered {
  value: number;
  el: Child;
}

/** Figures of a run: those that are 0 are folded, as they say only what did not happen. */
function folded(all: Numbered[], rest: Child): Child {
  const zeros = all.filter(({ value }) => value === 0);
  return [
    h(
      "dl",
      { class: "grid-facts" },
      all.filter(({ value }) => value !== 0).map(({ el }) => el),
      rest,
    ),
    zeros.length > 0 &&
      h(
        "details",
        { class: "zeros" },
        h("summary", {}, `${plural(zeros.length, "figure")} of 0`),
        h(
          "dl",
          { class: "grid-facts" },
          zeros.map(({ el }) => el),
        ),
      ),
  ];
}

const metricFact = (key: string, value: number | null): Child =>
  value !== null &&
  fact(metricOf(key).label, metricValue(metricOf(key), value), metricOf(key).about);

/** What the ends knew of the path, each view as window and RTT. */
export function pathFacts(path: PathKnowledge): [string, string][] {
  const views: [string, number | null, number | null][] = [
    ["Saved path", path.saved_window_bytes, path.saved_rtt_ms],
    ["Path observed by the sender", path.observed_window_bytes, path.observed_rtt_ms],
    ["Path observed by the receiver", path.receiver_window_bytes, path.receiver_rtt_ms],
  ];
  const facts = views.flatMap(([name, window, rtt]): [string, string][] =>
    window === null || rtt === null ? [] : [[name, `${bytes(window)} in ${ms(rtt)}`]],
  );
  if (path.retreated !== null) facts.push(["Jump met congestion", path.retreated ? "yes" : "no"]);
  if (path.token !== null) facts.push(["Path token", path.token.replaceAll("_", " ")]);
  return facts;
}

/** Reverse bytes with their labels, the sum first. */
export const layersOf = (flow: Flow): [string, number][] =>
  reverseMetrics(flow).map((key) => [metricOf(key).label, flowMetric(flow, key) ?? 0]);

/** How the flows of a run shared the path; null if that was not measured. */
export function sharingFacts(report: Report, trace: Trace, title: string): HTMLElement | null {
  const run = runOf(report, trace);
  const f = run?.fairness;
  if (!f) return null;
  const when = ` from ${seconds(f.from_s)} to ${seconds(f.to_s)}`;
  const shared = (keys: readonly string[]): Child =>
    keys.map((key) => metricFact(key, sharedValue(report, run, key)));
  const late =
    sharedValue(report, run, METRIC.convergence) === null &&
    fact(metricOf(METRIC.convergence).label, "not within the run");
  const whole: string[] = [METRIC.jainIndex, METRIC.minMaxRatio, METRIC.aggregateGoodput];
  const rest = RUN_METRICS.filter((key) => key !== METRIC.share && !whole.includes(key));
  return h(
    "div",
    { class: "card run-card sharing" },
    h("h3", {}, title, h("small", {}, ` sharing among flows${when}`)),
    h(
      "dl",
      { class: "grid-facts" },
      shared(whole),
      f.flows.map((o) =>
        fact(
          `Goodput of ${o.flow}`,
          `${metricValue(metricOf(METRIC.goodput), o.goodput_mbps)}, ${percent(o.share)}`,
        ),
      ),
      f.bottleneck !== null && fact("Bottleneck", f.bottleneck),
      shared(rest),
      late,
    ),
  );
}

/** What one flow of one run measured, in a few numbers. */
export function runFacts(
  report: Report,
  trace: Trace,
  id: { name: string; visit: number },
  title: string,
): HTMLElement | null {
  const run = runOf(report, trace);
  const flow = run && flowIn(run, id);
  if (!run || !flow) return null;
  const byName = new Map(run.links.map((l) => [l.name, l]));
  const ranking = rankLinks(report, trace, [id]);
  const links = ranking.order.flatMap((name) => byName.get(name) ?? []);
  const what = [
    flow.transport,
    flow.congestion,
    flow.connections > 1 && `${count(flow.connections)} connections`,
    flow.direction,
    bytes(flow.bytes),
    !flow.completed && "not completed",
  ];
  return h(
    "div",
    { class: "card run-card" },
    h("h3", {}, title, h("small", {}, ` ${what.filter(Boolean).join(", ")}`)),
    !flow.completed && flow.error && h("p", { class: "warn" }, flow.error),
    folded(
      [
        ...RUN_FACTS.flatMap((key): Numbered[] => {
          const value = flowMetric(flow, key);
          return value === null ? [] : [{ value, el: metricFact(key, value) }];
        }),
        ...layersOf(flow).map(([name, n]): Numbered => ({ value: n, el: fact(name, bytes(n)) })),
      ],
      [
        pathFacts(flow.path).map(([name, value]) => fact(name, value)),
        (ranking.many ? links.slice(0, NAMED) : links).map((l) =>
          fact(`Utilisation of ${ranking.brief(l.name)}`, percent(l.utilisation)),
        ),
      ],
    ),
    ranking.many && linkTable(links, ranking),
    objectTable(flow),
    originTable(flow),
  );
}
