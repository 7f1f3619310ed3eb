import type { Layer, PanelSpec, Style } from "../charts/time/chart.ts";
import { everyLink } from "../data/link-choice.ts";
import { type Pyramid, pyramid, sampleAt } from "../data/pyramid.ts";
import type { PathInfo, Trace, TraceFlow } from "../data/schema.ts";
import type { SeriesCache } from "../data/series-cache.ts";
import { shortest } from "../format/numbers.ts";
import { variantColour, variantDash } from "../format/palette.ts";
import { ALONE, CHANGES, HOPS, KNOWN, reference, wayChanges } from "./flow.ts";
import { linkPanels, type PanelBase } from "./links.ts";

/** Bins of a rate that one flow may have; a longer flow has longer bins. */
const BINS = 20_000;

/** Name of a flow among the flows of its run: with the visit where there are several. */
export function flowName(flows: TraceFlow[], f: TraceFlow): string {
  return flows.some((o) => o.visit !== f.visit) ? `${f.name}, visit ${f.visit}` : f.name;
}

/** How long the bins of rates are, in seconds: a round trip, in which a window is used once. */
export function binOf(path: PathInfo | undefined, ends: number[]): number {
  const rtt = path && path.rtt_ms > 0 ? path.rtt_ms / 1000 : 0.5;
  return Math.max(0.05, rtt, Math.max(0, ...ends) / BINS);
}

/** Mbps per bin, at the bin's beginning, of a series that adds up bytes; zero after its end. Bins begin at multiples of their length. */
export function rateOf(sum: Pyramid, bin: number): Pyramid {
  const first = Math.floor(sum.t[0]! / bin);
  const n = Math.floor(sum.t[sum.n - 1]! / bin) - first + 1;
  const total = (edge: number): number => {
    const i = sampleAt(sum, edge * bin);
    return i < 0 ? 0 : sum.v[i]!;
  };
  const t = Float64Array.from({ length: n + 1 }, (_, i) => (first + i) * bin);
  const v = Float32Array.from(t, (_, i) =>
    i < n ? ((total(first + i + 1) - total(first + i)) * 8) / bin / 1e6 : 0,
  );
  return pyramid({ t, v });
}

/** Plots that show every flow of a run in one axis, each in its colour, and those of the links under them. `connections` is the most that one of them took, `links` which links are drawn. */
export function togetherPanels(
  trace: Trace,
  path: PathInfo | undefined,
  cache: SeriesCache,
  connections?: number,
  links = everyLink(trace),
): PanelSpec[] {
  const changes = wayChanges(trace, trace.flows);
  const base: PanelBase = {
    references: [],
    marks: changes,
    phases: null,
    labels: false,
    zero: true,
    height: 220,
  };
  const { flows } = trace;
  const note: Pick<PanelSpec, "note"> =
    connections !== undefined && connections > 1
      ? { note: "Where a flow took several connections, this is the sender of the first one." }
      : {};
  const perFlow = (
    key: string,
    what: string,
    of: (data: Pyramid) => Pyramid = (data) => data,
    style: Style = "step",
  ): Layer[] =>
    flows.flatMap((f, i) => {
      const data = cache.get(f.series[key]);
      const name = flowName(flows, f);
      return data
        ? [
            {
              name,
              title: `${what} of ${name}`,
              style,
              data: of(data),
              colour: () => variantColour(i),
              dash: variantDash(i),
              width: 1.8,
              shown: true,
            },
          ]
        : [];
    });
  const received = perFlow("received", "Data received");
  // Ways without packets have one round trip at each time, and nothing to smooth.
  const smoothed = flows.some((f) => f.series.smoothed_rtt);
  const bin = binOf(
    path,
    received.map(({ data }) => data.t[data.n - 1]! - data.t[0]!),
  );
  const panels: PanelSpec[] = [
    {
      ...base,
      id: "goodput",
      title: "Goodput of all flows",
      unit: "Mbps",
      height: 260,
      layers: perFlow("received", "Goodput", (data) => rateOf(data, bin)),
      howto: `What reached each receiving application, in bins of ${shortest(bin)}\u00a0s. Flows that share a bottleneck fairly run at the same height; where one goes up as another goes down, it takes what the other had. A gap followed by a peak is data that waited behind a hole.`,
    },
    {
      ...base,
      id: "received",
      title: "Data received by all flows",
      unit: "bytes",
      layers: received,
      howto:
        "Equal slopes are equal shares. Across from one line to another is how much earlier one flow had the same amount.",
    },
    {
      ...base,
      ...note,
      id: "window",
      title: "Congestion windows of all flows",
      unit: "bytes",
      layers: perFlow("cwnd", "Congestion window"),
      references: reference("bandwidth-delay product", path?.bdp_bytes),
      howto:
        "What the controller of each flow allows in flight. Together they fill the path where their sum is the bandwidth-delay product; what is more stands in a queue, and one flow's window may be what another one's losses come from.",
    },
    {
      ...base,
      ...note,
      id: "flight",
      title: "Bytes in flight of all flows",
      unit: "bytes",
      layers: perFlow("bytes_in_flight", "Bytes in flight"),
      references: reference("bandwidth-delay product", path?.bdp_bytes),
      howto: "What each flow really has on its way.",
    },
    {
      ...base,
      ...note,
      id: "rtt",
      title: smoothed ? "Smoothed round-trip times of all flows" : "Round-trip times of all flows",
      unit: "ms",
      zero: false,
      layers: perFlow(
        smoothed ? "smoothed_rtt" : "rtt",
        smoothed ? "Smoothed round-trip time" : "Round-trip time",
        undefined,
        "line",
      ),
      references: trace.sky === undefined ? reference("path, queues empty", path?.rtt_ms) : [],
      howto:
        (trace.sky !== undefined && !smoothed
          ? ALONE
          : "Flows through the same queue see it grow and empty at the same time.") +
        (changes.length > 0 ? CHANGES : ""),
    },
  ];
  for (const key of new Set(flows.flatMap((f) => Object.keys(f.series)))) {
    if (KNOWN.has(key)) continue;
    const unit = flows.find((f) => f.series[key])!.series[key]!.unit;
    panels.push({
      ...base,
      id: `flow:${key}`,
      title: key === "hops" ? "Hops of all flows" : `${key.replaceAll("_", " ")} of all flows`,
      unit,
      height: 150,
      layers: perFlow(key, key),
      howto: key === "hops" ? HOPS : "A series of the flows that this page has no own plot for.",
    });
  }
  return [...panels, ...linkPanels(links, cache, { ...base, height: 190 })].filter(
    (p) => p.layers.length > 0,
  );
}
