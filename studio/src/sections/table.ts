import { flowFor, flowsOf } from "../data/flows.ts";
import { METRIC } from "../data/metrics.ts";
import { metricsOf } from "../data/offered.ts";
import type { Report } from "../data/report.types.ts";
import { besideOf, type Row, tableCells, tableRows } from "../data/table.ts";
import { button, h, replace } from "../page/dom.ts";
import { copy, delimited, download, fileName } from "../page/files.ts";
import type { Store } from "../page/state.ts";
import { sharingTable } from "./sharing-table.ts";
import { statisticsTable } from "./statistics-table.ts";

/** Most lines put on the page; the files have all. */
const MOST = 1000;

/** The section with the table of medians, intervals and published values. */
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
    const { state } = store;
    const metric = metrics.includes(state.metric)
      ? state.metric
      : (metrics[0] ?? METRIC.completion);
    if (everything) return tableRows(report, flows, metrics);
    const beside = besideOf(metric, metrics);
    if (beside) return tableRows(report, flows, beside);
    return tableRows(report, [flowFor(report, metric, state.flow)], [metric]);
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
      h("label", { class: "check" }, all, "all metrics and flows"),
      button("Copy TSV", () => take("\t", "TSV")),
      button("Copy CSV", () => take(",", "CSV")),
      button("Save CSV", () =>
        download(fileName(report.scenario, "summary.csv"), "text/csv", text(",")),
      ),
    );
    const list = rows();
    // Runs that did not complete need a line of their own.
    const failed = list.some((r) => r.group.failed.length > 0);
    const beside = !everything && !failed && besideOf(list[0]?.metric ?? "", metrics);
    replace(
      body,
      beside ? sharingTable(report, list, MOST) : statisticsTable(report, list, everything, MOST),
    );
  };
  return { el, draw };
}
