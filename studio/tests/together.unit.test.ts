import { describe, expect, it } from "vitest";
import { pyramid } from "../src/data/pyramid.ts";
import type { FlowSeries, PathSummary } from "../src/data/report.types.ts";
import { binOf, rateOf } from "../src/panels/goodput.ts";
import { flowName } from "../src/panels/panel.ts";

const flow = (name: string, visit: number): FlowSeries => ({
  name,
  visit,
  start_s: 0,
  series: {},
  marks: [],
  phases: [],
});
const path = (rtt_ms: number): PathSummary => ({
  name: "",
  hops: [],
  rtt_ms,
  bdp_bytes: 1,
  profile: null,
  source: null,
});

describe("rates of flows", () => {
  it("add up to what was received, bin by bin, and end with zero", () => {
    const sum = pyramid({
      t: Float64Array.from([2.1, 2.4, 2.6, 3.9]),
      v: Float32Array.from([1e6, 2e6, 4e6, 5e6]),
    });
    const rate = rateOf(sum, 0.5);
    expect([...rate.t]).toEqual([2, 2.5, 3, 3.5, 4]);
    expect([...rate.v]).toEqual([32, 32, 0, 16, 0]);
    expect(rate.v.reduce((a, b) => a + b, 0) * 0.5 * 1e6).toBeCloseTo(5e6 * 8, 0);
  });
  it("have bins at the same instants, whenever a flow began", () => {
    const at = (t: number): number[] => [
      ...rateOf(pyramid({ t: Float64Array.from([t]), v: Float32Array.from([1]) }), 0.65).t,
    ];
    for (const t of [...at(1.1), ...at(7.77)])
      expect(Math.abs(t / 0.65 - Math.round(t / 0.65))).toBeLessThan(1e-9);
  });
  it("are taken over a round trip, over more where the run is long or the path short", () => {
    expect(binOf(path(650), [10, 20])).toBe(0.65);
    expect(binOf(path(5), [10])).toBe(0.05);
    expect(binOf(path(NaN), [])).toBe(0.5);
    expect(binOf(path(650), [20_000])).toBe(1);
  });
});

describe("names of flows", () => {
  it("carry the visit only where there are several", () => {
    const flows = [flow("web", 1), flow("video", 1)];
    expect(flows.map((f) => flowName(flows, f))).toEqual(["web", "video"]);
    const visits = [flow("web", 1), flow("web", 2)];
    expect(visits.map((f) => flowName(visits, f))).toEqual(["web, visit 1", "web, visit 2"]);
  });
});
