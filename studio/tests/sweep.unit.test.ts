import { describe, expect, it } from "vitest";
import { axis, axisTicks, commonRanges, rangeOf } from "../src/charts/static/axes.ts";
import { fitting, valueAxis } from "../src/charts/static/sweep-lines.ts";
import { flowLabel, flowsOf, visitOf } from "../src/data/flows.ts";
import { type Group, groupsAt } from "../src/data/groups.ts";
import { metricOf } from "../src/data/metrics.ts";
import { pointsOf } from "../src/data/points.ts";
import { spreadOf } from "../src/data/statistics.ts";
import { inOrder, numbersOf, sweepOf } from "../src/data/sweep.ts";
import { tableCells, tableRows } from "../src/data/table.ts";
import { interval, metricScale } from "../src/format/metric.ts";
import { opening } from "../src/sections/header.ts";
import { headline } from "../src/sections/results-parts.ts";
import { sweepAxis } from "./base.ts";
import { failedReport, lossReport, resumedReport, sweepReport } from "./sweepfixture.ts";

const main = { name: "main", place: 1 };

describe("flows", () => {
  it("are one where each variant reports one visit, whatever its number", () => {
    const { report } = resumedReport();
    expect(flowsOf(report)).toEqual([main]);
    expect(flowLabel(report, main)).toBe("main");
    expect(report.variants.map((v) => visitOf(report, v, main))).toEqual([1, 2]);
    expect(groupsAt(report, {}, main, "completion_s").map((g) => [g.variant, g.n])).toEqual([
      ["1rtt", 6],
      ["0rtt", 6],
    ]);
    const [head, ...lines] = tableCells(report, tableRows(report, [main], ["completion_s"]));
    expect(lines.map((l) => l[head!.indexOf("visit")])).toEqual([1, 2]);
  });
  it("are told apart by their place where a variant reports several visits", () => {
    const { report } = resumedReport(true);
    expect(flowsOf(report).map((f) => flowLabel(report, f))).toEqual([
      "main, first reported visit",
      "main, second reported visit",
    ]);
    for (const run of report.runs)
      for (const f of run.flows) f.visit -= run.variant === "0rtt" ? 1 : 0;
    const same = { ...report, summary: [] };
    expect(flowsOf(same).map((f) => flowLabel(same, f))).toEqual([
      "main, visit 1",
      "main, visit 2",
    ]);
  });
});

describe("failed runs", () => {
  it("are counted with their reasons", () => {
    const [a, b] = groupsAt(failedReport().report, {}, main, "completion_s");
    expect(a).toMatchObject({
      n: 3,
      failed: [{ run: 0, error: "given up after 45 s" }, { run: 1 }],
    });
    expect(b).toMatchObject({ n: 0, median: null });
    expect(headline([a!, b!], metricOf("completion_s"))).toBeNull();
  });
});

describe("the headline", () => {
  const words = (a: number[], b: number[]): string | undefined => {
    const { report } = sweepReport([], ["a", "b"], 5, () => 1);
    report.runs.forEach((r, i) => (r.flows[0]!.completion_s = i < 5 ? a[i]! : b[i - 5]!));
    report.summary = [];
    return headline(groupsAt(report, {}, main, "completion_s"), metricOf("completion_s"))?.words;
  };
  it("says who was faster only where the runs of both are apart", () => {
    expect(words([1, 1.1, 1.2, 1.3, 1.4], [2, 2.1, 2.4, 2.5, 2.6])).toBe(" 2.00 times as fast as ");
    expect(words([1, 1.1, 1.2, 1.3, 2.2], [1.3, 2.1, 2.4, 2.5, 2.6])).toBeUndefined();
    expect(words([1, 1, 1, 1, 1], [1, 1, 1, 1, 1])).toBeUndefined();
  });
  const groupsOf = (medians: [string, number][]): Group[] =>
    medians.map(([variant, median], index) => ({
      ...{ variant, index, point: {}, visit: 1, values: [{ run: 0, value: median }], failed: [] },
      ...{
        sorted: [median],
        summary: null,
        n: 1,
        median,
        spread: null,
        interval: null,
        published: [],
      },
    }));
  const said = (metric: string, medians: [string, number][], failed: string[] = []): string => {
    const groups = groupsOf(medians);
    for (const g of groups)
      if (failed.includes(g.variant)) g.failed = [{ run: 0, error: "timed out" }];
    const of = headline(groups, metricOf(metric));
    return of ? of.best + of.words + of.worst + of.after : "";
  };
  it("names those that tie for the best together", () => {
    const token: [string, number][] = [
      ["jump", 3.37],
      ["careful", 3.38],
      ["none", 7.2],
    ];
    expect(said("completion_s", token)).toBe("jump and careful 2.14 times as fast as none");
  });
  it("compares the others where a variant failed, and names it", () => {
    const three: [string, number][] = [
      ["a", 2],
      ["b", 4],
      ["c", 9],
    ];
    expect(said("completion_s", three, ["c"])).toBe(
      "a 2.00 times as fast as b; c did not always complete",
    );
  });
  it("is in the words of its metric", () => {
    const goodputs: [string, number][] = [
      ["bbr3", 45.6],
      ["newreno", 0.824],
    ];
    expect(said("goodput_mbps", goodputs)).toBe("bbr3 55.3 times the goodput of newreno");
    const rtts: [string, number][] = [
      ["a", 50],
      ["b", 150],
    ];
    expect(said("rtt_mean_ms", rtts)).toBe("b 3.00 times the mean RTT of a");
  });
});

describe("swept values", () => {
  it("are the numbers that the report gives, or those of one unit", () => {
    expect(numbersOf(sweepAxis("a", ["10 MB", "2 MB"]))).toEqual([1e7, 2e6]);
    expect(numbersOf(sweepAxis("a", ["10 MB", "2 MB"]), ["2 MB"])).toEqual([2e6]);
    const bare = (...values: string[]): number[] | null =>
      numbersOf({ key: "a", values, numbers: [], unit: null });
    expect(bare("0.5 BDP", "2 BDP")).toEqual([0.5, 2]);
    expect(bare("20 packets", "100 packets")).toEqual([20, 100]);
    expect(bare("1 MB", "0.5 BDP")).toBeNull();
    expect(bare("1.7 %", "wired")).toBeNull();
    expect(bare("geo-50-10", "geo-250-3")).toBeNull();
  });
  it("go along the axis where they are numbers, and into panels where not", () => {
    const profiles = sweepAxis("path.profile", ["geo-50-10", "geo-250-3", "geo-10-2", "leo"]);
    const sizes = sweepAxis("workload.download", ["100 MB", "2 MB", "10 MB"]);
    const { report } = sweepReport([profiles, sizes], ["a"], 1, () => 1);
    const sweep = sweepOf(report.sweep, pointsOf(report))!;
    expect(sweep).toMatchObject({ key: "workload.download", name: "download", log: true });
    expect(sweep.values.map((v) => v.text)).toEqual(["2 MB", "10 MB", "100 MB"]);
    expect(sweep.panels.map((p) => p.label)).toEqual(profiles.values.map((v) => `profile ${v}`));
    expect(inOrder(sweep, pointsOf(report)).slice(0, 2)).toEqual([
      { "path.profile": "geo-50-10", "workload.download": "2 MB" },
      { "path.profile": "geo-250-3", "workload.download": "2 MB" },
    ]);
    const names = sweepOf(
      [profiles],
      profiles.values.map((v) => ({ "path.profile": v })),
    )!;
    expect(names.values.every((v) => v.number === null)).toBe(true);
    expect(names.panels).toHaveLength(1);
  });
  it("take the key with most values, and put a zero left of a logarithmic axis", () => {
    const { report } = lossReport();
    const sweep = sweepOf(report.sweep, pointsOf(report))!;
    expect(sweep).toMatchObject({ name: "rtt", log: false });
    expect(sweep.panels).toHaveLength(5);
    const losses = sweepOf(
      [report.sweep[1]!],
      report.sweep[1]!.values.map((v) => ({ "path.forward.loss": v })),
    )!;
    expect(losses.log).toBe(true);
    const { px, gap } = valueAxis(losses, 0, 600);
    expect(px(0)).toBe(0);
    expect(px(1)).toBe(gap);
    expect(px(2) - px(1)).toBeGreaterThan(px(3) - px(2));
    expect(px(4)).toBeCloseTo(600);
  });
  it("are named where there is room, the outer ones first", () => {
    expect(fitting([0, 30, 60, 100], [40, 40, 40, 40])).toEqual([true, false, false, true]);
    expect(fitting([50], [40])).toEqual([true]);
  });
});

describe("axes and intervals", () => {
  it("begin near the data or at a near zero, and are logarithmic over a decade", () => {
    expect(rangeOf([5.5, 6.2])[0]).toBeGreaterThan(5);
    expect(rangeOf([1, 8])[0]).toBe(0);
    expect(rangeOf([1, 100])[0]).toBeGreaterThan(0);
    expect(rangeOf([])).toEqual([0, 1]);
    expect(rangeOf([2, 2])).toEqual([1.8, 2.2]);
  });
  it("do not blow up a difference that nobody would notice", () => {
    // Two videos that end 0.3 microseconds apart.
    const [lo, hi] = rangeOf([76.9838592, 76.9838595]);
    expect(hi - lo).toBeGreaterThan(0.05 * 76);
    const [low, high] = rangeOf([1, 1.2]);
    expect(high - low).toBeLessThan(0.23);
  });
  it("of the panels of a figure are the same, or a length means the same ratio in each", () => {
    const alike = commonRanges([
      [3, 4],
      [5, 6],
      [4, 9],
    ]);
    expect(alike[0]).toEqual(alike[2]);
    const apart = commonRanges([
      [1, 1.5],
      [100, 110],
    ]);
    const ratio = (r: { lo: number; hi: number }): number => r.hi / r.lo;
    expect(ratio(apart[1]!)).toBeCloseTo(ratio(apart[0]!));
    expect(apart[1]!.lo).toBeLessThan(100);
    expect(apart[1]!.hi).toBeGreaterThan(110);
    expect(commonRanges([[], [0, 0.5]])[0]).toEqual(commonRanges([[], [0, 0.5]])[1]);
  });
  it("show percentiles of many values, and the extremes of few", () => {
    const values = Array.from({ length: 20 }, (_, i) => i + 1);
    expect(spreadOf(values, 20, 1.95, 19.05)?.words).toBe("5th to 95th percentile");
    expect(spreadOf([1, 2], 2, 1.05, 1.95)).toEqual({
      low: 1,
      high: 2,
      words: "smallest to largest of 2",
    });
    expect(spreadOf([1], 1, null, null)).toBeNull();
  });
  it("carry units on their ticks", () => {
    const m = metricOf("reverse_bytes");
    expect(
      axisTicks(axis(0, 4e6, 0, 100), 3, metricScale(m, 4e6)).map((t) =>
        t.label.replace("\u00a0", " "),
      ),
    ).toEqual(["0 MB", "2 MB", "4 MB"]);
    expect(axisTicks(axis(0.9, 110, 0, 100, true), 8).map((t) => t.label)).toEqual([
      "1",
      "2",
      "5",
      "10",
      "20",
      "50",
      "100",
    ]);
  });
  it("keep a tiny spread in words", () => {
    expect(interval(6.2, 6.244)).toBe("6.20 to 6.24");
    expect(interval(22.301, 22.319).replaceAll("\u00a0", " ")).toBe("± 0.04 %");
    expect(interval(5, 5)).toBe("always the same");
    expect(interval(null, 5)).toBe("–");
  });
});

describe("descriptions", () => {
  it("open with whole sentences", () => {
    expect(opening("Short.")).toEqual(["Short.", ""]);
    const text = `${"A".repeat(150)}. Draft 0.5 says so. ${"B".repeat(200)}.`;
    expect(opening(text)).toEqual([
      `${"A".repeat(150)}. Draft 0.5 says so.`,
      `${"B".repeat(200)}.`,
    ]);
    expect(opening("x".repeat(400))[1]).toBe("");
  });
});
