import { extentOf, type PanelSpec } from "../charts/time/spec.ts";
import { reachOf } from "../charts/time/waterfall.ts";
import { changesOf } from "../data/changes.ts";
import { flowIn, runOf } from "../data/groups.ts";
import { chooseLinks } from "../data/links.ts";
import { pointLabel } from "../data/points.ts";
import type { FlowSeries, Report, Trace } from "../data/report.types.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { panelsOfFlow, panelsOfFlows } from "../panels/index.ts";

/** A window of time in seconds. */
export type Window = [number, number];

/** One column of plots: a run, the flows shown, and the specs of its plots. */
export interface Column {
  trace: Trace;
  flows: FlowSeries[];
  /** When the first of these flows began, in the run's time. */
  start: number;
  /** The run's time at which the axis shows zero. */
  t0: number;
  panels: PanelSpec[];
}

/** A trace in words. */
export function traceLabel(report: Report, trace: Trace): string {
  const several =
    report.traces.some((t) => t.run !== trace.run) || report.runs.some((r) => r.run !== 0);
  const run = several ? `run ${trace.run}` : "";
  const parts = [trace.variant, pointLabel(trace.point), run].filter(Boolean);
  return parts.join(" · ") || report.scenario;
}

/** The plots of some flows of a run: of one flow, or of all in one axis each. */
export function panelsOf(
  report: Report,
  trace: Trace,
  flows: FlowSeries[],
  cache: SeriesCache,
  allLinks: boolean,
): PanelSpec[] {
  const path = report.path ?? undefined;
  const run = runOf(report, trace);
  const results = flows.map((f) => run && flowIn(run, f));
  const links = chooseLinks(report, trace, flows, allLinks);
  const changes = changesOf(report, trace);
  const [flow, ...others] = flows;
  if (flow && others.length === 0)
    return panelsOfFlow({ trace, flow, path, result: results[0], links, cache, changes });
  const connections = Math.max(...results.map((f) => f?.connections ?? 1));
  return panelsOfFlows({ trace, path, connections, links, cache, changes });
}

/** Panels whose series say how long a flow took. */
const OWN = ["sequence", "received", "window", "rtt"];

const join = (a: Window | null, b: Window | null): Window | null =>
  a && b ? [Math.min(a[0], b[0]), Math.max(a[1], b[1])] : (a ?? b);

const minus = (w: Window | null, t: number): Window | null => w && [w[0] - t, w[1] - t];

/** Time that some columns have something to show in, and the part to show first. */
export interface Ranges {
  full: Window;
  home: Window;
  /** End of the flows, without the space after it. */
  last: number;
}

/** Ranges of the shared axis; `skyEnd` is the end of the first run's satellite positions. */
export function rangesOf(columns: Column[], skyEnd: number | null): Ranges {
  let full: Window | null = null;
  let home: Window | null = null;
  for (const { panels, start, t0 } of columns) {
    const waterfall = panels.find((p) => p.waterfall)?.waterfall;
    const objects = waterfall ? reachOf(waterfall) : null;
    const all = extentOf(panels.flatMap((p) => p.layers));
    full = join(full, minus(join(all, objects), t0));
    // Links may be busy before and after the flow, so that its own series count.
    const own = extentOf(panels.filter((p) => OWN.includes(p.id)).flatMap((p) => p.layers)) ?? all;
    home = join(home, minus(own && [Math.min(own[0], start), own[1]], t0));
    home = join(home, minus(objects && [start, objects[1]], t0));
  }
  if (skyEnd !== null) {
    const t0 = columns[0]?.t0 ?? 0;
    full = join(full ?? [0, 0], [-t0, skyEnd - t0]);
  }
  full ??= [0, 1];
  home ??= full;
  const last = home[1];
  const pad = (home[1] - home[0]) * 0.015 || 0.5;
  home = [home[0], last + pad];
  return { full: [Math.min(full[0], home[0]), Math.max(full[1], home[1])], home, last };
}
