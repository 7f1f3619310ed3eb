import { swatch } from "../charts/static/marks.ts";
import { flowLabel } from "../data/flows.ts";
import { isShared, metricOf } from "../data/metrics.ts";
import { keyLabel } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { groupBy } from "../data/statistics.ts";
import type { Row } from "../data/table.ts";
import { besides, interval, metricScale, plainValue } from "../format/metric.ts";
import { NONE, type Scale, seconds, shortest } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

/** One column: its head, its cell for the rows that it has on a line, and their key. */
interface Column {
  head: string;
  key: string;
  cell: (rows: Row[]) => Child;
}

/** The part of the runs that shares are measured over, in words; empty if runs differ. */
function measuredOver(report: Report): string {
  const parts = new Set(
    report.runs.flatMap(({ fairness: f }) =>
      f ? [`${seconds(f.from_s)} to ${seconds(f.to_s)}`] : [],
    ),
  );
  return parts.size === 1 ? `, from ${[...parts][0]} of the run` : "";
}

/** The number of runs per line, in words. */
function runsInWords(rows: Row[]): string {
  const counts = rows.map((r) => r.group.n);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (least !== most) return `Medians of ${least} to ${most} runs`;
  return most === 1 ? "One run each" : `Medians of ${most} runs each`;
}

const columnKey = (r: Row): string => JSON.stringify([r.metric, r.flow]);

/** The columns of one metric of one flow: its value, and published values if there are any. */
function columnsOf(report: Report, own: Row[], scale: Scale): Column[] {
  const { metric, flow } = own[0]!;
  const key = columnKey(own[0]!);
  const label = metricOf(metric).label + (isShared(metric) ? "" : `, ${flowLabel(report, flow)}`);
  const value = ([r]: Row[]): Child => {
    if (!r) return NONE;
    const { median, spread } = r.group;
    return [
      h("span", { class: "strong" }, plainValue(median, scale)),
      spread &&
        h(
          "small",
          { class: "nowrap", title: spread.words },
          interval(spread.low, spread.high, scale),
        ),
    ];
  };
  const first = { key, head: label + (scale.unit ? ` (${scale.unit})` : ""), cell: value };
  const kinds = new Set(own.flatMap((r) => r.published?.kind ?? []));
  if (kinds.size === 0) return [first];
  const published = ({ published: p }: Row): Child => {
    if (!p) return NONE;
    const title = [p.label, p.source].filter(Boolean).join(": ");
    return h("div", { title }, shortest(p.value / scale.divisor));
  };
  const ratio = ({ published: p, group: { median } }: Row): Child =>
    p && median !== null ? h("div", {}, besides(metricOf(metric), median, p.value)) : NONE;
  const head = kinds.size === 1 ? `Published ${[...kinds][0]}` : "Published";
  return [
    first,
    { key, head, cell: (rows) => rows.map(published) },
    { key, head: "Ours to published", cell: (rows) => rows.map(ratio) },
  ];
}

/** A table of how the flows shared the path: a line per variant and point, a column per metric. */
export function sharingTable(report: Report, rows: Row[], most: number): HTMLElement {
  const byColumn = groupBy(rows, columnKey);
  const lines = [
    ...groupBy(rows, (r) => JSON.stringify([r.group.point, r.group.variant])).values(),
  ];
  const scaleOf = (metric: string): Scale => {
    const own = rows.filter((r) => r.metric === metric);
    return metricScale(
      metricOf(metric),
      Math.max(...own.map((r) => Math.abs(r.group.median ?? 0))),
    );
  };
  const columns = [...byColumn.values()].flatMap((own) =>
    columnsOf(report, own, scaleOf(own[0]!.metric)),
  );
  const keys = report.sweep.filter((s) => s.values.length > 1).map((s) => s.key);
  let before = "";
  const line = (own: Row[]): HTMLElement => {
    const { group } = own[0]!;
    const here = JSON.stringify(group.point);
    const first = before !== "" && here !== before;
    before = here;
    const cells = columns.map((c) =>
      h("td", { class: "num" }, c.cell(own.filter((r) => columnKey(r) === c.key))),
    );
    return h(
      "tr",
      { class: first ? "first" : null },
      keys.map((k) => h("td", { class: "nowrap" }, group.point[k] ?? NONE)),
      h("th", { scope: "row" }, swatch(group.index), " ", group.variant),
      cells,
    );
  };
  const cut =
    lines.length > most && `. The first ${most} of ${lines.length} lines; the files have all`;
  const heads = [
    ...keys.map((k) => h("th", { scope: "col", title: k }, keyLabel(k, keys))),
    h("th", { scope: "col" }, "Variant"),
    ...columns.map((c) => h("th", { scope: "col", class: "num" }, c.head)),
  ];
  const caption =
    `How the flows shared the path${measuredOver(report)}; goodput of each flow over all of its ` +
    `time. ${runsInWords(rows)}`;
  return h(
    "table",
    { class: "beside" },
    h("caption", {}, caption, cut),
    h("thead", {}, h("tr", {}, heads)),
    h("tbody", {}, lines.slice(0, most).map(line)),
  );
}
