import { swatch } from "../charts/static/marks.ts";
import { isShared } from "../data/fairness.ts";
import { type FlowId, flowFor, flowLabel, flowsOf, TOGETHER } from "../data/flows.ts";
import { type Group, groupsAt, keyLabel, metricsOf, pointsOf } from "../data/groups.ts";
import type { Published, Report } from "../data/schema.ts";
import {
  interval,
  metricOf,
  metricScale,
  NONE,
  plainValue,
  type Scale,
  seconds,
  shortest,
  significant,
} from "../format/numbers.ts";
import { button, type Child, copy, download, fileName, h, replace } from "../page/dom.ts";
import type { Store } from "../page/state.ts";

/** One line of the table: a group's statistics against at most one published value. */
export interface Row {
  group: Group;
  flow: FlowId;
  metric: string;
  published: Published | null;
}

/** The lines for some metrics of some flows, a line more where several published values apply. */
export function tableRows(report: Report, flows: FlowId[], metrics: string[]): Row[] {
  const out: Row[] = [];
  for (const metric of metrics) {
    for (const flow of isShared(metric) ? [TOGETHER] : flows) {
      for (const point of pointsOf(report)) {
        for (const group of groupsAt(report, point, flow, metric)) {
          for (const published of group.published.length ? group.published : [null])
            out.push({ group, flow, metric, published });
        }
      }
    }
  }
  return out;
}

const STATISTICS = ["n", "median", "p5", "p95", "mean", "ci95_low", "ci95_high"] as const;

/** One cell of delimited text; quoted for CSV where needed, and a tab or line end never breaks a TSV line. */
export function cell(value: string | number | null | undefined, separator: "," | "\t"): string {
  let s = value === null || value === undefined ? "" : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) s = "";
  if (separator === "\t") return s.replace(/[\t\r\n]+/g, " ");
  return /[",\r\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
}

/** Lines of cells as CSV or TSV with a line end after each. */
export function delimited(
  lines: (string | number | null | undefined)[][],
  separator: "," | "\t",
): string {
  return lines.map((line) => `${line.map((c) => cell(c, separator)).join(separator)}\n`).join("");
}

/** The table with full precision, a head line first. */
export function tableCells(report: Report, rows: Row[]): (string | number | null)[][] {
  const keys = report.sweep.map((s) => s.key);
  return [
    [
      ...keys,
      "variant",
      "flow",
      "visit",
      "metric",
      ...STATISTICS,
      "not_completed",
      "published",
      "published_kind",
      "published_label",
      "ratio_to_published",
    ],
    ...rows.map(({ group: g, flow, metric, published: p }) => [
      ...keys.map((key) => g.point[key] ?? null),
      g.variant,
      flow.name,
      g.visit,
      metric,
      g.n,
      g.median,
      g.p5,
      g.p95,
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

/** One column: its head, its cell for a row, and what says whether it varies (null: shown in any case). */
interface Column {
  head: string;
  title?: string;
  numeric?: boolean;
  cell: (r: Row) => Child;
  vary: ((r: Row) => string | number | null) | null;
}

/** Columns whose cells are not all alike, and those that are wanted in any case. */
export function varying(columns: Column[], rows: Row[]): Column[] {
  return columns.filter((c) => c.vary === null || new Set(rows.map(c.vary)).size > 1);
}

/** Lines that are put on the page; the files hold all. */
const MOST = 1000;

/** What the rows have in common, in words: metric and unit, flow, values of the sweep, number of runs. */
function common(report: Report, rows: Row[], everything: boolean, unit: string): string {
  const first = rows[0];
  if (!first) return "No values.";
  const m = metricOf(first.metric);
  const same = <T>(f: (r: Row) => T): T | null =>
    rows.every((r) => f(r) === f(first)) ? f(first) : null;
  const keys = report.sweep.flatMap(({ key }) =>
    same((r) => r.group.point[key]) ? [`${key} ${first.group.point[key]}`] : [],
  );
  const n = same((r) => r.group.n);
  return [
    everything ? "All metrics and flows" : `${m.label}${unit ? ` (${unit})` : ""}`,
    !everything && flowsOf(report).length > 1 ? flowLabel(report, first.flow) : "",
    ...keys,
    n === null ? "" : n === 1 ? "one run each" : `${n} runs each`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** Metrics that say together how the flows of a run shared; goodput stands for that of each flow. */
const BESIDE = ["share_ratio", "jain", "aggregate_mbps", "goodput_mbps"];

/** The metrics that stand beside each other in the table where one of them is chosen; null where the flows shared nothing. */
export function besideOf(metric: string, metrics: string[]): string[] | null {
  return metrics.includes("share_ratio") && BESIDE.includes(metric)
    ? BESIDE.filter((m) => metrics.includes(m))
    : null;
}

/** Which part of the runs counts for the shares, in words; empty where it is not the same in all. */
function counted(report: Report): string {
  const parts = new Set(
    report.runs.flatMap(({ fairness: f }) =>
      f && f.from_s !== null && f.to_s !== null
        ? [`${seconds(f.from_s)} to ${seconds(f.to_s)}`]
        : [],
    ),
  );
  return parts.size === 1 ? `, from ${[...parts][0]} of the run` : "";
}

/** A line for each variant and point: how the flows shared, and what each of them got. */
function besideTable(report: Report, rows: Row[]): HTMLElement {
  const heads = new Map<string, Row[]>();
  const lines = new Map<string, Map<string, Row[]>>();
  for (const r of rows) {
    const head = JSON.stringify([r.metric, r.flow]);
    heads.set(head, [...(heads.get(head) ?? []), r]);
    const key = JSON.stringify([r.group.point, r.group.variant]);
    const line = lines.get(key) ?? new Map<string, Row[]>();
    lines.set(key, line.set(head, [...(line.get(head) ?? []), r]));
  }
  const of = (metric: string): Scale =>
    metricScale(
      metricOf(metric),
      Math.max(
        0,
        ...rows.flatMap((r) => (r.metric === metric ? [Math.abs(r.group.median ?? 0)] : [])),
      ),
    );
  const columns = [...heads].flatMap(
    ([head, list]): { head: string; cell: (found: Row[]) => Child; key: string }[] => {
      const { metric, flow } = list[0]!;
      const m = metricOf(metric);
      const scale = of(metric);
      const unit = scale.unit ? ` (${scale.unit})` : "";
      const value = ([r]: Row[]): Child =>
        r
          ? [
              h("span", { class: "strong" }, plainValue(r.group.median, scale)),
              r.group.p5 !== null &&
                h(
                  "small",
                  { class: "nowrap", title: "5th to 95th percentile" },
                  interval(r.group.p5, r.group.p95, scale),
                ),
            ]
          : NONE;
      const known = list.filter((r) => r.published);
      const kinds = new Set(known.map((r) => r.published!.kind));
      return [
        {
          key: head,
          head:
            (metric === "goodput_mbps" ? `Goodput, ${flowLabel(report, flow)}` : m.label) + unit,
          cell: value,
        },
        ...(known.length > 0
          ? [
              {
                key: head,
                head: kinds.size === 1 ? `Published ${[...kinds][0]}` : "Published",
                cell: (found: Row[]): Child =>
                  found.map((r) =>
                    !r.published
                      ? NONE
                      : h(
                          "div",
                          {
                            title: [r.published.label, r.published.source]
                              .filter(Boolean)
                              .join(": "),
                          },
                          shortest(r.published.value / scale.divisor),
                        ),
                  ),
              },
              {
                key: head,
                head: "Ours / published",
                cell: (found: Row[]): Child =>
                  found.map((r) =>
                    !r.published || r.group.median === null
                      ? NONE
                      : h("div", {}, `${significant(r.group.median / r.published.value)}×`),
                  ),
              },
            ]
          : []),
      ];
    },
  );
  const keys = report.sweep.filter((s) => s.values.length > 1).map((s) => s.key);
  const n = new Set(rows.map((r) => r.group.n));
  const runs =
    n.size === 1
      ? [...n][0] === 1
        ? "One run each"
        : `Medians of ${[...n][0]} runs each`
      : `Medians of ${Math.min(...n)} to ${Math.max(...n)} runs`;
  let before: string | null = null;
  return h(
    "table",
    { class: "beside" },
    h(
      "caption",
      {},
      `How the flows shared${counted(report)}; goodput of each flow over all of its time. ${runs}`,
      lines.size > MOST && `. The first ${MOST} of ${lines.size} lines; the files hold all`,
    ),
    h(
      "thead",
      {},
      h("tr", {}, [
        ...keys.map((k) => h("th", { scope: "col", title: k }, keyLabel(k, keys))),
        h("th", { scope: "col" }, "Variant"),
        ...columns.map((c) => h("th", { scope: "col", class: "num" }, c.head)),
      ]),
    ),
    h(
      "tbody",
      {},
      [...lines.values()].slice(0, MOST).map((line) => {
        const { group } = [...line.values()][0]![0]!;
        const here = JSON.stringify(group.point);
        const first = before !== null && here !== before;
        before = here;
        return h(
          "tr",
          { class: first ? "first" : null },
          keys.map((k) => h("td", { class: "nowrap" }, group.point[k] ?? NONE)),
          h("th", { scope: "row" }, swatch(group.index), " ", group.variant),
          columns.map((c) => h("td", { class: "num" }, c.cell(line.get(c.key) ?? []))),
        );
      }),
    ),
  );
}

/** The table of medians, intervals and published values. */
export function tableSection(report: Report, store: Store): { el: HTMLElement; draw: () => void } {
  const metrics = metricsOf(report);
  const flows = flowsOf(report);
  let everything = false;
  const actions = h("div", { class: "controls" });
  const body = h("div", {
    class: "table-wrap",
    tabindex: 0,
    role: "region",
    "aria-label": "Table of medians and intervals",
  });
  const said = h("span", { class: "said", role: "status" });
  const el = h(
    "section",
    { id: "table", "aria-labelledby": "table-title" },
    h("div", { class: "section-head" }, h("h2", { id: "table-title" }, "Table"), actions),
    body,
  );

  const rows = (): Row[] => {
    const metric = metrics.includes(store.state.metric)
      ? store.state.metric
      : (metrics[0] ?? "completion_s");
    const beside = besideOf(metric, metrics);
    if (beside && !everything) return tableRows(report, flows, beside);
    return everything
      ? tableRows(report, flows, metrics)
      : tableRows(report, [flowFor(report, metric, store.state.flow)], [metric]);
  };
  const draw = (): void => {
    const all = h("input", {
      type: "checkbox",
      change: () => {
        everything = all.checked;
        draw();
      },
    });
    all.checked = everything;
    const take = (separator: "," | "\t", name: string): void => {
      void copy(delimited(tableCells(report, rows()), separator)).then((done) => {
        said.textContent = done ? `Copied as ${name}.` : "Copying was refused.";
      });
    };
    replace(
      actions,
      said,
      h("label", { class: "check" }, all, "all metrics and flows"),
      button("Copy TSV", () => take("\t", "TSV")),
      button("Copy CSV", () => take(",", "CSV")),
      button("Save CSV", () =>
        download(
          fileName(report.scenario, "summary.csv"),
          "text/csv",
          delimited(tableCells(report, rows()), ","),
        ),
      ),
    );
    const list = rows();
    const failed = list.some((r) => r.group.failed.length > 0);
    // Runs that did not complete are said line by line.
    if (!everything && !failed && besideOf(list[0]?.metric ?? "", metrics)) {
      replace(body, besideTable(report, list));
      return;
    }
    const scales = new Map<string, Scale>();
    for (const { metric, group } of list) {
      const m = metricOf(metric);
      const before = scales.get(metric);
      const next = metricScale(m, Math.abs(group.median ?? 0));
      if (!before || next.divisor > before.divisor) scales.set(metric, next);
    }
    const scale = (r: Row): Scale => scales.get(r.metric)!;
    const units = new Set(list.map((r) => scale(r).unit));
    const published = list.some((r) => r.published);
    const spread = list.some((r) => r.group.p5 !== null);
    const kinds = new Set(list.flatMap((r) => r.published?.kind ?? []));
    const keys = report.sweep.map((s) => s.key);
    const columns: Column[] = [
      ...(everything
        ? [
            {
              head: "Metric",
              cell: (r: Row) =>
                metricOf(r.metric).label + (scale(r).unit ? ` (${scale(r).unit})` : ""),
              vary: null,
            },
          ]
        : []),
      ...report.sweep.map(({ key }) => ({
        head: keyLabel(key, keys),
        title: key,
        cell: (r: Row) => h("span", { class: "nowrap" }, r.group.point[key] ?? NONE),
        vary: (r: Row) => r.group.point[key] ?? null,
      })),
      {
        head: "Flow",
        cell: (r) => h("span", { class: "nowrap" }, flowLabel(report, r.flow)),
        vary: (r) => flowLabel(report, r.flow),
      },
      { head: "Variant", cell: () => null, vary: null },
      {
        head: "n",
        numeric: true,
        title: "Runs that were counted",
        cell: (r) => r.group.n,
        vary: (r) => r.group.n,
      },
      ...(failed
        ? [
            {
              head: "Not completed",
              numeric: true,
              cell: (r: Row) =>
                r.group.failed.length
                  ? h(
                      "span",
                      { class: "warn", title: r.group.failed[0]!.error || null },
                      r.group.failed.length,
                    )
                  : 0,
              vary: null,
            },
          ]
        : []),
      {
        head: list.every((r) => r.group.n <= 1) ? "Value" : "Median",
        numeric: true,
        cell: (r) => h("span", { class: "strong" }, plainValue(r.group.median, scale(r))),
        vary: null,
      },
      ...(spread
        ? [
            {
              head: "p5 to p95",
              numeric: true,
              title: "5th to 95th percentile",
              cell: (r: Row) =>
                h("span", { class: "nowrap" }, interval(r.group.p5, r.group.p95, scale(r))),
              vary: null,
            },
          ]
        : []),
      ...(list.some((r) => typeof r.group.summary?.ci95_low === "number")
        ? [
            {
              head: "95 % CI",
              numeric: true,
              title: "95 % confidence interval",
              cell: (r: Row) =>
                h(
                  "span",
                  { class: "nowrap" },
                  interval(r.group.summary?.ci95_low, r.group.summary?.ci95_high, scale(r)),
                ),
              vary: null,
            },
          ]
        : []),
      ...(published
        ? [
            {
              head: kinds.size === 1 ? `Published ${[...kinds][0]}` : "Published",
              numeric: true,
              cell: (r: Row) =>
                r.published ? shortest(r.published.value / scale(r).divisor) : NONE,
              vary: null,
            },
            {
              head: "Kind",
              cell: (r: Row) => r.published?.kind ?? "",
              vary: (r: Row) => r.published?.kind ?? [...kinds][0]!,
            },
            {
              head: "Published as",
              cell: (r: Row) =>
                h("span", { title: r.published?.source || null }, r.published?.label ?? ""),
              vary: (r: Row) =>
                r.published?.label ?? list.find((o) => o.published)!.published!.label,
            },
            {
              head: "Ours / published",
              numeric: true,
              cell: (r: Row) =>
                r.published && r.group.median !== null
                  ? `${significant(r.group.median / r.published.value)}×`
                  : NONE,
              vary: null,
            },
          ]
        : []),
    ];
    const cols = varying(columns, list);
    let before = "";
    const line = (r: Row): HTMLElement => {
      const here = JSON.stringify([r.metric, r.flow, r.group.point]);
      const first = before !== "" && here !== before;
      before = here;
      return h(
        "tr",
        { class: first ? "first" : null },
        cols.map((c) =>
          c.head === "Variant"
            ? h("th", { scope: "row" }, swatch(r.group.index), " ", r.group.variant)
            : h("td", { class: c.numeric ? "num" : null }, c.cell(r)),
        ),
      );
    };
    replace(
      body,
      h(
        "table",
        {},
        h(
          "caption",
          {},
          common(report, list, everything, units.size === 1 ? [...units][0]! : ""),
          list.length > MOST && `. The first ${MOST} of ${list.length} lines; the files hold all`,
        ),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            cols.map((c) =>
              h(
                "th",
                { scope: "col", class: c.numeric ? "num" : null, title: c.title ?? null },
                c.head,
              ),
            ),
          ),
        ),
        h("tbody", {}, list.slice(0, MOST).map(line)),
      ),
    );
  };
  return { el, draw };
}
