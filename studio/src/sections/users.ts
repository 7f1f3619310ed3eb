import { stripPlot } from "../charts/static/strip.ts";
import { type FlowId, visitOf } from "../data/flows.ts";
import { type Group, runsAt } from "../data/groups.ts";
import { METRIC, metricOf } from "../data/metrics.ts";
import type { Point } from "../data/points.ts";
import { SIZE_CLASSES, slowdownsOf, type UserSlowdown } from "../data/populations.ts";
import type { Report } from "../data/report.types.ts";
import { quantile, spreadOf } from "../data/statistics.ts";
import { type Child, h } from "../page/dom.ts";

/** Most dots of a row; of more users, some are drawn. */
const DOTS = 300;
const STEPS = 52;

/** A row of a strip plot: the users of one variant. */
function groupOf(variant: string, index: number, point: Point, users: UserSlowdown[]): Group {
  const sorted = users.flatMap((u) => u.slowdown ?? []).sort((a, b) => a - b);
  const every = Math.ceil(users.length / DOTS);
  const [low, high] = [0.05, 0.95].map((p) => (sorted.length ? quantile(sorted, p) : null));
  const spread = spreadOf(sorted, sorted.length, low ?? null, high ?? null);
  return {
    variant,
    index,
    point,
    visit: 1,
    values: users.filter((_, i) => i % every === 0).map((u) => ({ run: u.run, value: u.slowdown })),
    failed: users.filter((u) => u.slowdown === null).map((u) => ({ run: u.run, error: "" })),
    sorted,
    summary: null,
    n: sorted.length,
    median: sorted.length ? quantile(sorted, 0.5) : null,
    spread,
    // Of many users, the interval of the median says nothing of who waits.
    interval: spread,
    published: [],
  };
}

/**
 * The slowdowns of the users of a population at a point, by size of their transfers: a row for each
 * variant, a dot for each user. Null if the flow is no population.
 */
export function usersFigure(
  report: Report,
  point: Point,
  flow: FlowId,
  choose: (variant: string, run: number) => void,
): Child {
  const [name, size] = flow.name.split("/", 2) as [string, string?];
  const users = report.variants.map((variant) => {
    const visit = visitOf(report, variant, { name, place: flow.place });
    return visit === undefined ? [] : slowdownsOf(runsAt(report, variant, point), name, visit);
  });
  if (users.every((list) => list.length === 0)) return null;
  const metric = { ...metricOf(METRIC.meanSlowdown), label: "Slowdown" };
  const plots = SIZE_CLASSES.filter((c) => size === undefined || c.name === size).map((c) => {
    const groups = report.variants.flatMap((variant, index) => {
      const own = users[index]!.filter((u) => u.size === c.name);
      return own.length ? [groupOf(variant, index, point, own)] : [];
    });
    if (groups.length === 0) return null;
    return h(
      "figure",
      { class: "card dist" },
      h("figcaption", {}, h("h4", {}, c.label)),
      stripPlot(groups, metric, { steps: STEPS, choose }),
    );
  });
  return [
    h("h3", {}, `Slowdown of the users, ${name}`),
    h("div", { class: "dist-grid" }, plots),
    h(
      "p",
      { class: "howto" },
      "A dot is a user: its completion time over the least possible on the idle path.",
    ),
  ];
}
