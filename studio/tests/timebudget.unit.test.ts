import { describe, expect, it } from "vitest";
import { compare, explanationOf } from "../src/answer/comparison.ts";
import { partsOf } from "../src/charts/static/bar-rows.ts";
import { sharesText } from "../src/charts/time/cause-strip.ts";
import { everyLink } from "../src/data/links.ts";
import { metricOf } from "../src/data/metrics.ts";
import type { FlowSeries, Trace } from "../src/data/report.types.ts";
import { SeriesCache } from "../src/data/series-cache.ts";
import { causeBands, causesOf, PARTS, partsIn, sharesAt } from "../src/data/time-budget.ts";
import { panelsOfFlow } from "../src/panels/index.ts";
import { reportWith } from "./base.ts";
import { BlobWriter } from "./blobwriter.ts";

/** A visit that began at 2 s: a second of handshake, two of slow start, one of data. */
function recorded(): { flow: FlowSeries; trace: Trace; cache: SeriesCache } {
  const blob = new BlobWriter();
  const t = [2, 3, 4, 5];
  const series = {
    "time_budget.handshake_s": blob.add({ t, v: [100, 0, 0, 0] }, "%"),
    "time_budget.slow_start_s": blob.add({ t, v: [0, 80, 60, 0] }, "%"),
    "time_budget.serialisation_s": blob.add({ t, v: [0, 20, 40, 100] }, "%"),
    cwnd: blob.add({ t, v: [1, 2, 3, 4] }, "bytes"),
  };
  const flow = { name: "main", visit: 1, start_s: 2, series, marks: [], phases: [] };
  const rate = blob.add({ t: [0, 4], v: [50, 20] }, "Mbps");
  const throughput = blob.add({ t: [2, 3, 4], v: [1, 9, 4] }, "Mbps");
  const link = { name: "geo/forward", rate_mbps: null, queue_limit_bytes: null };
  const trace: Trace = {
    variant: "a",
    point: {},
    run: 0,
    flows: [flow],
    links: [{ ...link, series: { rate, throughput } }],
  };
  const bytes = blob.bytes();
  const cache = new SeriesCache(bytes.buffer as ArrayBuffer);
  return { flow, trace, cache };
}

describe("the strip of causes", () => {
  it("has the part with most time at each pixel, and ends with the visit", () => {
    const { flow, cache } = recorded();
    const causes = causesOf(flow, cache)!;
    const bands = causeBands(causes, 0, 8, 80);
    expect(bands.map((b) => [b.part.label, b.from, b.to])).toEqual([
      ["Handshake", 20, 30],
      ["Slow start", 30, 50],
      ["Data on the link", 50, 60],
    ]);
    // Two bins in a pixel: the sums decide.
    expect(causeBands(causes, 2, 6, 2).map((b) => b.part.label)).toEqual([
      "Handshake",
      "Data on the link",
    ]);
    expect(causeBands(causes, 7, 8, 80)).toEqual([]);
  });

  it("says the shares at a time, largest first", () => {
    const { flow, cache } = recorded();
    const causes = causesOf(flow, cache)!;
    expect(sharesText(sharesAt(causes, 3.5))).toBe(
      "80.0\u00a0% slow start, 20.0\u00a0% time to send the data",
    );
    expect(sharesAt(causes, 1.9)).toEqual([]);
    expect(sharesAt(causes, 6.1)).toEqual([]);
    expect(partsIn(causes).map((p) => p.label)).toEqual([
      "Handshake",
      "Data on the link",
      "Slow start",
    ]);
  });

  it("stands below each plot of a flow, and its series have no plots", () => {
    const { flow, trace, cache } = recorded();
    const links = everyLink(trace);
    const panels = panelsOfFlow({
      ...{ trace, flow, path: undefined, result: undefined, links, cache },
      changes: [],
    });
    expect(panels.map((p) => p.id)).toEqual(["window", "throughput"]);
    expect(panels.every((p) => p.causes)).toBe(true);
    expect(panels[1]!.layers.map((l) => [l.name, l.hold])).toEqual([
      ["geo/forward", undefined],
      ["geo/forward rate", Infinity],
    ]);
  });
});

describe("the bars of time budgets", () => {
  const explanation = (variant: string, visit: number, compared: string | null) => ({
    variant,
    point: {},
    flow: "main",
    visit,
    runs: 1,
    completion_s: 8,
    parts: { slow_start_s: 5, handshake_s: 1, serialisation_s: 2 },
    text: "took 8.00 s: 5.00 s slow start",
    compared,
  });
  const text = "is 3.00 s faster than plain: 3.00 s less slow start";

  it("have the parts in one order", () => {
    const plain = explanation("plain", 1, null);
    expect(partsOf(plain).map(({ part, time }) => [part.label, time])).toEqual([
      ["Handshake", 1],
      ["Data on the link", 2],
      ["Slow start", 5],
    ]);
  });

  it("are those of the chosen flow and visit, in the order of variants", () => {
    const summary = (variant: string, visit: number) => ({ variant, visit, flow: "main" });
    const report = reportWith({
      variants: ["plain", "resumed"],
      explanations: [explanation("resumed", 2, text), explanation("plain", 1, null)],
      summary: [summary("plain", 1), summary("resumed", 2)].map((s) => ({
        ...s,
        metric: "completion_s",
        point: {},
        n: 1,
        median: 8,
        mean: 8,
        p5: 8,
        p95: 8,
        ci95_low: null,
        ci95_high: null,
      })) as never,
    });
    const flow = { name: "main", place: 1 };
    const c = compare(report, flow, metricOf("completion_s"), { baseline: "", point: "" })!;
    const of = c.rows.map((row) => [row.name, explanationOf(c, row)?.visit]);
    expect(of).toEqual([
      ["plain", 1],
      ["resumed", 2],
    ]);
  });

  it("have distinct colours, quiet ones for what every transfer needs", () => {
    for (const theme of [0, 1] as const) {
      expect(new Set(PARTS.map((p) => p.colour[theme])).size).toBe(PARTS.length);
      const spread = (hex: string): number => {
        const rgb = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
        return Math.max(...rgb) - Math.min(...rgb);
      };
      const needed = PARTS.filter((p) => p.needed).map((p) => spread(p.colour[theme]));
      expect(Math.max(...needed)).toBeLessThan(60);
    }
  });
});
