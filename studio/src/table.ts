import { copy, button, download, fileName, h, replace, type Child } from "./dom.ts";
import { metricOf, NONE, plainValue, shortest, significant } from "./format.ts";
import { chosenFlow, flowLabel } from "./results.ts";
import type { Store } from "./state.ts";
import { flowsOf, groupsAt, metricsOf, pointsOf, type FlowId, type Group } from "./stats.ts";
import { swatch } from "./strip.ts";
import type { Published, Report } from "./types.ts";

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
    for (const flow of flows) {
      for (const point of pointsOf(report)) {
        for (const group of groupsAt(report, point, flow, metric)) {
          for (const published of group.published.length ? group.published : [null]) out.push({ group, flow, metric, published });
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
export function delimited(lines: (string | number | null | undefined)[][], separator: "," | "\t"): string {
  return lines.map((line) => line.map((c) => cell(c, separator)).join(separator) + "\n").join("");
}

/** The table with full precision, a head line first. */
export function tableCells(report: Report, rows: Row[]): (string | number | null)[][] {
  const keys = report.sweep.map((s) => s.key);
  return [
    [...keys, "variant", "flow", "visit", "metric", ...STATISTICS, "published", "published_kind", "published_label", "ratio_to_published"],
    ...rows.map(({ group: g, flow, metric, published: p }) => [
      ...keys.map((key) => g.point[key] ?? null),
      g.variant,
      flow.name,
      flow.visit,
      metric,
      g.n,
      g.median,
      g.p5,
      g.p95,
      g.summary?.mean ?? null,
      g.summary?.ci95_low ?? null,
      g.summary?.ci95_high ?? null,
      p?.value ?? null,
      p?.kind ?? null,
      p?.label ?? null,
      p && g.median !== null ? Number((g.median / p.value).toPrecision(6)) : null,
    ]),
  ];
}

function interval(a: number | null | undefined, b: number | null | undefined): string {
  return a === null || a === undefined || b === null || b === undefined ? NONE : `${plainValue(a)} to ${plainValue(b)}`;
}

/** The table of medians, intervals and published values. */
export function tableSection(report: Report, store: Store): { el: HTMLElement; draw: () => void } {
  const metrics = metricsOf(report);
  const flows = flowsOf(report);
  const keys = report.sweep.map((s) => s.key);
  let everything = false;
  const actions = h("div", { class: "controls" });
  const body = h("div", { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "Table of medians and intervals" });
  const said = h("span", { class: "said", role: "status" });
  const el = h("section", { id: "table", "aria-labelledby": "table-title" }, h("div", { class: "section-head" }, h("h2", { id: "table-title" }, "Table"), actions), body);

  const rows = (): Row[] => {
    const metric = metrics.includes(store.state.metric) ? store.state.metric : (metrics[0] ?? "completion_s");
    return everything ? tableRows(report, flows, metrics) : tableRows(report, [chosenFlow(report, store.state.flow)], [metric]);
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
      button("Save CSV", () => download(fileName(report.scenario, "summary.csv"), "text/csv", delimited(tableCells(report, rows()), ","))),
    );
    const list = rows();
    const published = list.some((r) => r.published);
    const one = everything ? null : metricOf(list[0]?.metric ?? "completion_s");
    const unit = one?.unit ? ` (${one.unit})` : "";
    const several = flows.length > 1;
    const head = (text: string, numeric = false, title = ""): Child => h("th", { scope: "col", class: numeric ? "num" : null, title: title || null }, text);
    let before = "";
    const line = ({ group: g, flow, metric, published: p }: Row): HTMLElement => {
      const m = metricOf(metric);
      const here = JSON.stringify([metric, flow, g.point]);
      const first = before !== "" && here !== before;
      before = here;
      return h(
        "tr",
        { class: first ? "first" : null },
        everything && h("td", {}, m.label, m.unit && ` (${m.unit})`),
        keys.map((key) => h("td", { class: "nowrap" }, g.point[key] ?? NONE)),
        several && h("td", {}, flowLabel(flow, flows)),
        h("th", { scope: "row" }, swatch(g.index), " ", g.variant),
        h("td", { class: "num" }, g.n),
        h("td", { class: "num strong" }, plainValue(g.median)),
        h("td", { class: "num nowrap" }, interval(g.p5, g.p95)),
        h("td", { class: "num nowrap" }, interval(g.summary?.ci95_low, g.summary?.ci95_high)),
        published && h("td", { class: "num" }, p ? shortest(p.value) : NONE),
        published && h("td", { title: p?.source || null }, p ? [p.kind, h("small", {}, p.label)] : ""),
        published && h("td", { class: "num" }, p && g.median !== null ? `${significant(g.median / p.value)}×` : NONE),
      );
    };
    const lines = list.map(line);
    replace(
      body,
      h(
        "table",
        {},
        one && h("caption", {}, `${one.label}${unit}`),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            everything && head("Metric"),
            keys.map((key) => head(key)),
            several && head("Flow"),
            head("Variant"),
            head("n", true, "Runs that were counted"),
            head("Median", true),
            head("p5 to p95", true, "5th to 95th percentile"),
            head("95 % CI", true, "95 % confidence interval"),
            published && head("Published", true),
            published && head("Kind"),
            published && head("Ours / published", true),
          ),
        ),
        h("tbody", {}, lines),
      ),
    );
  };
  return { el, draw };
}
