import { describe, expect, it } from "vitest";
import { wrapParts } from "../src/charts/static/path-drawing.ts";
import { resultsJson, runsTable } from "../src/data/export.ts";
import { groupsAt } from "../src/data/groups.ts";
import { metricsOf } from "../src/data/offered.ts";
import { pointKey, pointLabel, pointsOf, within } from "../src/data/points.ts";
import { normalise } from "../src/data/read.ts";
import { cdf, quantile } from "../src/data/statistics.ts";
import { tableCells, tableRows } from "../src/data/table.ts";
import { cell, delimited } from "../src/page/files.ts";
import { formatHash, parseHash, type State } from "../src/page/state.ts";
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
      "path.forward.loss 0, path.return.loss 0.1",
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
  it("offer metrics that have values, the usual first", () => {
    const metrics = metricsOf(report);
    expect(metrics.slice(0, 4)).toEqual([
      "completion_s",
      "goodput_mbps",
      "first_byte_s",
      "handshake_s",
    ]);
    expect(metrics).toContain("reverse_bytes.total");
    expect(metrics).not.toContain("visit");
  });
  it("have no interval at n = 1", () => {
    const [g] = groupsAt(singleReport().report, {}, flow, "completion_s");
    expect(g).toMatchObject({ n: 1, p5: null, p95: null });
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
    const back = normalise(JSON.parse(resultsJson(report)));
    expect(back.variants).toEqual(report.variants);
    expect(back.sweep).toEqual(report.sweep);
    expect(back.runs).toEqual(report.runs);
    expect(back.summary).toEqual(report.summary);
    expect(pointsOf(back)).toEqual(pointsOf(report));
  });
  it("hold a line per flow of every run", () => {
    const lines = runsTable(report);
    expect(lines).toHaveLength(1 + report.runs.length);
    expect(lines[0]).toContain("reverse_bytes.total");
  });
});

describe("loading", () => {
  it("refuses what is not a report", () => {
    for (const bad of [null, 3, [], {}, { runs: 3 }])
      expect(() => normalise(bad)).toThrow(/no list of runs/);
  });
  it("survives missing parts", () => {
    const r = normalise({
      scenario: "x",
      runs: [{ variant: "a", run: 0, flows: [{ name: "f", visit: 1, completion_s: 2 }] }],
    });
    expect(r).toMatchObject({ title: "x", variants: ["a"], sweep: [], traces: [] });
    expect(groupsAt(r, {}, { name: "f", place: 1 }, "completion_s")[0]!.median).toBe(2);
  });
});

describe("the address", () => {
  const usual: State = {
    picture: "" as const,
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
