import type { Comparison } from "../answer/comparison.ts";
import { type ChangingLink, pathChanges } from "../charts/static/path-changes.ts";
import { changesBetween } from "../data/changes.ts";
import { flowIn, runOf } from "../data/groups.ts";
import { LINK_SERIES } from "../data/names.ts";
import { pointKey } from "../data/points.ts";
import { lowerBound, type Pyramid } from "../data/pyramid.ts";
import type { Flow, LinkSeries, Run, Trace } from "../data/report.types.ts";
import type { SeriesCache, SeriesSource } from "../data/series-cache.ts";
import { quantile } from "../data/statistics.ts";
import { bytes, shortest, significant } from "../format/numbers.ts";
import { variantColour } from "../format/palette.ts";
import { h } from "../page/dom.ts";

/** Time after a change in which a link is at its lowest, in seconds. */
const LOW_S = 0.5;

/** A recorded run whose path changes at known times, and the flow that is looked at. */
interface Shown {
  trace: Trace;
  run: Run;
  flow: Flow;
}

/** The run that the picture is of: of the baseline at the point shown, else the first. */
function shownRun({ report, base, flow }: Comparison): Shown | null {
  const all = report.traces.flatMap((trace): Shown[] => {
    const run = runOf(report, trace);
    const own = run && flowIn(run, { name: flow.name, visit: run.flows[0]?.visit ?? 1 });
    return run && own && run.reconfigurations?.length ? [{ trace, run, flow: own }] : [];
  });
  const same = ({ trace }: Shown): boolean =>
    trace.variant === base.group.variant && pointKey(trace.point) === pointKey(base.group.point);
  return all.find(same) ?? all[0] ?? null;
}

/** The link that changes, in the direction of the flow's data; the first one of a recording. */
function linkOf({ trace, run, flow }: Shown): LinkSeries | undefined {
  const direction = flow.direction === "download" ? "/forward" : "/return";
  const { hop } = run.reconfigurations![0]!;
  return trace.links.find((l) => l.name.startsWith(hop) && l.name.endsWith(direction));
}

/** What is drawn; null if the link has no series of its rate. */
function changing(shown: Shown, cache: SeriesCache): ChangingLink | null {
  const series = linkOf(shown)?.series ?? {};
  const [rate, throughput, queue] = [
    LINK_SERIES.rate,
    LINK_SERIES.throughput,
    LINK_SERIES.queue,
  ].map((key) => cache.get(series[key]));
  if (!rate || !throughput || !queue) return null;
  const from = shown.flow.start_s;
  const to = Math.min(from + (shown.flow.completion_s ?? Infinity), throughput.t.at(-1) ?? from);
  return { rate, throughput, queue, changes: changesBetween(shown.run, from, to), from, to };
}

/** The lowest rate above zero soon after a change; null if there is none. */
function lowest({ t, v }: Pyramid, change: number): number | null {
  const after = v.slice(lowerBound(t, change), lowerBound(t, change + LOW_S)).filter((x) => x > 0);
  return after.length > 0 ? Math.min(...after) : null;
}

/** The picture in words: what a change does, and what follows. */
function words({ rate, queue, changes }: ChangingLink, period: number): string {
  const lows = changes.flatMap((t) => lowest(rate, t) ?? []).sort((a, b) => a - b);
  const most = rate.v.reduce((a, b) => Math.max(a, b), 0);
  const waits = queue.v.reduce((a, b) => Math.max(a, b), 0);
  const falls =
    lows.length > 0
      ? `, and its rate falls to ${significant(quantile(lows, 0.5))}\u00a0Mbps at the median`
      : "";
  return (
    `Every ${shortest(period)}\u00a0s the path changes (vertical lines)${falls}. ` +
    `The area is what the link could carry, at most ${significant(most)}\u00a0Mbps; the line is ` +
    `what it carried, and below is what waited, up to ${bytes(waits)}.`
  );
}

/** A path that changes at known times: its rate, what it carried, and its queue. */
export function changesFigure(c: Comparison, source: SeriesSource | null): HTMLElement | null {
  const shown = shownRun(c);
  if (!shown || !source || !linkOf(shown)?.series[LINK_SERIES.rate]) return null;
  const stage = h("div", {});
  const said = h("p", { class: "howto" });
  void source.get().then(
    (cache) => {
      const link = changing(shown, cache);
      if (!link) return;
      said.textContent = words(link, shown.run.reconfigurations![0]!.period_s);
      const index = c.report.variants.indexOf(shown.trace.variant);
      stage.replaceChildren(pathChanges(link, said.textContent, variantColour(index)));
    },
    () => {
      said.textContent = "The series could not be read.";
    },
  );
  return h(
    "figure",
    { class: "card across changes" },
    h(
      "figcaption",
      {},
      h("h3", {}, "The path over time", h("small", {}, ` ${shown.trace.variant}`)),
    ),
    stage,
    said,
  );
}
