import { flowIn, runOf } from "../data/groups.ts";
import { type LinkRanking, rankLinks } from "../data/link-choice.ts";
import { inOrderOfStart } from "../data/objects.ts";
import type { Flow, LinkResult, PathView, Report, Trace } from "../data/schema.ts";
import {
  bytes,
  count,
  metricOf,
  metricValue,
  ms,
  percent,
  seconds,
  significant,
} from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

const SHOWN = [
  "completion_s",
  "goodput_mbps",
  "handshake_s",
  "first_byte_s",
  "rtt_min_ms",
  "rtt_mean_ms",
  "rtt_p99_ms",
  "packets_sent",
  "packets_lost_policer",
  "packets_lost_queue",
  "packets_lost_random",
  "packets_lost_route",
  "packets_declared_lost",
  "flow_control_blocked_s",
  "flow_control_blocked_longest_s",
  "pep_held_bytes",
  "pep_acks_dropped",
  "return_packets",
  "data_per_ack",
] as const satisfies readonly (keyof Flow)[];

function objects(flow: Flow): Child {
  if (flow.objects.length < 2) return null;
  const end = Math.max(...flow.objects.map((o) => o.completion_s ?? o.start_s), 1e-9);
  return h(
    "details",
    {},
    h("summary", {}, `${count(flow.objects.length)} objects`),
    h(
      "div",
      {
        class: "table-wrap short",
        tabindex: 0,
        role: "region",
        "aria-label": "Objects of this flow",
      },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Object", "Size", "From", "Done", ""].map((t, i) =>
              h("th", { scope: "col", class: i > 0 && i < 4 ? "num" : null }, t),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          inOrderOfStart(flow.objects).map((o) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, o.name),
              h("td", { class: "num" }, bytes(o.bytes)),
              h("td", { class: "num" }, seconds(o.start_s)),
              h(
                "td",
                { class: "num" },
                o.completion_s === null ? "not done" : seconds(o.completion_s),
              ),
              h(
                "td",
                { class: "waterfall" },
                o.completion_s !== null &&
                  h("span", {
                    style: `margin-left: ${((100 * o.start_s) / end).toFixed(2)}%; width: ${Math.max(0.5, (100 * (o.completion_s - o.start_s)) / end).toFixed(2)}%`,
                  }),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Links whose use is among the facts of a flow where a run has many. */
const NAMED = 3;

/** All links of a run as a table, those that carried the flow's data first. */
function linkTable(links: LinkResult[], { carried, brief }: LinkRanking): Child {
  // Written when it is asked for: a report may have many runs with many links.
  const body = h("tbody", {});
  const heads = [
    "Link",
    "Data of this flow",
    "Used",
    "Carried",
    "Dropped by queue",
    "Longest queue",
  ].filter((_, i) => i !== 1 || carried.size > 0);
  return h(
    "details",
    {
      toggle: () => {
        if (body.childElementCount > 0) return;
        body.append(
          ...links.map((l) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", title: l.name }, brief(l.name)),
              carried.size > 0 && h("td", {}, carried.has(l.name) ? "yes" : ""),
              [
                l.utilisation > 0 && l.utilisation < 1e-4
                  ? "< 0.01\u00a0%"
                  : percent(l.utilisation),
                bytes(l.bytes),
                count(l.dropped_queue),
                bytes(l.queue_max_bytes),
              ].map((t) => h("td", { class: "num" }, t)),
            ),
          ),
        );
      },
    },
    h("summary", {}, `All ${count(links.length)} links`),
    h(
      "div",
      { class: "table-wrap short", tabindex: 0, role: "region", "aria-label": "Links of this run" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((t) =>
              h(
                "th",
                { scope: "col", class: t === "Link" || t === "Data of this flow" ? null : "num" },
                t,
              ),
            ),
          ),
        ),
        body,
      ),
    ),
  );
}

/** What both ends knew of the path, each view as window over round trip. */
export function pathFacts(path: PathView): [string, string][] {
  const views: [string, number | null, number | null][] = [
    ["Path as saved", path.saved_window_bytes, path.saved_rtt_ms],
    ["Path as the sender saw it", path.observed_window_bytes, path.observed_rtt_ms],
    ["Path as the receiver saw it", path.receiver_window_bytes, path.receiver_rtt_ms],
  ];
  const facts = views.flatMap(([name, window, rtt]): [string, string][] =>
    window === null || rtt === null
      ? []
      : [[name, `${bytes(window)} in ${metricValue(metricOf("rtt_min_ms"), rtt)}`]],
  );
  if (path.retreated !== null)
    facts.push(["Saved window met congestion", path.retreated ? "yes" : "no"]);
  if (path.token !== null) facts.push(["Path token", path.token.replaceAll("_", " ")]);
  return facts;
}

/** Return bytes in words, the sum first; layers that the flow's transport does not have are left out. */
export function layersOf(flow: Flow): [string, number][] {
  // Where all is known, the section on the return link has it.
  const elsewhere = (flow.data_per_ack ?? null) !== null;
  const layers = Object.entries(flow.return_bytes).filter(
    ([layer, n]) => layer === "total" || (n > 0 && !elsewhere),
  );
  return layers
    .sort(([a], [b]) => Number(b === "total") - Number(a === "total"))
    .map(([layer, n]) => [metricOf(`return_bytes.${layer}`).label, n]);
}

/** How the flows of a run shared what they met on; null where that was not measured. */
export function sharingFacts(report: Report, trace: Trace, title: string): HTMLElement | null {
  const f = runOf(report, trace)?.fairness;
  if (!f) return null;
  const fact = (name: string, value: number | null, words: (x: number) => string): Child =>
    value !== null && h("div", {}, h("dt", {}, name), h("dd", {}, words(value)));
  const measured =
    (key: string) =>
    (x: number): string =>
      metricValue(metricOf(key), x);
  const when =
    f.from_s !== null && f.to_s !== null ? ` from ${seconds(f.from_s)} to ${seconds(f.to_s)}` : "";
  return h(
    "div",
    { class: "card run-card sharing" },
    h("h3", {}, title, h("small", {}, ` how the flows shared${when}`)),
    h(
      "dl",
      { class: "grid-facts" },
      fact("Jain's index", f.jain, significant),
      fact("Ratio of shares", f.share_ratio, measured("share_ratio")),
      fact("Goodput of all flows", f.aggregate_mbps, measured("aggregate_mbps")),
      f.flows.map((o) => fact(`Goodput of ${o.flow}`, o.goodput_mbps, measured("goodput_mbps"))),
      f.bottleneck !== null && h("div", {}, h("dt", {}, "Bottleneck"), h("dd", {}, f.bottleneck)),
      fact("Utilisation there", f.bottleneck_utilisation, percent),
      fact("Queue there", f.bottleneck_queue_ms, ms),
      f.convergence_s === null
        ? h("div", {}, h("dt", {}, "Convergence time"), h("dd", {}, "not within the run"))
        : fact("Convergence time", f.convergence_s, seconds),
    ),
  );
}

/** What one flow of one run measured, in a few numbers. */
export function runFacts(
  report: Report,
  trace: Trace,
  id: { name: string; visit: number },
  title: string,
): HTMLElement | null {
  const run = runOf(report, trace);
  const flow = run && flowIn(run, id);
  if (!run || !flow) return null;
  const fact = (name: string, value: string): Child =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const known = new Map(
    run.links.filter((l) => Number.isFinite(l.utilisation)).map((l) => [l.name, l]),
  );
  const ranking = rankLinks(report, trace, [id]);
  const links = ranking.order.flatMap((name) => known.get(name) ?? []);
  const several = (flow.connections ?? 1) > 1 ? `${count(flow.connections!)} connections` : "";
  const what = [
    flow.transport,
    flow.congestion,
    several,
    flow.direction,
    Number.isFinite(flow.bytes) ? bytes(flow.bytes) : "",
    flow.completed ? "" : "not completed",
  ];
  return h(
    "div",
    { class: "card run-card" },
    h("h3", {}, title, h("small", {}, ` ${what.filter(Boolean).join(", ")}`)),
    !flow.completed && flow.error && h("p", { class: "warn" }, flow.error),
    h(
      "dl",
      { class: "grid-facts" },
      SHOWN.map((key) => {
        const value = flow[key];
        return value === null || value === undefined
          ? null
          : fact(metricOf(key).label, metricValue(metricOf(key), value));
      }),
      layersOf(flow).map(([name, n]) => fact(name, bytes(n))),
      flow.path && pathFacts(flow.path).map(([name, value]) => fact(name, value)),
      (ranking.many ? links.slice(0, NAMED) : links).map((l) =>
        fact(`${ranking.brief(l.name)} used`, percent(l.utilisation)),
      ),
    ),
    ranking.many && linkTable(links, ranking),
    objects(flow),
  );
}
