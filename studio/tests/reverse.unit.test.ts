import { describe, expect, it } from "vitest";
import { binsOf, sharesIn, sizeAt } from "../src/data/ack-sizes.ts";
import { BYTE_LAYERS, isSplit, partsOf } from "../src/data/byte-layers.ts";
import { runOf } from "../src/data/groups.ts";
import { everyLink } from "../src/data/links.ts";
import { flowMetric } from "../src/data/metrics.ts";
import { readReport } from "../src/data/read.ts";
import type { Report } from "../src/data/report.types.ts";
import {
  hasReverseTraffic,
  isNoteworthy,
  reverseCapacity,
  reverseTraffic,
} from "../src/data/reverse.ts";
import { SeriesCache } from "../src/data/series-cache.ts";
import { contrast } from "../src/format/palette.ts";
import { panelsOfFlow, panelsOfRuns } from "../src/panels/index.ts";
import type { ComparedRun } from "../src/panels/panel.ts";
import { reverseFacts } from "../src/sections/reverse-facts.ts";
import { layersOf } from "../src/sections/run-facts.ts";
import { layers } from "./base.ts";
import { geoReport } from "./fixture.ts";
import { type ReverseOptions, reverseReport } from "./reversefixture.ts";

const flow = { name: "download", place: 1 };

/** A report as the page has it, and its series. */
const made = new Map<string, ReturnType<typeof load>>();
function loaded(options: ReverseOptions = {}): ReturnType<typeof load> {
  const key = JSON.stringify(options);
  const known = made.get(key) ?? load(options);
  made.set(key, known);
  return known;
}

function load(options: ReverseOptions): { report: Report; cache: SeriesCache } {
  const { report, blob } = reverseReport({ bytes: 1e6, ...options });
  return {
    report: readReport(JSON.parse(JSON.stringify(report))),
    cache: new SeriesCache(blob!.slice().buffer),
  };
}

const overlaid = (report: Report): ComparedRun[] =>
  report.traces.map((trace, index) => ({
    name: trace.variant,
    index,
    trace,
    flow: trace.flows[0]!,
    upload: false,
  }));

describe("reverse bytes by layer", () => {
  it("add up to the total, with neither a sum nor an empty layer among them", () => {
    for (const run of loaded().report.runs) {
      const of = run.flows[0]!.reverse_bytes;
      const parts = partsOf(of);
      expect(parts.reduce((sum, p) => sum + p.bytes, 0)).toBe(of.total);
      expect(parts.map((p) => p.layer.key)).not.toContain("quic");
      expect(parts.every((p) => p.bytes > 0)).toBe(true);
    }
  });
  it("have QUIC as one layer if it was not parsed", () => {
    const of = layers({ ip: 20, udp: 8, quic: 38, total: 66 });
    expect(isSplit(of)).toBe(false);
    expect(partsOf(of).map((p) => p.layer.key)).toEqual(["ip", "udp", "quic"]);
  });
  it("are among the facts of a run as their sum if another section has them", () => {
    const [tcp, quic] = loaded().report.runs.map((run) => run.flows[0]!);
    for (const f of [tcp!, quic!]) expect(layersOf(f)).toHaveLength(1);
    expect(layersOf({ ...tcp!, data_per_ack: null }).length).toBeGreaterThan(1);
  });
  it("can be told from their neighbours and from the card", () => {
    for (const [i, card] of ["#ffffff", "#161b22"].entries()) {
      for (const { key, colour } of BYTE_LAYERS)
        if (key !== "padding" && !key.startsWith("tcp_"))
          expect(contrast(colour[i]!, card), key).toBeGreaterThan(3);
      expect(
        new Set(BYTE_LAYERS.filter((l) => l.key !== "quic").map((l) => l.colour[i])).size,
      ).toBe(BYTE_LAYERS.length - 1);
    }
  });
  it("are metrics too, in bytes and in per cent of the bytes with data", () => {
    const f = loaded().report.runs[1]!.flows[0]!;
    expect(flowMetric(f, "reverse_overhead_percent.ack")).toBeCloseTo(
      (100 * f.reverse_bytes.ack!) / f.bytes_sent!,
      12,
    );
    expect(flowMetric(f, "ack_frame_median_bytes")).toBe(5);
    expect(flowMetric({ ...f, ack_frame_bytes: null }, "ack_frame_p99_bytes")).toBeNull();
  });
});

describe("sizes of ACK frames", () => {
  it("have a bar each where they are few, and four to an octave where they are many", () => {
    expect(binsOf([5, 7])).toEqual([
      { from: 5, to: 6 },
      { from: 6, to: 7 },
      { from: 7, to: 8 },
    ]);
    const many = binsOf([4, 90]);
    expect(many[0]).toEqual({ from: 4, to: 5 });
    expect(many.at(-1)).toEqual({ from: 80, to: 96 });
    many.slice(1).forEach((bin, i) => expect(bin.from).toBe(many[i]!.to));
    expect(binsOf([])).toEqual([]);
  });
  it("above 255 bytes have one bar for each power of two, as they were counted", () => {
    expect(binsOf([5, 512]).slice(-2)).toEqual([
      { from: 256, to: 512 },
      { from: 512, to: 1024 },
    ]);
  });
  it("fall into exactly one bar each", () => {
    const sizes: [number, number][] = [
      [4, 10],
      [5, 70],
      [31, 15],
      [200, 4],
      [1024, 1],
    ];
    const shares = sharesIn(binsOf(sizes.map(([s]) => s)), sizes);
    expect(shares.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
    expect(Math.max(...shares)).toBeCloseTo(0.7, 12);
    expect([
      sizeAt(sizes, 0.5),
      sizeAt(sizes, 0.8),
      sizeAt(sizes, 0.81),
      sizeAt(sizes, 1),
      sizeAt([], 0.5),
    ]).toEqual([5, 5, 31, 1024, null]);
  });
});

describe("the reverse traffic of variants", () => {
  const { report } = loaded();
  const sides = reverseTraffic(report, {}, flow);
  it("is known for every variant with reverse bytes, with its share of the link", () => {
    expect(sides.map((s) => s.variant)).toEqual(report.variants);
    const { reverse_bytes, completion_s } = report.runs[1]!.flows[0]!;
    expect(sides[1]!.rate).toBeCloseTo((reverse_bytes.total! * 8) / completion_s! / 1000, 9);
    expect(sides[1]!.share).toBeCloseTo(sides[1]!.rate! / 1500, 12);
    expect(sides[0]!.sizesOf).toBe("options");
  });
  it("is said in three sentences with the least and the greatest", () => {
    const facts = reverseFacts(sides);
    expect(facts).toHaveLength(3);
    expect(facts[0]).toMatch(/^Data packets per ACK: \S+ \(.+\) to \S+ \(quic auto\)\.$/);
    expect(facts[1]).toContain("of the link's rate");
    expect(facts[2]).toMatch(/IP, UDP and TCP headers make .* of them, ACK frames/);
    expect(facts.join(" ")).not.toMatch(/NaN|undefined|Infinity|–/);
  });
  it("names each variant where they are few, and none where all are alike", () => {
    expect(reverseFacts(sides.slice(1, 3))[0]).toMatch(/\(quic 1:2\), .*\(quic 1:10\)\.$/);
    expect(reverseFacts([sides[1]!, { ...sides[1]!, variant: "again" }])[0]).not.toContain("(");
    expect(reverseFacts([])).toEqual([]);
  });
  it("says nothing of a link whose rate is not known", () => {
    const blind = { ...report, traces: [] };
    expect(reverseFacts(reverseTraffic(blind, {}, flow))[1]).not.toContain("of the link");
    const trace = report.traces[0]!;
    expect(reverseCapacity({ trace, upload: false })).toBe(1500);
    expect(reverseCapacity({ trace, upload: true })).toBe(8500);
    const unsteady = { ...trace, links: trace.links.map((l) => ({ ...l, rate_mbps: null })) };
    expect(reverseCapacity({ trace: unsteady, upload: false })).toBeNull();
  });
  it("is worth a look if variants differ, its link is slow, or capacity is allocated", () => {
    const alike: ReverseOptions = {
      policies: [
        { variant: "quic a", every: 2 },
        { variant: "quic b", every: 2 },
      ],
    };
    const worth = (options: ReverseOptions): boolean => {
      const r = loaded(options).report;
      return isNoteworthy(r, reverseTraffic(r, {}, flow));
    };
    expect(worth({})).toBe(true);
    expect(worth(alike)).toBe(false);
    expect(worth({ ...alike, returnMbps: 0.1 })).toBe(true);
    expect(worth({ ...alike, terminals: ["t1"] })).toBe(true);
  });
  it("is not there if it was neither counted nor split", () => {
    expect(hasReverseTraffic(report)).toBe(true);
    expect(hasReverseTraffic(geoReport({ repeats: 1, sizes: ["2 MB"] }).report)).toBe(false);
  });
});

describe("runs over each other", () => {
  const { report, cache } = loaded();
  it("begin together, whenever they began", () => {
    const [sender] = panelsOfRuns({ runs: overlaid(report), counted: "bytes", cache });
    const sent = sender!.layers.filter((l) => l.name.endsWith(" sent"));
    expect(sent).toHaveLength(4);
    report.traces.forEach((t, i) => {
      expect(t.flows[0]!.start_s).toBeCloseTo(i * 0.1, 9);
      expect(sent[i]!.data.t[0]).toBeCloseTo(
        cache.get(t.flows[0]!.series.sent)!.t[0]! - i * 0.1,
        9,
      );
    });
  });
  it("count in bytes or in packet numbers", () => {
    const of = (counted: "bytes" | "packets"): { unit: string; top: number } => {
      const [sender] = panelsOfRuns({
        runs: overlaid(report).slice(1, 2),
        counted: counted,
        cache,
      });
      return { unit: sender!.unit, top: Math.max(...sender!.layers[0]!.data.v) };
    };
    expect(of("bytes").unit).toBe("bytes");
    expect(of("packets")).toEqual({
      unit: "packets",
      top: report.runs[1]!.flows[0]!.packets_sent - 1,
    });
  });
  it("keep the plots that they have series for, with the return link's rate as a level", () => {
    const ids = (list: ComparedRun[]): string[] =>
      panelsOfRuns({ runs: list, counted: "bytes", cache }).map((p) => p.id);
    expect(ids(overlaid(report))).toEqual(["sender", "reverse-rate", "data-per-ack", "ack-size"]);
    expect(ids(overlaid(report).slice(0, 1))).toEqual(["sender", "reverse-rate", "data-per-ack"]);
    expect(
      panelsOfRuns({ runs: overlaid(report), counted: "bytes", cache })[1]!.references,
    ).toMatchObject([{ value: 1500 }]);
  });
});

describe("plots of one run", () => {
  const panels = (options: ReverseOptions, i = 1): ReturnType<typeof panelsOfFlow> => {
    const { report, cache } = loaded(options);
    const trace = report.traces[i]!;
    return panelsOfFlow({
      trace,
      changes: [],
      flow: trace.flows[0]!,
      path: { ...report.path!, rtt_ms: 630 },
      result: runOf(report, trace)!.flows[0],
      links: everyLink(trace),
      cache,
    });
  };
  it("have flow control, folded if it blocked nobody for an RTT", () => {
    const folded = (options: ReverseOptions): string | undefined =>
      panels(options).find((p) => p.id === "flow-control")!.folded;
    expect(folded({})).toBe("never blocked the sender");
    expect(folded({ blocked: 0.5 })).toContain("at most 0.500\u00a0s");
    expect(folded({ blocked: 0.7 })).toBeUndefined();
    expect(panels({}, 0).map((p) => p.id)).not.toContain("flow-control");
  });
  it("have no plot of unknown series for what another section draws", () => {
    expect(panels({ terminals: ["t1"] }).map((p) => p.id)).toEqual([
      "sequence",
      "packets",
      "window",
      "flow-control",
      "capacity:geo/return#t1",
      "throughput",
      "queue",
    ]);
  });
  it("have one of all terminals on a carrier, and one of each, the first of them open", () => {
    const own = panels({ terminals: ["t1", "t2", "t3"] }).filter((p) =>
      p.id.startsWith("capacity:"),
    );
    expect(own.map((p) => [p.id, p.folded === undefined])).toEqual([
      ["capacity:geo/return", true],
      ["capacity:geo/return#t1", true],
      ["capacity:geo/return#t2", false],
      ["capacity:geo/return#t3", false],
    ]);
    expect(own[0]!.layers.map((l) => l.name)).toEqual([
      "terminal t1",
      "terminal t2",
      "terminal t3",
    ]);
    expect(own[0]!.references).toMatchObject([{ value: 1.5 }]);
  });
  it("do not take terminals for links", () => {
    const { report } = loaded({ terminals: ["t1", "t2"] });
    expect(everyLink(report.traces[0]!).links.map((l) => l.name)).toEqual([
      "geo/forward",
      "geo/return",
    ]);
    expect(everyLink(report.traces[0]!).terminals).toHaveLength(2);
  });
});
