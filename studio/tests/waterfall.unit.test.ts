import { describe, expect, it } from "vitest";
import {
  heightOf,
  inOrderOfStart,
  kindOfName,
  progressAt,
  reachOf,
  rowText,
  shortRowName,
  waterfallOf,
} from "../src/charts/time/waterfall.ts";
import { flowMetric, metricOf } from "../src/data/metrics.ts";
import { metricsOf } from "../src/data/offered.ts";
import { firstConnection } from "../src/panels/panel.ts";
import { layersOf } from "../src/sections/run-facts.ts";
import { geoReport } from "./fixture.ts";
import { pageReport } from "./waterfallfixture.ts";

const plain = (s: string): string => s.replace(/[\u00a0\u202f]/g, " ");
const object = (name: string, start_s: number, completion_s: number | null) => ({
  name,
  bytes: 1000,
  start_s,
  completion_s,
});

describe("a waterfall", () => {
  const objects = [object("b.js", 2, 3), object("a.html", 1, 4), object("c.js", 2, null)];
  const w = waterfallOf(objects, 10)!;
  it("has a row for each object, in the order of asking and in the run's time", () => {
    expect(w.rows.map((r) => [r.name, r.from, r.to])).toEqual([
      ["a.html", 11, 14],
      ["b.js", 12, 13],
      ["c.js", 12, null],
    ]);
    expect(reachOf(w)).toEqual([11, 14]);
    expect(objects.map((o) => o.name)).toEqual(["b.js", "a.html", "c.js"]);
    expect(inOrderOfStart(objects).map((o) => o.name)).toEqual(["a.html", "b.js", "c.js"]);
  });
  it("counts what each kind has", () => {
    expect(w.kinds.map((k) => [k.name, k.objects, k.bytes])).toEqual([
      ["document", 1, 1000],
      ["script", 2, 2000],
    ]);
  });
  it("knows how far the visit was at a time", () => {
    expect([10, 11, 12, 13, 20].map((t) => progressAt(w, t))).toEqual([
      { done: 0, open: 0 },
      { done: 0, open: 1 },
      { done: 0, open: 3 },
      { done: 1, open: 2 },
      { done: 2, open: 1 },
    ]);
  });
  it("says of an object how large it is and when it came, or that it did not", () => {
    expect(w.rows.map((r) => plain(rowText(r, 10)))).toEqual([
      "a.html: 1.00 kB, 1.00 s to 4.00 s, took 3.00 s",
      "b.js: 1.00 kB, 2.00 s to 3.00 s, took 1.00 s",
      "c.js: 1.00 kB, from 2.00 s, never completed",
    ]);
  });
  it("is not made of a single object or of none", () => {
    expect(waterfallOf([object("a", 0, 1)], 0)).toBeNull();
    expect(waterfallOf([], 0)).toBeNull();
  });
  it("stays of a size that can be looked at", () => {
    const heights = [2, 20, 60, 400, 1000, 100_000].map(heightOf);
    expect([...heights].sort((a, b) => a - b)).toEqual(heights);
    expect(heights[0]).toBe(36);
    expect(heights.at(-1)).toBe(900);
  });
});

describe("names of objects", () => {
  it("tell the kind by their ending, whatever follows", () => {
    expect(
      [
        "/index.html",
        "a.CSS",
        "x.js?v=1.png",
        "y.woff2#z",
        "z.webp",
        "v.mp4",
        "d.json",
        "object",
        "a.b/c",
        ".css",
        "",
      ].map(kindOfName),
    ).toEqual([
      "document",
      "style",
      "script",
      "font",
      "image",
      "media",
      "data",
      "other",
      "other",
      "style",
      "other",
    ]);
  });
  it("are shortened to what follows the last slash", () => {
    expect(["/a/b/c.js?x=/y", "c.js", "/a/", "/"].map(shortRowName)).toEqual([
      "c.js",
      "c.js",
      "/a/",
      "/",
    ]);
  });
});

describe("reverse bytes", () => {
  const { report } = pageReport();
  it("are in words, the sum first, without the layers of another transport", () => {
    expect(layersOf(report.runs[0]!.flows[0]!)).toEqual([
      ["Reverse bytes", 75_772],
      ["Reverse bytes: IP", 16_380],
      ["Reverse bytes: TCP", 16_380],
      ["Reverse bytes: TCP options", 9876],
      ["Reverse bytes: TCP payload", 33_136],
    ]);
  });
  it("are offered as metrics for layers that some run used", () => {
    const metrics = metricsOf(report);
    expect(metrics).toEqual(
      expect.arrayContaining([
        "reverse_bytes",
        "reverse_bytes.tcp_options",
        "pep_buffer_max_bytes",
        "pep_acks_dropped",
      ]),
    );
    expect(metrics).not.toContain("reverse_bytes.quic");
    expect(metrics).not.toContain("reverse_bytes.udp");
    const quic = metricsOf(geoReport({ traces: false }).report);
    for (const key of ["reverse_bytes.tcp", "pep_buffer_max_bytes"])
      expect(quic).not.toContain(key);
  });
  it("have one sum, whether the summary knows it or not", () => {
    const with_ = structuredClone(report);
    with_.summary = [
      {
        variant: "h1",
        point: {},
        flow: "download",
        visit: 1,
        metric: "reverse_bytes",
        n: 2,
        median: 75_772,
        p5: null,
        p95: null,
        mean: 75_772,
        ci95_low: null,
        ci95_high: null,
      },
    ];
    expect(metricsOf(with_).filter((m) => metricOf(m).label === "Reverse bytes")).toEqual([
      "reverse_bytes",
    ]);
    expect(flowMetric(with_.runs[0]!.flows[0]!, "reverse_bytes")).toBe(75_772);
  });
});

describe("a visit of several connections", () => {
  it("says whose the sender's series are, one of a single connection does not", () => {
    expect(firstConnection(6).note).toBe("The sender's series are of the first of 6 connections.");
    expect(firstConnection(1)).toEqual({});
    expect(firstConnection(undefined)).toEqual({});
  });
});
