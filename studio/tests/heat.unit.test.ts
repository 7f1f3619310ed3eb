import { describe, expect, it } from "vitest";
import {
  heatAxes,
  heatColour,
  heatMaps,
  heatScale,
  placeOn,
} from "../src/charts/static/heat-scale.ts";
import { competitionOf, sharedValue, shareOf } from "../src/data/fairness.ts";
import { flowsOf } from "../src/data/flows.ts";
import { goodputsAt, groupsAt } from "../src/data/groups.ts";
import { metricsOf } from "../src/data/offered.ts";
import { pointsOf } from "../src/data/points.ts";
import { readReport } from "../src/data/read.ts";
import type { Report } from "../src/data/report.types.ts";
import { tableRows } from "../src/data/table.ts";
import { contrast } from "../src/format/palette.ts";
import { sweepAxis } from "./base.ts";
import { matrixReport } from "./matrixfixture.ts";
import { lossReport, sweepReport } from "./sweepfixture.ts";

const report = readReport(
  JSON.parse(JSON.stringify(matrixReport(["cubic", "bbr1", "copa"]).report)),
);
const flow = { name: "near", place: 1 };

/** The median of a cell of the first heat map of a metric. */
function cell(of: Report, metric: string, row: number, column: number): number | null | undefined {
  return heatMaps(of, heatAxes(of)!, pointsOf(of), (p) => groupsAt(of, p, flow, metric))[0]!.cells[
    row
  ]![column]?.median;
}

describe("a competition", () => {
  it("is what two flows' controllers in the sweep make; the first is in the rows", () => {
    expect(competitionOf(report)).toEqual({
      flows: ["near", "far"],
      keys: ["flow.near.congestion", "flow.far.congestion"],
    });
    const axes = heatAxes(report)!;
    expect([axes.rows.name, axes.columns.name, axes.rows.values]).toEqual([
      "near",
      "far",
      ["cubic", "bbr1", "copa"],
    ]);
    expect(competitionOf(lossReport().report)).toBeNull();
    expect(
      competitionOf(
        sweepReport([sweepAxis("flow.a.congestion", ["x", "y"])], ["v"], 1, () => 1).report,
      ),
    ).toBeNull();
  });
  it("has a map for each combination of the other keys", () => {
    const maps = heatMaps(report, heatAxes(report)!, pointsOf(report), (p) =>
      groupsAt(report, p, flow, "share"),
    );
    expect(maps.map((m) => m.label)).toEqual(["profile leo", "profile geo"]);
    expect(
      maps.every(
        (m) =>
          m.cells.length === 3 &&
          m.cells.every((line) => line.length === 3 && line.every((g) => g !== null)),
      ),
    ).toBe(true);
  });
  it("is shared by the goodputs of its two flows, whatever others there are", () => {
    const run = report.runs.find(
      (r) =>
        r.point["flow.near.congestion"] === "cubic" && r.point["flow.far.congestion"] === "copa",
    )!;
    const [a, b] = run.flows.map((f) => f.goodput_mbps!);
    expect(sharedValue(report, run, "share")).toBeCloseTo(a! / (a! + b!), 12);
    expect(cell(report, "share", 0, 2)).toBeCloseTo(a! / (a! + b!), 12);
    expect(cell(report, "jain_index", 0, 2)).toBe(run.fairness!.jain_index);
    expect(shareOf(0, 0)).toBeNull();
    expect(shareOf(null, 3)).toBeNull();
    expect(shareOf(0, 3)).toBe(0);
  });
  it("is shared by what was received while shares were counted, where that is known", () => {
    const counted = structuredClone(report);
    for (const run of counted.runs)
      run.fairness!.flows = [
        { flow: "far", goodput_mbps: 9, share: 0.75 },
        { flow: "near", goodput_mbps: 3, share: 0.25 },
      ];
    expect(cell(counted, "share", 0, 2)).toBe(0.25);
    expect(goodputsAt(counted, counted.runs[0]!)).toEqual([3, 9]);
  });
  it("takes shares from medians without runs, and metrics from runs without a summary", () => {
    expect(cell({ ...report, runs: [] }, "share", 0, 2)).toBeCloseTo(
      cell(report, "share", 0, 2)!,
      12,
    );
    const bare = { ...report, summary: [] };
    for (const metric of [
      "jain_index",
      "bottleneck_queue_ms",
      "bottleneck_utilisation",
      "aggregate_goodput_mbps",
    ])
      expect(cell(bare, metric, 1, 2)).toBe(cell(report, metric, 1, 2));
  });
  it("begins with its own metrics, and its flows together are no flow among the others", () => {
    expect(metricsOf(report).slice(0, 3)).toEqual(["share", "jain_index", "min_max_ratio"]);
    expect(flowsOf(report).map((f) => f.name)).toEqual(["near", "far", "ping"]);
    const rows = tableRows(report, flowsOf(report), ["jain_index", "goodput_mbps"]);
    expect(new Set(rows.filter((r) => r.metric === "jain_index").map((r) => r.flow.name))).toEqual(
      new Set(["all"]),
    );
    expect(rows.some((r) => r.metric === "goodput_mbps" && r.flow.name === "all")).toBe(false);
    expect(rows.filter((r) => r.metric === "jain_index")).toHaveLength(18);
  });
});

describe("a sweep of two keys", () => {
  it("makes maps from three values a side on, numbers in ascending order", () => {
    const axes = heatAxes(lossReport().report)!;
    expect([axes.columns.key, axes.rows.key, axes.competition]).toEqual([
      "path.rtt",
      "path.forward.loss",
      null,
    ]);
    const small = sweepReport(
      [sweepAxis("a", ["1", "2", "3"]), sweepAxis("b", ["x", "y"])],
      ["v"],
      1,
      () => 1,
    ).report;
    expect(heatAxes(small)).toBeNull();
    const mixed = sweepReport(
      [
        { ...sweepAxis("a", ["1 MB", "20 kB", "3 MB"]), numbers: [1e6, 2e4, 3e6] },
        sweepAxis("b", ["z", "y", "x"]),
      ],
      ["v"],
      1,
      () => 1,
    ).report;
    expect([heatAxes(mixed)!.columns.values, heatAxes(mixed)!.rows.values]).toEqual([
      ["20 kB", "1 MB", "3 MB"],
      ["z", "y", "x"],
    ]);
  });
});

describe("colours", () => {
  it("of shares have their middle at one half, those of known ranges their ends there", () => {
    const share = heatScale("share", [0.4, 0.6]);
    expect([share.kind, placeOn(share, 0), placeOn(share, 0.5), placeOn(share, 1)]).toEqual([
      "diverging",
      0,
      0.5,
      1,
    ]);
    expect(placeOn(heatScale("jain_index", [0.9]), 0.5)).toBe(0);
    const time = heatScale("completion_s", [1, 10, 100]);
    expect([time.kind, time.log]).toEqual(["sequential", true]);
    expect(placeOn(time, 10)).toBeCloseTo(0.5, 12);
    expect(placeOn(heatScale("completion_s", [3, 3]), 3)).toBe(0.5);
  });
  it("leave numbers readable, and differ in lightness from the middle on", () => {
    for (const kind of ["diverging", "sequential"] as const) {
      for (const dark of [false, true]) {
        for (let i = 0; i <= 100; i++) {
          const { back, ink } = heatColour(kind, i / 100, dark);
          expect(contrast(back, ink), `${kind} ${i} ${dark}`).toBeGreaterThan(4.5);
        }
      }
    }
    for (const dark of [false, true]) {
      const middle = heatColour("diverging", 0.5, dark).back;
      for (const end of [0, 1])
        expect(contrast(heatColour("diverging", end, dark).back, middle)).toBeGreaterThan(4);
    }
  });
});
