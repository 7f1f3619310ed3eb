import { describe, expect, it } from "vitest";
import { contrastOf, effectOf, intervalOfChange } from "../src/answer/contrast.ts";
import { groupsAt } from "../src/data/groups.ts";
import { METRIC_ROWS } from "../src/data/metrics.generated.ts";
import { metricOf } from "../src/data/metrics.ts";
import { besides, changed } from "../src/format/metric.ts";
import { differenceWords } from "../src/sections/pivot.ts";
import { flowWith, reportWith } from "./base.ts";

const of = (key: string): string => metricOf(key).compared;

describe("metrics are compared", () => {
  it("as ratios if they are times, rates, bytes or factors", () => {
    for (const key of [
      ...["completion_s", "goodput_mbps", "rtt_p99_ms", "bytes_sent", "mean_bitrate_kbps"],
      ...["mean_slowdown", "data_per_ack", "reverse_packets", "reverse_bytes.ip"],
    ])
      expect(of(key), key).toBe("ratio");
  });
  it("in points if they are shares", () => {
    for (const key of ["share", "share_percent", "lost_percent", "min_max_ratio", "utilisation"])
      expect(of(key), key).toBe("points");
    const percents = METRIC_ROWS.filter((row) => row[2] === "%").map(([name]) => name);
    expect(percents.length).toBeGreaterThan(8);
    expect(new Set(percents.map(of))).toEqual(new Set(["points"]));
  });
  it("by their difference if they are scores or counts, or unknown", () => {
    for (const key of ["mos", "audio_upload.mos", "qoe_linear", "jain_index", "stalls", "freezes"])
      expect(of(key), key).toBe("difference");
    expect(of("packets_lost_queue")).toBe("difference");
    expect(of("something")).toBe("difference");
  });
});

/** The groups of two variants with these values of a metric. */
function groups(key: string, a: number[], b: number[]) {
  const runs = [a, b].flatMap((values, i) =>
    values.map((value, run) => ({
      ...{ variant: "ab"[i]!, point: {}, run, links: [], fairness: null },
      flows: [flowWith({ [key]: value })],
    })),
  );
  const report = reportWith({ variants: ["a", "b"], runs });
  return groupsAt(report, {}, { name: "main", place: 1 }, key) as [
    ReturnType<typeof groupsAt>[0],
    ReturnType<typeof groupsAt>[0],
  ];
}

describe("two values of a metric", () => {
  it("are a ratio, a difference in points, or a difference", () => {
    expect(besides(metricOf("completion_s"), 3, 2)).toBe("1.50×");
    expect(besides(metricOf("lost_percent"), 2, 5)).toBe("−3\u00a0points");
    expect(besides(metricOf("min_max_ratio"), 0.75, 0.5)).toBe("+25\u00a0points");
    expect(besides(metricOf("mos"), 3.54, 1)).toBe("+2.54");
    expect(besides(metricOf("stalls"), 1, 4)).toBe("−3");
  });
  it("are a change of a pinned run in the same words", () => {
    expect(changed(metricOf("completion_s"), 2, 3)).toBe("+50\u00a0%");
    expect(changed(metricOf("completion_s"), 2, 2)).toBe("±0\u00a0%");
    expect(changed(metricOf("mos"), 1, 3.54)).toBe("+2.54");
    expect(changed(metricOf("stalls"), 0, 2)).toBe("+2");
    expect(changed(metricOf("stalls"), 2, 2)).toBe("±0");
    expect(changed(metricOf("stalls"), null, 2)).toBe("");
  });
  it("that are scores have a side and an effect below zero too", () => {
    const [a, b] = groups("qoe_linear", [-2], [-1]);
    const contrast = contrastOf(a, b, metricOf("qoe_linear"))!;
    expect(contrast).toMatchObject({ change: 1, gain: 1, better: true, apart: true });
    expect(effectOf(contrast)).toBe(1);
    const [c, d] = groups("stalls", [0], [2]);
    expect(contrastOf(c, d, metricOf("stalls"))).toMatchObject({ change: 2, better: false });
  });
  it("have an interval of their difference", () => {
    const [a, b] = groups("mos", [1, 2, 3], [4, 5, 6]);
    a.summary = { ...a.summary!, ci95_low: 1, ci95_high: 3 };
    b.summary = { ...b.summary!, ci95_low: 4, ci95_high: 6 };
    const [low, high] = intervalOfChange(a, b, "difference")!;
    expect(low).toBeCloseTo(3 - Math.SQRT2, 9);
    expect(high).toBeCloseTo(3 + Math.SQRT2, 9);
    const m = metricOf("mos");
    expect(differenceWords(a, b, contrastOf(a, b, m)!, m)).toBe("+1.6 to +4.4");
  });
});
