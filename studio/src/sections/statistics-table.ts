import { swatch } from "../charts/static/marks.ts";
import { flowLabel, flowsOf } from "../data/flows.ts";
import { metricOf } from "../data/metrics.ts";
import { keyLabel } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import type { Row } from "../data/table.ts";
import { besides, interval, metricScale, plainValue } from "../format/metric.ts";
import { NONE, type Scale, shortest } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

/** One column: its head, its cell for a row, and what may vary in it (null: always shown). */
interface Column {
  head: string;
  title?: string;
  numeric?: boolean;
  cell: (r: Row) => Child;
  vary: ((r: Row) => string | number | null) | null;
}

/** Columns that are always shown, and those whose cells are not all alike. */
export function varying(columns: Column[], rows: Row[]): Column[] {
  return columns.filter((c) => c.vary === null || new Set(rows.map(c.vary)).size > 1);
}

/** What the rows have in common, in words: metric, flow, swept values, number of runs. */
function common(report: Report, rows: Row[], everything: boolean, unit: string): string {
  const first = rows[0];
  if (!first) return "No values.";
  const same = <T>(f: (r: Row) => T): T | null =>
    rows.every((r) => f(r) === f(first)) ? f(first) : null;
  const { label } = metricOf(first.metric);
  const metric = everything ? "All metrics and flows" : label + (unit && ` (${unit})`);
  const several = !everything && flowsOf(report).length > 1;
  const keys = report.sweep.flatMap(({ key }) =>
    same((r) => r.group.point[key]) ? [`${key} ${first.group.point[key]}`] : [],
  );
  const n = same((r) => r.group.n);
  const runs = n === null ? "" : n === 1 ? "one run each" : `${n} runs each`;
  return [metric, several && flowLabel(report, first.flow), ...keys, runs]
    .filter(Boolean)
    .join(", ");
}

/** The scale of each metric, for its largest median. */
function scalesOf(rows: Row[]): Map<string, Scale> {
  const scales = new Map<string, Scale>();
  for (const { metric, group } of rows) {
    const before = scales.get(metric);
    const next = metricScale(metricOf(metric), Math.abs(group.median ?? 0));
    if (!before || next.divisor > before.divisor) scales.set(metric, next);
  }
  return scales;
}

const nowrap = (text: string): HTMLElement => h("span", { class: "nowrap" }, text);

/** Columns of published values and of ours over them; none if nothing was published. */
function publishedColumns(rows: Row[], scale: (r: Row) => Scale): Column[] {
  const first = rows.find((r) => r.published)?.published;
  if (!first) return [];
  const kinds = new Set(rows.flatMap((r) => r.published?.kind ?? []));
  const numeric = true;
  return [
    {
      head: kinds.size === 1 ? `Published ${first.kind}` : "Published",
      numeric,
      cell: (r) => (r.published ? shortest(r.published.value / scale(r).divisor) : NONE),
      vary: null,
    },
    {
      head: "Kind",
      cell: (r) => r.published?.kind ?? "",
      vary: (r) => r.published?.kind ?? first.kind,
    },
    {
      head: "Published as",
      cell: (r) => h("span", { title: r.published?.source || null }, r.published?.label ?? ""),
      vary: (r) => r.published?.label ?? first.label,
    },
    {
      head: "Ours to published",
      numeric,
      cell: ({ metric, published: p, group: { median } }) =>
        p && median !== null ? besides(metricOf(metric), median, p.value) : NONE,
      vary: null,
    },
  ];
}

/** Columns of statistics. */
function statisticsColumns(rows: Row[], scale: (r: Row) => Scale): Column[] {
  const numeric = true;
  const failed = rows.some((r) => r.group.failed.length > 0);
  const spreads = new Set(rows.flatMap((r) => r.group.spread?.words ?? []));
  const percentiles = [...spreads].every((words) => words.includes("percentile"));
  const confidence = rows.some((r) => typeof r.group.summary?.ci95_low === "number");
  const failures = ({ group: g }: Row): Child =>
    g.failed.length
      ? h("span", { class: "warn", title: g.failed[0]!.error || null }, g.failed.length)
      : 0;
  const columns: (Column | false)[] = [
    {
      head: "n",
      numeric,
      title: "Number of runs",
      cell: (r) => r.group.n,
      vary: (r) => r.group.n,
    },
    failed && { head: "Not completed", numeric, cell: failures, vary: null },
    {
      head: rows.every((r) => r.group.n <= 1) ? "Value" : "Median",
      numeric,
      cell: (r) => h("span", { class: "strong" }, plainValue(r.group.median, scale(r))),
      vary: null,
    },
    spreads.size > 0 && {
      head: percentiles ? "p5 to p95" : "Spread",
      numeric,
      title: [...spreads].join("; "),
      cell: (r) => {
        const { spread } = r.group;
        const title = spread?.words ?? null;
        return h("span", { class: "nowrap", title }, interval(spread?.low, spread?.high, scale(r)));
      },
      vary: null,
    },
    confidence && {
      head: "95 % CI",
      numeric,
      title: "95 % confidence interval",
      cell: (r) => {
        const { ci95_low: low, ci95_high: high } = r.group.summary ?? {};
        return nowrap(interval(low, high, scale(r)));
      },
      vary: null,
    },
  ];
  return columns.filter((c) => c !== false);
}

/** A table of statistics, a line per row; at most `most` lines. */
export function statisticsTable(
  report: Report,
  rows: Row[],
  everything: boolean,
  most: number,
): HTMLElement {
  const scales = scalesOf(rows);
  const scale = (r: Row): Scale => scales.get(r.metric)!;
  const units = new Set(rows.map((r) => scale(r).unit));
  const unit = units.size === 1 ? [...units][0]! : "";
  const keys = report.sweep.map((s) => s.key);
  const metric: Column = {
    head: "Metric",
    cell: (r) => metricOf(r.metric).label + (scale(r).unit && ` (${scale(r).unit})`),
    vary: null,
  };
  const columns: Column[] = [
    ...(everything ? [metric] : []),
    ...keys.map((key) => ({
      head: keyLabel(key, keys),
      title: key,
      cell: (r: Row) => nowrap(r.group.point[key] ?? NONE),
      vary: (r: Row) => r.group.point[key] ?? null,
    })),
    {
      head: "Flow",
      cell: (r) => nowrap(flowLabel(report, r.flow)),
      vary: (r) => flowLabel(report, r.flow),
    },
    { head: "Variant", cell: () => null, vary: null },
    ...statisticsColumns(rows, scale),
    ...publishedColumns(rows, scale),
  ];
  const shown = varying(columns, rows);
  let before = "";
  const line = (r: Row): HTMLElement => {
    const here = JSON.stringify([r.metric, r.flow, r.group.point]);
    const first = before !== "" && here !== before;
    before = here;
    const cell = (c: Column): HTMLElement =>
      c.head === "Variant"
        ? h("th", { scope: "row" }, swatch(r.group.index), " ", r.group.variant)
        : h("td", { class: c.numeric ? "num" : null }, c.cell(r));
    return h("tr", { class: first ? "first" : null }, shown.map(cell));
  };
  const cut =
    rows.length > most && `. The first ${most} of ${rows.length} lines; the files have all`;
  const head = ({ head, numeric, title }: Column): HTMLElement =>
    h("th", { scope: "col", class: numeric ? "num" : null, title: title ?? null }, head);
  return h(
    "table",
    {},
    h("caption", {}, common(report, rows, everything, unit), cut),
    h("thead", {}, h("tr", {}, shown.map(head))),
    h("tbody", {}, rows.slice(0, most).map(line)),
  );
}
