import { describe, expect, it } from "vitest";
import { wrapParts } from "../src/charts/static/path-drawing.ts";
import { resultsJson, runsTable } from "../src/data/export.ts";
import { groupsAt } from "../src/data/groups.ts";
import { metricsOf } from "../src/data/offered.ts";
import { pointKey, pointLabel, pointsOf, within } from "../src/data/points.ts";
import { readReport } from "../src/data/read.ts";
import type { Report } from "../src/data/report.types.ts";
import { cdf, quantile } from "../src/data/statistics.ts";
import { tableCells, tableRows } from "../src/data/table.ts";
import { cell, delimited } from "../src/page/files.ts";
import { formatHash, parseHash, type State } from "../src/page/state.ts";
import { flowWith, reportWith } from "./base.ts";
import { geoReport, singleReport } from "./fixture.ts";

const flow = { name: "download", place: 1 };

describe("statistics", () => {
  it("interpolate quantiles", () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(quantile([5], 0.95)).toBe(5);
    expect(quantile([], 0.5)).toBeNaN();
  });
  it("count runs that never finished in the distribution", () => {
    expect(cdf([1, 1, 2], 4)).toEqual([
      { x: 1, y: 0.5 },
      { x: 2, y: 0.75 },
    ]);
  });
  it("know points by their content", () => {
    expect(pointKey({ a: "1", b: "2" })).toBe(pointKey({ b: "2", a: "1" }));
    expect(pointLabel({ "workload.download": "10 MB" })).toBe("download 10 MB");
    expect(pointLabel({ "path.forward.loss": "0", "path.return.loss": "0.1" })).toBe(
      "forward loss 0, return loss 0.1",
    );
    expect(pointLabel({ "flow.a.path.loss": "0", "flow.b.path.loss": "0.1" })).toBe(
      "flow.a.path.loss 0, flow.b.path.loss 0.1",
    );
    expect(within({ a: "1" }, { a: "1", b: "2" })).toBe(true);
    expect(within({ a: "2" }, { a: "1", b: "2" })).toBe(false);
  });
});

describe("groups", () => {
  const { report } = geoReport({ traces: false });
  it("hold every run, in order of the variants, with what was published for the case", () => {
    const groups = groupsAt(report, { "workload.download": "10 MB" }, flow, "completion_s");
    expect(groups.map((g) => g.variant)).toEqual(report.variants);
    expect(groups[0]!.values).toHaveLength(20);
    expect(groups.map((g) => g.published.map((p) => p.value))).toEqual([[5], [5], [5], [5, 4.1]]);
  });
  it("have values that are no fields of a flow from the report's list", () => {
    const point = { "workload.download": "10 MB" };
    const [first] = groupsAt(report, point, flow, "completion_s");
    const values = report.runs.map((_, i) => (i % 2 ? null : i));
    const derived = [{ flow: flow.name, visit: first!.visit, metric: "lost_percent", values }];
    const whole = { ...report, derived };
    const [group] = groupsAt(whole, point, flow, "lost_percent");
    const known = report.runs.map((run, i) => ({ run, value: values[i] }));
    const own = known.filter(
      ({ run }) => run.variant === group!.variant && pointKey(run.point) === pointKey(point),
    );
    expect(group!.values.map((v) => v.value)).toEqual(own.map((o) => o.value));
    expect(group!.sorted).toHaveLength(10);
    const rows = runsTable(whole);
    const column = rows[0]!.indexOf("lost_percent");
    expect(rows.slice(1, 3).map((row) => row[column])).toEqual([0, null]);
  });
  it("offer metrics that have values, the usual first", () => {
    const metrics = metricsOf(report);
    expect(metrics.slice(0, 4)).toEqual([
      "completion_s",
      "goodput_mbps",
      "first_byte_s",
      "handshake_s",
    ]);
    expect(metrics).toContain("reverse_bytes");
    expect(metrics).not.toContain("visit");
  });
  it("have no interval at n = 1", () => {
    const [g] = groupsAt(singleReport().report, {}, flow, "completion_s");
    expect(g).toMatchObject({ n: 1, spread: null });
    expect(g!.median).toBeGreaterThan(1);
  });
});

describe("the table", () => {
  const { report } = geoReport({ traces: false });
  it("has a line per variant and point, and one more for a second published value", () => {
    const rows = tableRows(report, [flow], ["completion_s"]);
    expect(rows).toHaveLength(13);
    const [head, ...lines] = tableCells(report, rows);
    expect(head).toContain("ci95_low");
    for (const line of lines) expect(line).toHaveLength(head!.length);
    const measured = lines.find((l) => l[head!.indexOf("published_kind")] === "measured")!;
    expect(measured[head!.indexOf("ratio_to_published")]).toBeCloseTo(
      (measured[head!.indexOf("median")] as number) / 4.1,
      5,
    );
  });
  it("quotes CSV and keeps TSV on its line", () => {
    expect(cell('a "b", c', ",")).toBe('"a ""b"", c"');
    expect(cell("a\tb\nc", "\t")).toBe("a b c");
    expect(cell(NaN, ",")).toBe("");
    expect(delimited([["x", null, 1.5]], ",")).toBe("x,,1.5\n");
  });
});

describe("files", () => {
  const { report } = geoReport({ repeats: 2, traces: false });
  it("hold the results contract and can be read back", () => {
    const back = readReport(JSON.parse(resultsJson(report)));
    expect(back.variants).toEqual(report.variants);
    expect(back.sweep).toMatchObject(report.sweep.map(({ key, values }) => ({ key, values })));
    expect(back.runs).toEqual(report.runs);
    expect(back.summary).toEqual(report.summary);
    expect(pointsOf(back)).toEqual(pointsOf(report));
  });
  it("hold a line per flow of every run", () => {
    const lines = runsTable(report);
    expect(lines).toHaveLength(1 + report.runs.length);
    expect(lines[0]).toContain("reverse_bytes");
  });
});

describe("loading", () => {
  it("refuses what is not a report", () => {
    for (const bad of [null, 3, [], {}, { runs: 3 }])
      expect(() => readReport(bad)).toThrow(/no list of runs/);
  });
  it("takes a bare results document, and reads variants and sweep from its runs", () => {
    const { report } = geoReport({ repeats: 1, traces: false });
    const r = readReport(JSON.parse(resultsJson(report)));
    expect(r).toMatchObject({ title: "geo-resume", variants: report.variants, traces: [] });
    expect(r.sweep[0]!.values).toEqual(["2 MB", "10 MB", "30 MB"]);
  });
  it("names the first value that does not fit the schema", () => {
    const report = (): Report => geoReport({ repeats: 1, traces: false }).report;
    const broken = (change: (r: Report) => unknown): (() => Report) => {
      const r = report();
      change(r);
      return () => readReport(r);
    };
    const flow = (r: Report): Record<string, unknown> =>
      r.runs[1]!.flows[0] as unknown as Record<string, unknown>;
    expect(() => readReport(report())).not.toThrow();
    for (const [change, message] of [
      [(r: Report) => delete flow(r).completion_s, "runs[1].flows[0] has no completion_s"],
      [(r: Report) => (flow(r).bytes = "x"), 'runs[1].flows[0].bytes is "x": expected integer'],
      [(r: Report) => (flow(r).bytes = 0.5), "runs[1].flows[0].bytes is 0.5: expected integer"],
      [(r: Report) => (flow(r).bytes = -1), "runs[1].flows[0].bytes is -1: expected at least 0"],
      [
        (r: Report) => (flow(r).direction = "up"),
        'runs[1].flows[0].direction is "up": expected download or upload',
      ],
      [
        (r: Report) => (flow(r).completion_s = []),
        "runs[1].flows[0].completion_s is a list: expected number or null",
      ],
      [
        (r: Report) => (flow(r).ack_frame_bytes = { n: 1 }),
        "runs[1].flows[0].ack_frame_bytes has no min",
      ],
      [
        (r: Report) => (r.runs[0]!.point = { key: 3 } as never),
        "runs[0].point.key is 3: expected string",
      ],
      [(r: Report) => (r.path = 3 as never), "path is 3: expected object"],
    ] as const)
      expect(broken(change)).toThrow(message);
  });
  it("checks names of entries, and lists of a given length", () => {
    const counts = { x: 1 } as never;
    const sizes = { n: 1, min: 1, median: 1, p99: 1, max: 1, counts };
    const flows = [flowWith({ ack_frame_bytes: sizes })];
    const run = { variant: "a", point: {}, run: 0, flows, links: [], fairness: null };
    expect(() => readReport(reportWith({ runs: [run] }))).toThrow(
      'runs[0].flows[0].ack_frame_bytes.counts has an unknown entry "x"',
    );
  });
});

describe("the address", () => {
  const usual: State = {
    picture: "" as const,
    baseline: "",
    find: "",
    only: "",
    sort: "",
    at: "",
    table: "",
    across: "ratio",
    metric: "completion_s",
    flow: "f",
    point: "",
    run: 0,
    versus: -1,
    traceFlow: "",
    origin: "flow",
    links: "busy",
    zoom: null,
    reversePoint: "",
    reverseFlow: "",
    compared: "",
    count: "bytes",
    reverseZoom: null,
  };
  it("round-trips a view", () => {
    const state: State = {
      ...usual,
      metric: "a&b=c",
      run: 3,
      versus: 1,
      zoom: [1.5, 2.25],
      reversePoint: '[["rate","1 Mbps"]]',
      compared: "0,2",
      count: "packets",
      reverseZoom: [0.5, 3],
    };
    expect({ ...usual, ...parseHash(`#${formatHash(state, usual)}`) }).toEqual(state);
    expect(formatHash(usual, usual)).toBe("");
  });
  it("ignores nonsense", () => {
    expect(parseHash("#run=x&zoom=5,1&origin=moon&versus=99999999")).toEqual({});
  });
});

describe("the path drawing", () => {
  it("breaks descriptions at commas", () => {
    expect(wrapParts("50 Mbps, 325 ms, queue 1.3 MB", 20)).toEqual([
      "50 Mbps · 325 ms",
      "queue 1.3 MB",
    ]);
    expect(wrapParts("50 Mbps, 325 ms", 60)).toEqual(["50 Mbps · 325 ms"]);
    expect(wrapParts("a very long single part", 10)).toEqual(["a very lo…"]);
  });
});
