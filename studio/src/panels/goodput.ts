import { SERIES } from "../data/names.ts";
import { type Pyramid, pyramid, sampleAt } from "../data/pyramid.ts";
import type { PathSummary } from "../data/report.types.ts";
import { shortest } from "../format/numbers.ts";
import { perFlow } from "./lines.ts";
import { BASE, type Panel, routeChanges } from "./panel.ts";

/** Most bins of a rate per flow; a longer flow has longer bins. */
const BINS = 20_000;

/** Length of the bins of rates, in seconds: one RTT, within which a window is used once. */
export function binOf(path: PathSummary | undefined, durations: number[]): number {
  const rtt = path && path.rtt_ms > 0 ? path.rtt_ms / 1000 : 0.5;
  return Math.max(0.05, rtt, Math.max(0, ...durations) / BINS);
}

/**
 * The rate in Mbps of a series that adds up bytes, in bins that start at multiples of their
 * length. Zero after the end of the series.
 */
export function rateOf(sum: Pyramid, bin: number): Pyramid {
  const first = Math.floor(sum.t[0]! / bin);
  const n = Math.floor(sum.t[sum.n - 1]! / bin) - first + 1;
  const total = (edge: number): number => {
    const i = sampleAt(sum, edge * bin);
    return i < 0 ? 0 : sum.v[i]!;
  };
  const rate = (i: number): number => ((total(first + i + 1) - total(first + i)) * 8) / bin / 1e6;
  const t = Float64Array.from({ length: n + 1 }, (_, i) => (first + i) * bin);
  return pyramid({ t, v: Float32Array.from(t, (_, i) => (i < n ? rate(i) : 0)) });
}

/** Goodput of all flows over time, and the data they received. */
export const goodput: Panel = {
  ofFlows: (view) => {
    const received = perFlow(view, SERIES.received, "Data received", { hold: Infinity });
    const bin = binOf(
      view.path,
      received.map(({ data: { t } }) => t.at(-1)! - t[0]!),
    );
    const base = { ...BASE, marks: routeChanges(view.trace, view.trace.flows) };
    return [
      {
        ...base,
        id: "goodput",
        title: "Goodput of all flows",
        unit: "Mbps",
        height: 260,
        layers: perFlow(view, SERIES.received, "Goodput", { of: (data) => rateOf(data, bin) }),
        howto:
          `Data delivered to each receiving application, in bins of ${shortest(bin)}\u00a0s. ` +
          "Flows that share a bottleneck fairly have the same goodput; if one rises while " +
          "another falls, it takes the other's share. A gap followed by a peak is data that " +
          "waited behind a gap in the stream.",
      },
      {
        ...base,
        id: "received",
        title: "Data received by all flows",
        unit: "bytes",
        height: 220,
        layers: received,
        howto:
          "Equal slopes are equal shares. The horizontal distance between two lines is how much " +
          "earlier one flow had received the same amount.",
      },
    ];
  },
};
