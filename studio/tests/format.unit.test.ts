import { describe, expect, it } from "vitest";
import { markerPath } from "../src/charts/static/marks.ts";
import { metricOf } from "../src/data/metrics.ts";
import { PARTS } from "../src/data/time-budget.ts";
import { metricScale, metricValue, plainValue } from "../src/format/metric.ts";
import {
  bytes,
  clock,
  count,
  ms,
  percent,
  plotScale,
  rounded,
  seconds,
  shortest,
  significant,
} from "../src/format/numbers.ts";
import {
  allColours,
  contrast,
  VARIANT_COLOURS,
  variantColour,
  variantDash,
} from "../src/format/palette.ts";
import { clockTick, stepDecimals, stepsOf, tickLabels, ticks } from "../src/format/ticks.ts";
import { distance } from "./vision.ts";

const plain = (s: string): string => s.replace(/[\u00a0\u202f]/g, " ");

describe("spans of days", () => {
  it("have days and hours from two hours on", () => {
    expect([0, 7199, 7200, 86_399.9, 468_258, 1e8].map(clock)).toEqual([
      "",
      "",
      "02:00:00",
      "23:59:59",
      "5\u00a0d 10:04:18",
      "1157\u00a0d 09:46:40",
    ]);
    expect(clock(Number.NaN)).toBe("");
    expect([468_258, -468_258, 7199].map(seconds)).toEqual([
      "5\u00a0d 10:04:18",
      "−5\u00a0d 10:04:18",
      "7199\u00a0s",
    ]);
    expect([45_363_000, 1_802_040].map(ms)).toEqual(["12:36:03", "1802\u00a0s"]);
  });
  it("have axes in hours and days, with steps of the clock", () => {
    const labels = (lo: number, hi: number, room: number): string[] => {
      const step = stepsOf(hi, 1).find((each) => each * room >= hi - lo) ?? 1;
      const at = Array.from({ length: room }, (_, k) => (Math.ceil(lo / step) + k) * step);
      return at.filter((t) => t <= hi).map((t) => clockTick(t, step).replaceAll("\u00a0", " "));
    };
    expect(labels(0, 475_282, 6)).toEqual(["0", "1 d", "2 d", "3 d", "4 d", "5 d"]);
    expect(labels(0, 86_400, 5)).toEqual(["0", "06:00", "12:00", "18:00", "1 d"]);
    expect(labels(86_400, 108_000, 4)).toEqual([
      "1 d 00:00",
      "1 d 02:00",
      "1 d 04:00",
      "1 d 06:00",
    ]);
    expect(labels(111_660, 111_670, 3)).toEqual(["1 d 07:01:00", "1 d 07:01:05", "1 d 07:01:10"]);
    expect(stepsOf(600, 1)).not.toContain(3600);
    expect(stepsOf(8e6, 1000)).toContain(3_600_000);
    expect(metricScale(metricOf("completion_s"), 468_258)).toEqual({ unit: "d", divisor: 86_400 });
    expect(plainValue(468_258, { unit: "d", divisor: 86_400 })).toBe("5.4197");
    expect(plotScale("ms", 7.2e7).unit).toBe("h");
  });
  it("have rates below a kilobit per second", () => {
    expect(metricValue(metricOf("goodput_mbps"), 1.71e-7)).toBe("0.171\u00a0bps");
  });
});

describe("numbers", () => {
  it("keep three significant digits", () => {
    expect([0, 1.23456, 12.3456, 123.456, 0.0123456, -4.5678].map((x) => significant(x))).toEqual([
      "0",
      "1.23",
      "12.3",
      "123",
      "0.0123",
      "−4.57",
    ]);
  });
  it("are grouped from five digits up", () => {
    expect([1234, 12345, 1234567].map((x) => plain(count(x)))).toEqual([
      "1234",
      "12 345",
      "1 234 567",
    ]);
  });
  it("never print what does not exist", () => {
    for (const x of [NaN, Infinity, null, undefined]) {
      expect(plainValue(x)).toBe("–");
      expect(metricValue(metricOf("completion_s"), x)).toBe("–");
    }
  });
  it("has four digits of the long numbers in a text, and all of short ones", () => {
    const path = "32.011785 Mbps in clear sky, 311.75 ms, 0.25 BDP, frames of 26.5 ms, 1500 B";
    expect(rounded(path)).toBe(
      "32.01 Mbps in clear sky, 311.8 ms, 0.25 BDP, frames of 26.5 ms, 1500 B",
    );
  });

  it("drop zeros at the end of given values", () => {
    expect([3, 3.5, 0.874, 100, 1234.5678, 3.83].map(shortest)).toEqual([
      "3",
      "3.5",
      "0.874",
      "100",
      "1235",
      "3.83",
    ]);
  });
  it("carry suitable units", () => {
    expect(
      [
        seconds(3.2145),
        seconds(0.0451),
        seconds(0),
        ms(650),
        ms(650.43),
        ms(12_000),
        bytes(4_062_500),
        bytes(950),
        percent(0.458),
      ].map(plain),
    ).toEqual([
      "3.21 s",
      "45.1 ms",
      "0 s",
      "650 ms",
      "650 ms",
      "12.0 s",
      "4.06 MB",
      "950 B",
      "45.8 %",
    ]);
  });
});

describe("metrics", () => {
  it("are known by name, and unknown ones are made readable", () => {
    expect(metricOf("completion_s")).toMatchObject({
      label: "Completion time",
      unit: "s",
      better: "lower",
    });
    expect(metricOf("goodput_mbps")).toMatchObject({ unit: "Mbps", better: "higher" });
    expect(metricOf("reverse_bytes")).toMatchObject({ label: "Reverse bytes", unit: "bytes" });
    expect(metricOf("reverse_bytes.tcp_options")).toMatchObject({
      label: "Reverse bytes: TCP options",
      unit: "bytes",
    });
    expect(metricOf("packets_lost_queue").unit).toBe("packets");
    expect(metricOf("packets_sent").unit).toBe("");
    expect(metricOf("min_max_ratio").unit).toBe("fraction");
    expect(metricOf("pep_buffer_max_bytes")).toMatchObject({
      label: "Largest proxy buffer",
      unit: "bytes",
      better: "lower",
    });
    expect(metricOf("pep_acks_dropped")).toMatchObject({
      label: "ACKs suppressed by a proxy",
      unit: "",
      better: "neither",
    });
    expect(metricOf("queue_wait_ms")).toMatchObject({ label: "Queue wait ms", unit: "" });
    expect(metricOf("constructor")).toMatchObject({ label: "Constructor", unit: "" });
  });
});

describe("ticks", () => {
  it("are round and cover the range", () => {
    expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(3.2, 4.1, 4).map((x) => x.toFixed(1))).toEqual(["3.5", "4.0"]);
    expect(tickLabels(ticks(0, 1, 5))).toEqual(["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    expect(tickLabels([0, 50, 100])).toEqual(["0", "50", "100"]);
  });
  it("say where they stand, also in steps of two and a half", () => {
    expect(tickLabels([0, 2.5, 5])).toEqual(["0.0", "2.5", "5.0"]);
    expect([0.1, 0.25, 1, 2.5, 20, 25].map(stepDecimals)).toEqual([1, 2, 0, 1, 0, 0]);
  });
});

describe("colours", () => {
  it("stand out from the cards of both themes", () => {
    for (const [dark, card] of [
      [false, "#ffffff"],
      [true, "#161b22"],
    ] as const) {
      for (const colour of allColours(dark))
        expect(contrast(colour, card), `${colour} on ${card}`).toBeGreaterThanOrEqual(3);
    }
  });
  it("differ for twelve variants as everyone sees them, and by dashes and marks beyond", () => {
    for (const dark of [false, true]) {
      const colours = Array.from({ length: VARIANT_COLOURS }, (_, i) => variantColour(i, dark));
      for (const vision of ["usual", "deuteranope", "protanope"])
        colours.forEach((a, i) => {
          for (const b of colours.slice(0, i))
            expect(distance(a, b, vision), `${a} ${b} ${vision}`).toBeGreaterThan(9);
        });
    }
    expect(VARIANT_COLOURS).toBe(12);
    expect(variantColour(13, true)).toBe(variantColour(1, true));
    expect(variantDash(13)).not.toEqual(variantDash(1));
    expect(markerPath(13, 5)).not.toBe(markerPath(1, 5));
  });
  it("of causes are those of no variant and no series", () => {
    for (const theme of [0, 1] as const) {
      const own = new Set(allColours(theme === 1));
      const causes = PARTS.filter((p) => !p.needed).map((p) => p.colour[theme]);
      expect(causes.filter((c) => own.has(c))).toEqual([]);
    }
  });
});
