import { type FlowId, TOGETHER } from "./flows.ts";
import { type Group, groupsAt } from "./groups.ts";
import { isShared, METRIC, SHARING } from "./metrics.ts";
import { pointsOf } from "./points.ts";
import type { Figure, Report } from "./report.types.ts";

/** One row of the table: a group's statistics against at most one published value. */
export interface Row {
  group: Group;
  flow: FlowId;
  metric: string;
  published: Figure | null;
}

/** The rows for some metrics of some flows, with a row for each published value that applies. */
export function tableRows(report: Report, flows: FlowId[], metrics: string[]): Row[] {
  const points = pointsOf(report);
  const rows = (metric: string, flow: FlowId): Row[] =>
    points
      .flatMap((point) => groupsAt(report, point, flow, metric))
      .flatMap((group) =>
        (group.published.length ? group.published : [null]).map((published) => ({
          group,
          flow,
          metric,
          published,
        })),
      );
  return metrics.flatMap((metric) =>
    (isShared(metric) ? [TOGETHER] : flows).flatMap((flow) => rows(metric, flow)),
  );
}

/** The table with full precision, after a row of heads. */
export function tableCells(report: Report, rows: Row[]): (string | number | null)[][] {
  const keys = report.sweep.map((s) => s.key);
  const statistics = ["n", "median", "p5", "p95", "mean", "ci95_low", "ci95_high"];
  const published = ["published", "published_kind", "published_label", "ratio_to_published"];
  return [
    [...keys, "variant", "flow", "visit", "metric", ...statistics, "not_completed", ...published],
    ...rows.map(({ group: g, flow, metric, published: p }) => [
      ...keys.map((key) => g.point[key] ?? null),
      g.variant,
      flow.name,
      g.visit,
      metric,
      g.n,
      g.median,
      g.summary?.p5 ?? null,
      g.summary?.p95 ?? null,
      g.summary?.mean ?? null,
      g.summary?.ci95_low ?? null,
      g.summary?.ci95_high ?? null,
      g.failed.length,
      p?.value ?? null,
      p?.kind ?? null,
      p?.label ?? null,
      p && g.median !== null ? Number((g.median / p.value).toPrecision(6)) : null,
    ]),
  ];
}

/** Metrics shown beside a metric of how flows shared the path; null for other metrics. */
export function besideOf(metric: string, metrics: string[]): string[] | null {
  return metrics.includes(METRIC.minMaxRatio) && SHARING.includes(metric)
    ? SHARING.filter((m) => metrics.includes(m))
    : null;
}
