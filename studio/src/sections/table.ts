import { flowsOf } from "../data/flows.ts";
import { metricOf } from "../data/metrics.ts";
import { flowFor, metricsOf, shownMetric } from "../data/offered.ts";
import { pointsOf } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { besideOf, type Row, tableCells, tableRows } from "../data/table.ts";
import { button, h, replace, select } from "../page/dom.ts";
import { copy, delimited, download, fileName } from "../page/files.ts";
import type { State, Store } from "../page/state.ts";
import { shownReport } from "./chosen.ts";
import { FEW, Finder } from "./finder.ts";
import { pivotOf, pivotView, stepRows } from "./pivot.ts";
import { sharingTable } from "./sharing-table.ts";
import { statisticsTable } from "./statistics-table.ts";

/** Most lines put on the page; the files have all. */
const MOST = 1000;

/** What a line of the table is. */
const KINDS = [
  { value: "pivot", text: "variants" },
  { value: "list", text: "variants and points" },
];

/** The section with the table of medians, intervals and published values. */
export function tableSection(whole: Report, store: Store): { el: HTMLElement; draw: () => void } {
  const report = whole;
  const metrics = metricsOf(report);
  const flows = flowsOf(report);
  let everything = false;
  const actions = h("div", { class: "controls" });
  const body = h("div", {
    class: "table-wrap",
    tabindex: 0,
    role: "region",
    "aria-label": "Table of medians and intervals",
    keydown: stepRows,
  });
  const points = pointsOf(whole).length;
  const finder =
    whole.variants.length >= FEW
      ? new Finder(whole, store, () =>
          body.querySelector<HTMLElement>("tbody [data-key^=name]")?.focus(),
        )
      : null;
  const said = h("span", { class: "said", role: "status" });
  const el = h(
    "section",
    { id: "table", "aria-labelledby": "table-title" },
    h("div", { class: "section-head" }, h("h2", { id: "table-title" }, "Table"), actions),
    finder?.el ?? "",
    body,
  );

  const shown = (): string => shownMetric(whole, store.state.metric);
  const rows = (): Row[] => {
    const part = shownReport(whole, store.state);
    const metric = shown();
    if (everything) return tableRows(part, flows, metrics);
    const beside = besideOf(metric, metrics);
    if (beside) return tableRows(part, flows, beside);
    return tableRows(part, [flowFor(whole, metric, store.state.flow)], [metric]);
  };
  /** True if each point has a column, which suits many cases of a single metric. */
  const isPivot = (): boolean => {
    const usual = points > 1 && whole.variants.length > 1 && !besideOf(shown(), metrics);
    return !everything && (store.state.table || (usual ? "pivot" : "list")) === "pivot";
  };
  /** The controls of the table keep the focus when it is made anew. */
  const put = (table: HTMLElement): void => {
    const active = document.activeElement;
    const key = active instanceof HTMLElement && body.contains(active) && active.dataset.key;
    replace(body, table);
    if (key) body.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
  };
  const text = (separator: "," | "\t"): string => delimited(tableCells(report, rows()), separator);
  const take = (separator: "," | "\t", name: string): void => {
    void copy(text(separator)).then((done) => {
      said.textContent = done ? `Copied as ${name}.` : "The browser refused to copy.";
    });
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
    replace(
      actions,
      said,
      !everything &&
        whole.variants.length > 1 &&
        select("Lines", KINDS, isPivot() ? "pivot" : "list", (v) =>
          store.set({ table: v as State["table"] }),
        ),
      h("label", { class: "check" }, all, "all metrics and flows"),
      button("Copy TSV", () => take("\t", "TSV")),
      button("Copy CSV", () => take(",", "CSV")),
      button("Save CSV", () =>
        download(fileName(report.scenario, "summary.csv"), "text/csv", text(",")),
      ),
    );
    finder?.draw();
    if (isPivot()) {
      const metric = shown();
      const flow = flowFor(whole, metric, store.state.flow);
      put(pivotView(pivotOf(whole, store, flow, metricOf(metric)), store));
      return;
    }
    const list = rows();
    // Runs that did not complete need a line of their own.
    const failed = list.some((r) => r.group.failed.length > 0);
    const beside = !everything && !failed && besideOf(list[0]?.metric ?? "", metrics);
    put(
      beside ? sharingTable(report, list, MOST) : statisticsTable(report, list, everything, MOST),
    );
  };
  return { el, draw };
}
