import { describe, expect, it } from "vitest";
import { flowsOf } from "../src/data/flows.ts";
import { chooseLinks, linksOf, rankLinks } from "../src/data/links.ts";
import { metricsOf } from "../src/data/offered.ts";
import { readReport } from "../src/data/read.ts";
import type { Flow, Report } from "../src/data/report.types.ts";
import { besideOf, tableRows } from "../src/data/table.ts";
import { outlook } from "../src/sky/view.ts";
import { fairnessWith, flowWith, linkWith, reportWith } from "./base.ts";

const SATELLITES = ["orb-1-1", "orb-1-2", "orb-1-3", "orb-1-4"];
/** Names of links and how much of the time each was in use. */
const USED: Record<string, number> = {
  "Here>sky": 0.61,
  "orb-1-1>ground": 0.02,
  "orb-1-1>orb-1-2": 0.6,
  "orb-1-2>orb-1-1": 0.03,
  "orb-1-2>orb-1-3": 0.6,
  "orb-1-3>orb-1-2": 0.03,
  "orb-1-3>orb-1-4": 0.97,
  "orb-1-4>orb-1-3": 0.03,
  "orb-1-4>ground": 0.97,
  "There>sky": 0.04,
  "Near>sky": 0.39,
  "orb-1-3>ground": 0.01,
};

/** Two flows of 200 s to one place over four satellites; `few` leaves all links out but so many. */
function meshReport(few = Infinity): Report {
  const links = Object.entries(USED)
    .slice(0, few)
    .map(([name, utilisation]) =>
      linkWith({ name, dropped_queue: name === "orb-1-4>ground" ? 7 : 0, utilisation }),
    );
  const flow = (name: string, goodput: number): Flow =>
    flowWith({
      name,
      direction: "upload",
      bytes: goodput * 25e6,
      completion_s: 200,
      goodput_mbps: goodput,
    });
  const runs = ["a", "b"].map((variant, i) => ({
    variant,
    point: {},
    run: 0,
    links,
    flows: [flow("far", 6 - i), flow("near", 4 + i)],
    fairness: fairnessWith({ bottleneck: i === 0 ? "orb-1-3>orb-1-4" : null }),
  }));
  const stations = ["Here", "There", "Near"].map((name, i) => ({
    name,
    latitude_deg: 10 * i,
    longitude_deg: 0,
    altitude_m: 0,
  }));
  const report = reportWith({
    variants: ["a", "b"],
    runs,
    traces: runs.map(({ variant }) => ({
      variant,
      point: {},
      run: 0,
      constellation: 0,
      flows: ["far", "near"].map((name) => ({
        name,
        visit: 1,
        start_s: 0,
        series: {},
        marks: [],
        phases: [],
      })),
      links: links.map(({ name }) => ({
        name,
        rate_mbps: 10,
        queue_limit_bytes: null,
        series: {},
      })),
      routes: [
        { flow: "far", t_s: 0, nodes: [4, 0, 1, 2, 3, 5] },
        { flow: "near", t_s: 0, nodes: [] },
        { flow: "near", t_s: 5, nodes: [6, 2, 3, 5] },
      ],
    })),
    constellations: [
      {
        begins: "",
        satellites: {
          names: SATELLITES,
          shell: [0, 0, 0, 0],
          positions: { offset: 0, times: 1, step_s: 1 },
        },
        stations,
        isls: [],
      },
    ],
  });
  return readReport(JSON.parse(JSON.stringify(report)));
}

const id = (name: string): { name: string; visit: number } => ({ name, visit: 1 });

describe("links of a network", () => {
  const report = meshReport();
  const [a, b] = report.traces;
  it("carry data the way the flow sends", () => {
    expect([...linksOf(report, a!, id("near"))]).toEqual([
      "Near>sky",
      "orb-1-3>orb-1-4",
      "orb-1-4>ground",
    ]);
    const down = structuredClone(report);
    down.runs[0]!.flows[1]!.direction = "download";
    expect([...linksOf(down, down.traces[0]!, id("near"))]).toEqual([
      "orb-1-3>ground",
      "orb-1-4>orb-1-3",
      "There>sky",
    ]);
  });
  it("rank the bottleneck first, then links that carried the flow, by use and drops", () => {
    expect(rankLinks(report, a!, [id("near")]).order.slice(0, 4)).toEqual([
      "orb-1-3>orb-1-4",
      "orb-1-4>ground",
      "Near>sky",
      "Here>sky",
    ]);
    expect(rankLinks(report, b!, [id("near")]).order.slice(0, 3)).toEqual([
      "orb-1-4>ground",
      "orb-1-3>orb-1-4",
      "Near>sky",
    ]);
    expect(rankLinks(report, a!, [id("near")]).order).toHaveLength(12);
    expect(rankLinks(report, a!, [id("near")]).brief("orb-1-3>orb-1-4")).toBe("3>4");
  });
  it("are drawn where they matter, all of them when asked for, and all where they are few", () => {
    const chosen = chooseLinks(report, a!, [id("far")], false);
    expect(chosen.links.map((l) => l.name)).toEqual([
      "orb-1-3>orb-1-4",
      "orb-1-4>ground",
      "Here>sky",
      "orb-1-1>orb-1-2",
      "orb-1-2>orb-1-3",
    ]);
    expect(chosen.many).toMatchObject({
      total: 12,
      all: false,
      words: "The 5 links that carried data of far; the run had 12 links.",
    });
    expect(chooseLinks(report, a!, a!.flows, false).links.map((l) => l.name)).toContain("Near>sky");
    expect(chooseLinks(report, a!, [id("far")], true).links).toHaveLength(12);
    const small = meshReport(8);
    expect(chooseLinks(small, small.traces[0]!, [id("far")], false)).toMatchObject({
      links: small.traces[0]!.links,
      many: null,
    });
  });
  it("go by use alone where no way is known", () => {
    const blind = meshReport();
    delete blind.traces[0]!.constellation;
    expect(chooseLinks(blind, blind.traces[0]!, [id("far")], false).many!.words).toBe(
      "The 6 most used of 12 links.",
    );
  });
});

describe("flows that last for a time", () => {
  const report = meshReport();
  report.headlines = ["near", "far"].map((flow) => ({ flow, visit: 1, metric: "share_percent" }));
  it("are about how they shared first, with what each got beside it", () => {
    const metrics = metricsOf(report);
    expect(metrics.slice(0, 4)).toEqual([
      "min_max_ratio",
      "jain_index",
      "aggregate_goodput_mbps",
      "goodput_mbps",
    ]);
    const beside = besideOf("goodput_mbps", metrics)!;
    expect(beside).toEqual([
      "min_max_ratio",
      "jain_index",
      "aggregate_goodput_mbps",
      "goodput_mbps",
    ]);
    expect(tableRows(report, flowsOf(report), beside)).toHaveLength(2 * (3 + 2));
    expect(besideOf("completion_s", metrics)).toBe(null);
  });
});

describe("the first view of the globe", () => {
  const at = (...places: [number, number][]): Float32Array =>
    Float32Array.from(
      places.flatMap(([lat, lng]) => [
        Math.cos(lat * R) * Math.cos(lng * R),
        Math.cos(lat * R) * Math.sin(lng * R),
        Math.sin(lat * R),
      ]),
    );
  const R = Math.PI / 180;
  it("is of the chosen ends, turned only as far as the others need", () => {
    const near = outlook(at([0, 0], [0, 10], [0, 50]), [0, 1], [2], 60)!;
    expect(near[1]).toBeCloseTo(5, 0);
    const turned = outlook(at([0, 0], [0, 10], [0, 110]), [0, 1], [2], 60)!;
    expect(turned[1]).toBeGreaterThan(49);
    expect(turned[1]).toBeLessThan(58);
    // What cannot be seen together is not.
    expect(outlook(at([0, 0], [0, 10], [0, 170]), [0, 1], [2], 60)![1]).toBeCloseTo(5, 0);
    expect(outlook(at(), [], [], 60)).toBe(null);
  });
});
