import { inOrderOfStart } from "../charts/time/waterfall.ts";
import { type LinkRanking, queueDrops } from "../data/links.ts";
import { METRIC, metricOf } from "../data/metrics.ts";
import type { Flow, Link } from "../data/report.types.ts";
import { bytes, count, percent, seconds } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

/** A table that scrolls, below a summary that opens it. `text` are heads that are not numbers. */
function folded(
  summary: string,
  label: string,
  heads: string[],
  text: string[],
  rows: () => HTMLElement[],
): Child {
  // Rows are made when the table is opened: a report may have many runs with many rows.
  const body = h("tbody", {});
  const toggle = (): void => {
    if (body.childElementCount === 0) body.append(...rows());
  };
  const head = heads.map((t) =>
    h("th", { scope: "col", class: text.includes(t) ? null : "num" }, t),
  );
  return h(
    "details",
    { toggle },
    h("summary", {}, summary),
    h(
      "div",
      { class: "table-wrap short", tabindex: 0, role: "region", "aria-label": label },
      h("table", {}, h("thead", {}, h("tr", {}, head)), body),
    ),
  );
}

const numbers = (cells: string[]): HTMLElement[] => cells.map((t) => h("td", { class: "num" }, t));

/** The objects of a flow as a table with bars, if there are several. */
export function objectTable({ objects }: Flow): Child {
  if (objects.length < 2) return null;
  const end = Math.max(...objects.map((o) => o.completion_s ?? o.start_s), 1e-9);
  const share = (time: number): number => (100 * time) / end;
  const bar = (from: number, to: number): HTMLElement => {
    const width = Math.max(0.5, share(to - from));
    const style = `margin-left: ${share(from).toFixed(2)}%; width: ${width.toFixed(2)}%`;
    return h("span", { style });
  };
  const row = (o: Flow["objects"][number]): HTMLElement => {
    const done = o.completion_s === null ? "never" : seconds(o.completion_s);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, o.name),
      numbers([bytes(o.bytes), seconds(o.start_s), done]),
      h("td", { class: "waterfall" }, o.completion_s !== null && bar(o.start_s, o.completion_s)),
    );
  };
  return folded(
    `${count(objects.length)} objects`,
    "Objects of this flow",
    ["Object", "Size", "Requested", "Complete", "From request to end"],
    ["Object", "From request to end"],
    () => inOrderOfStart(objects).map(row),
  );
}

/** The servers of a web page as a table, if it has several. */
export function originTable({ page }: Flow): Child {
  if (!page || page.origins.length < 2) return null;
  const row = (o: (typeof page.origins)[number]): HTMLElement =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, o.name),
      numbers([
        count(o.objects),
        bytes(o.bytes),
        count(o.connections),
        typeof o.dns_s === "number" ? seconds(o.dns_s) : "known",
        seconds(o.handshakes_s),
      ]),
    );
  return folded(
    `${count(page.origins.length)} servers`,
    "Servers of this page",
    ["Server", "Objects", "Size", "Connections", "DNS", "Handshakes"],
    ["Server"],
    () => page.origins.map(row),
  );
}

/** Columns of the table of links. */
const LINK_METRICS = [
  METRIC.linkUtilisation,
  METRIC.linkBytes,
  METRIC.linkDroppedQueue,
  METRIC.linkQueueMax,
];

/** All links of a run as a table, those that carried the flow's data first. */
export function linkTable(links: Link[], { carried, brief }: LinkRanking): Child {
  const known = carried.size > 0;
  const use = (l: Link): string =>
    l.utilisation > 0 && l.utilisation < 1e-4 ? "< 0.01\u00a0%" : percent(l.utilisation);
  const row = (l: Link): HTMLElement =>
    h(
      "tr",
      {},
      h("th", { scope: "row", title: l.name }, brief(l.name)),
      known && h("td", {}, carried.has(l.name) ? "yes" : ""),
      numbers([use(l), bytes(l.bytes), count(queueDrops(l)), bytes(l[METRIC.linkQueueMax])]),
    );
  const own = "Data of this flow";
  return folded(
    `All ${count(links.length)} links`,
    "Links of this run",
    ["Link", ...(known ? [own] : []), ...LINK_METRICS.map((m) => metricOf(m).label)],
    ["Link", own],
    () => links.map(row),
  );
}
