import { type BudgetRow, budgetBars, budgetLegend } from "../charts/static/budget-bars.ts";
import { type FlowId, visitOf } from "../data/flows.ts";
import { type Point, pointKey, pointLabel } from "../data/points.ts";
import type { Explanation, Report } from "../data/report.types.ts";
import { type Child, h } from "../page/dom.ts";

/** The explanation of each variant at a point, in the order of the variants. */
export function budgetsAt(report: Report, point: Point, flow: FlowId): BudgetRow[] {
  const key = pointKey(point);
  const here = (report.explanations ?? []).filter(
    (e) => e.flow === flow.name && pointKey(e.point) === key,
  );
  return report.variants.flatMap((name, index): BudgetRow[] => {
    const visit = visitOf(report, name, flow);
    const of = here.find((e: Explanation) => e.variant === name && e.visit === visit);
    return of ? [{ name, index, of }] : [];
  });
}

/** Where the time of each variant went at some points; null if that is unknown. */
export function budgetFigure(report: Report, points: Point[], flow: FlowId): Child {
  const all = points.map((point) => ({ point, rows: budgetsAt(report, point, flow) }));
  const known = all.filter(({ rows }) => rows.length > 0);
  if (known.length === 0) return null;
  const rows = known.flatMap((k) => k.rows);
  const most = Math.max(...rows.map((r) => r.of.completion_s));
  const several = rows.some((r) => r.of.runs > 1);
  return h(
    "figure",
    { class: "card budgets" },
    h(
      "figcaption",
      {},
      h(
        "h3",
        {},
        "Where the time went",
        h("small", {}, ` completion time${several ? ", of the median run" : ""}`),
      ),
    ),
    budgetLegend(rows),
    known.map(({ point, rows }) => [
      known.length > 1 && h("h4", {}, pointLabel(point)),
      budgetBars(rows, most),
    ]),
    h(
      "p",
      { class: "howto" },
      "Parts exclude each other and add up to the completion time. Grey parts are what every " +
        "transfer needs on this path; coloured parts are time in which the slowest link carried " +
        "no new data of this flow, by cause. Point at a part for its meaning.",
    ),
  );
}
