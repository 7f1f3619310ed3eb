import { describe, expect, it } from "vitest";
import { differences } from "../src/answer/differs.ts";
import { answerOf, usualFlow } from "../src/answer/index.ts";
import {
  isRatio,
  publishedOf,
  publishedSentence,
  publishedWords,
} from "../src/answer/published.ts";
import { plain, taskOf } from "../src/answer/words.ts";
import { axisEnd } from "../src/charts/static/bar-rows.ts";
import { outstanding, spread } from "../src/charts/static/ratio-lines.ts";
import { flowKey } from "../src/data/flows.ts";
import { metricOf } from "../src/data/metrics.ts";
import { valueWords } from "../src/data/points.ts";
import type { Flow, Report } from "../src/data/report.types.ts";
import type { State } from "../src/page/state.ts";
import { pairOf } from "../src/sections/run-pair.ts";
import { flowWith, reportWith } from "./base.ts";

const MAIN = flowKey({ name: "main", place: 1 });

/** A report with a run of each given flow, by variant, at points of one key. */
function report(
  runs: [variant: string, point: string, flows: Partial<Flow>[]][],
  given: Partial<Report> = {},
): Report {
  const points = [...new Set(runs.map(([, point]) => point))];
  const numbers = points.map((p) => Number.parseFloat(p));
  const known = numbers.every(Number.isFinite);
  const number = new Map<string, number>();
  return reportWith({
    variants: [...new Set(runs.map(([variant]) => variant))],
    sweep:
      points.length > 1
        ? [{ key: "path.loss", values: points, numbers: known ? numbers : [], unit: null }]
        : [],
    runs: runs.map(([variant, value, flows]) => {
      const point: Record<string, string> = points.length > 1 ? { "path.loss": value } : {};
      const run = number.get(variant + value) ?? 0;
      number.set(variant + value, run + 1);
      const all = flows.map((f) => flowWith({ bytes: 2e6, ...f }));
      return { variant, point, run, links: [], fairness: null, flows: all };
    }),
    ...given,
  });
}

const took = (completion_s: number): Partial<Flow>[] => [{ completion_s }];

const answer = (r: Report, metric = "completion_s", baseline = "", point = "", flow = MAIN) =>
  answerOf(r, metricOf(metric), flow, { baseline, point });
const said = (r: Report, ...rest: string[]): string =>
  plain(answer(r, ...(rest as [string]))?.sentence ?? []).replaceAll("\u00a0", " ");

describe("an answer", () => {
  it("says how many times as fast the best is, and the values", () => {
    const r = report([
      ["slow", "", took(6)],
      ["fast", "", took(2)],
    ]);
    expect(said(r)).toBe(
      "fast makes a 2 MB download 3.00 times as fast: 2.00 s instead of 6.00 s with slow.",
    );
  });

  it("is against the baseline that is chosen, or that the scenario names", () => {
    const runs: [string, string, Partial<Flow>[]][] = [
      ["slow", "", took(6)],
      ["fast", "", took(2)],
    ];
    const other =
      "slow makes a 2 MB download take 3.00 times as long: 6.00 s instead of 2.00 s with fast.";
    expect(said(report(runs), "completion_s", "fast")).toBe(other);
    expect(said(report(runs, { baseline: "fast" }))).toBe(other);
    expect(said(report(runs, { baseline: "nobody" }))).toContain("with slow");
  });

  it("names variants that are as good together", () => {
    const r = report([
      ["none", "", took(7.2)],
      ["store", "", took(3.37)],
      ["token", "", took(3.38)],
    ]);
    expect(said(r)).toBe(
      "store and token make a 2 MB download 2.14 times as fast: 3.37 s and 3.38 s instead of " +
        "7.20 s with none.",
    );
    const many = report([
      ["none", "", took(7.2)],
      ...["a", "b", "c", "d"].map((v): [string, string, Partial<Flow>[]] => [v, "", took(3.6)]),
    ]);
    expect(said(many)).toContain("a and 3 others make");
  });

  it("finds no difference where intervals overlap, or values are alike", () => {
    const scattered = report(
      [4, 5, 6, 4.5, 5.5, 6.5].map((s, i) => [i < 3 ? "a" : "b", "", took(s)]),
    );
    expect(said(scattered)).toBe(
      "No difference larger than chance between a and b: a 2 MB download takes 5.00 s and 5.50 s.",
    );
    const alike = report([
      ["a", "", took(30.1)],
      ["b", "", took(30.2)],
    ]);
    expect(said(alike)).toContain("No difference of a per cent between a and b");
  });

  it("says who never completes, and why", () => {
    const failed = { completed: false, error: "connection 0 was reset" };
    const r = report([
      ["tcp", "", [failed]],
      ["quic", "", took(10.8)],
    ]);
    expect(said(r)).toBe(
      "tcp never completes a 2 MB download: connection 0 was reset. quic takes 10.8 s.",
    );
    const some = report([
      ["tcp", "", [failed]],
      ["tcp", "", took(9)],
      ["quic", "", took(10.8)],
    ]);
    expect(said(some)).toContain("tcp does not complete a 2 MB download in 1 of 2 runs.");
  });

  it("is about the point with the largest difference, and says how it changes", () => {
    const r = report([
      ["a", "1 %", took(4)],
      ["b", "1 %", took(2)],
      ["a", "2 %", took(4)],
      ["b", "2 %", took(1)],
      ["a", "3 %", took(4)],
      ["b", "3 %", took(0.5)],
    ]);
    expect(said(r)).toContain("8.00 times as fast: 0.500 s instead of 4.00 s");
    expect(answer(r)!.more).toEqual([
      "The gain grows with the loss: 2.00× at 1\u00a0%, 4.00× at 2\u00a0%.",
    ]);
    const at = JSON.stringify([["path.loss", "2 %"]]);
    expect(said(r, "completion_s", "", at)).toContain("4.00 times as fast");
  });

  it("names the flow of a single variant among several, and says what became of the others", () => {
    const flows = [
      { name: "main", completion_s: 3 },
      { name: "late", completion_s: 5 },
    ];
    const r = report([["default", "", flows]]);
    expect(said(r)).toBe("‘main’: a 2 MB download takes 3.00 s.");
    const more = answer(r)!.more.map((text) => text.replaceAll("\u00a0", " "));
    expect(more).toContain("‘late’: a 2 MB download takes 5.00 s.");
    expect(said(report([["default", "", took(3)]]))).toBe("A 2 MB download takes 3.00 s.");
  });

  it("compares the points of a single variant", () => {
    const r = report([
      ["default", "0 %", took(3)],
      ["default", '{ aqm = "codel", limit = "1 BDP" }', took(4.5)],
    ]);
    expect(said(r)).toBe(
      "loss codel makes a 2 MB download take 1.50 times as long: 4.50 s instead of 3.00 s with " +
        "loss 0 %.",
    );
  });

  it("says of other metrics by how much they change", () => {
    const of = (a: number, b: number): string =>
      said(
        report([
          ["a", "", [{ goodput_mbps: a }]],
          ["b", "", [{ goodput_mbps: b }]],
        ]),
        "goodput_mbps",
      );
    expect(of(4, 5)).toBe("b raises the goodput by 25.0 %: 5.00 Mbps instead of 4.00 Mbps with a.");
    expect(of(4, 12)).toContain("raises the goodput 3.00-fold");
    expect(of(4, 3)).toContain("lowers the goodput by 25.0 %");
  });

  it("says of scores, shares and counts from what to what they change, and no ratio", () => {
    const of = (key: string, a: number, b: number): string =>
      said(
        report([
          ["a", "", [{ [key]: a }]],
          ["b", "", [{ [key]: b }]],
        ]),
        key,
      );
    expect(of("mos", 1, 3.5)).toBe("b raises the mean opinion score to 3.50, from 1 with a.");
    expect(of("frames_late_percent", 59.2, 0)).toBe(
      "b lowers the share of late frames to 0 %, from 59.2 % with a.",
    );
    expect(of("stalls", 0, 3)).toBe("b raises the number of stalls to 3, from 0 with a.");
    expect(of("qoe_linear", 2, -1)).toBe(
      "b lowers the quality of experience to −1, from 2 with a.",
    );
  });

  it("says of a metric of which less is better how many times the baseline's value it is", () => {
    const sent = (bytes_sent: number): Partial<Flow>[] => [{ bytes_sent }];
    const r = report([
      ["a", "1 %", sent(1000)],
      ["b", "1 %", sent(2000)],
      ["a", "2 %", sent(1000)],
      ["b", "2 %", sent(4000)],
    ]);
    expect(answer(r, "bytes_sent")!.more).toContain(
      "Over 2 points, b is 2.00 to 4.00 times that of a.",
    );
  });

  it("says of a score how its difference changes over a sweep", () => {
    const call = (mos: number): Partial<Flow>[] => [{ mos } as object];
    const r = report([
      ["a", "1 %", call(1)],
      ["b", "1 %", call(3.5)],
      ["a", "2 %", call(1)],
      ["b", "2 %", call(2)],
      ["a", "3 %", call(1)],
      ["b", "3 %", call(1.5)],
    ]);
    expect(answer(r, "mos")!.more).toEqual([
      "The gain shrinks with the loss: +1 at 2\u00a0%, +0.500 at 3\u00a0%.",
    ]);
  });

  it("says what the others got, and why", () => {
    const parts = (slow_start_s: number, handshake_s: number) => ({ slow_start_s, handshake_s });
    const explained = (variant: string, completion_s: number, p: Record<string, number>) => ({
      ...{ variant, completion_s, parts: p, point: {}, flow: "main", visit: 1, runs: 1 },
      ...{ text: "", compared: null },
    });
    const r = report(
      [
        ["a", "", took(6)],
        ["b", "", took(2)],
      ],
      { explanations: [explained("a", 6, parts(5, 1)), explained("b", 2, parts(1.5, 0.5))] },
    );
    expect(answer(r)!.more[0]!.replaceAll("\u00a0", " ")).toBe(
      "Of the 4.00 s saved, 3.50 s is slow start and 0.500 s is the handshake.",
    );
    r.explanations![1]!.parts = { slow_start_s: 0.5, pacing_s: 1.5 };
    expect(answer(r)!.more[0]!.replaceAll("\u00a0", " ")).toBe(
      "With b, 4.50 s less goes to slow start and 1.00 s less to the handshake, " +
        "but 1.50 s more to pacing.",
    );
  });

  it("says what the time of a page was spent on, if that makes up half of the difference", () => {
    const explained = (variant: string, parts: Record<string, number>) => ({
      ...{ variant, completion_s: 10, parts, point: {}, flow: "main", visit: 1, runs: 1 },
      ...{ text: "", compared: null },
    });
    const loaded = (onload_s: number): Partial<Flow>[] => [{ onload_s } as object];
    const r = report(
      [
        ["h1", "", loaded(9)],
        ["h3", "", loaded(5)],
      ],
      {
        explanations: [
          explained("h1", { request_s: 4.5, slow_start_s: 2.5 }),
          explained("h3", { request_s: 1.5, slow_start_s: 2 }),
        ],
      },
    );
    const why = (): string => answer(r, "onload_s")!.more[0]!.replaceAll("\u00a0", " ");
    expect(why()).toBe("Round trips of requests: 4.50 s of 10.0 s with h1, 1.50 s with h3.");
    r.explanations![1]!.parts.request_s = 2.6;
    expect(why()).toBe("Slow start: 2.50 s of 10.0 s with h1, 2.00 s with h3.");
    // Where the parts add up to the time of the page, they are what was saved.
    r.explanations!.forEach((e, i) => {
      e.completion_s = [9, 5][i]!;
    });
    expect(why()).toBe(
      "Of the 4.00 s saved, 1.90 s is round trips of requests and 0.500 s is slow start.",
    );
    expect(said(r, "onload_s")).toMatch(/^h3 lowers the page load time by 44.4 %/);
  });

  it("says at which points a variant fails", () => {
    const never: Partial<Flow>[] = [{ completion_s: null, completed: false, error: "reset" }];
    const r = report([
      ["tcp", "1 %", never],
      ["quic", "1 %", took(2)],
      ["tcp", "2 %", never],
      ["quic", "2 %", took(3)],
    ]);
    expect(answer(r)!.more).toEqual(["tcp fails at every point."]);
    const some = {
      ...r,
      runs: r.runs.map((run, i) =>
        i === 2
          ? { ...run, flows: run.flows.map((f) => ({ ...f, completed: true, completion_s: 3 })) }
          : run,
      ),
    };
    expect(answer(some as Report)!.more).toEqual(["tcp fails at 1 of 2 points."]);
  });

  it("says what a score is made up of, where that differs", () => {
    const video = (mean_bitrate_kbps: number, qoe_linear: number): Partial<Flow>[] => [
      { qoe_linear, mean_bitrate_kbps, stall_s: 0 } as object,
    ];
    const r = report([
      ["a", "", video(1200, 75)],
      ["b", "", video(3400, 105)],
    ]);
    expect(answer(r, "qoe_linear")!.more.map((t) => t.replaceAll("\u00a0", " "))).toEqual([
      "The mean bitrate is 1.20 Mbps with a, 3.40 Mbps with b.",
    ]);
  });

  it("says in which direction all points differ, once", () => {
    const r = report([
      ["a", "1 %", took(10)],
      ["b", "1 %", took(11)],
      ["a", "2 %", took(10)],
      ["b", "2 %", took(12)],
      ["a", "3 %", took(10)],
      ["b", "3 %", took(15)],
    ]);
    expect(said(r)).toContain("1.50 times as long");
    expect(answer(r)!.more).toEqual([
      "The slowdown grows with the loss: 1.10× at 1\u00a0%, 1.20× at 2\u00a0%.",
    ]);
    const words = report(
      r.runs.map(({ variant, point, flows }) => [variant, `x${point["path.loss"]!}`, flows]),
    );
    expect(answer(words)!.more).toEqual(["Over 3 points, b takes 1.10 to 1.50 times as long."]);
  });

  it("does not repeat the ends of a single variant's points", () => {
    const r = report([
      ["a", "1 %", took(1)],
      ["a", "2 %", took(2)],
      ["a", "3 %", took(4)],
    ]);
    expect(said(r)).toContain("4.00 s instead of 1.00 s");
    expect(answer(r)!.more).toEqual([]);
  });

  it("is about the first visit that differs, if the first one does not", () => {
    const visits = (second: number): Partial<Flow>[] => [
      { visit: 1, completion_s: 4 },
      { visit: 2, completion_s: second },
    ];
    const of = (second: number): number | undefined =>
      usualFlow(
        report([
          ["a", "", visits(2)],
          ["b", "", visits(second)],
        ]),
      )?.place;
    expect(of(4)).toBe(2);
    expect(of(2)).toBe(1);
  });

  it("has nothing to say of a metric that no run has", () => {
    expect(answer(report([["a", "", took(1)]]), "stall_s")).toBeNull();
  });
});

describe("what is transferred", () => {
  it("has its size and its article", () => {
    const of = (given: Partial<Flow>): string => taskOf(flowWith(given)).replaceAll("\u00a0", " ");
    expect(of({ bytes: 8e6 })).toBe("an 8 MB download");
    expect(of({ bytes: 11e6, direction: "upload" })).toBe("an 11 MB upload");
    expect(of({ bytes: 110e6 })).toBe("a 110 MB download");
    expect(of({ workload: "external" })).toBe("the transfer");
    expect(taskOf(undefined)).toBe("the transfer");
  });
});

describe("published figures", () => {
  const figure = (variant: string) => ({
    ...{ metric: "completion_s", kind: "objective" as const, label: "goal", source: "paper" },
    ...{ value: 3, point: {}, variant },
  });
  it("are counted as met, by variant", () => {
    const r = report(
      [
        ["a", "", took(6)],
        ["b", "", took(2)],
      ],
      { published: [figure("a"), figure("b")] },
    );
    expect(publishedOf(r).map((b) => [b.variant, b.met])).toEqual([
      ["a", false],
      ["b", true],
    ]);
    expect(publishedWords(publishedOf(r))).toBe("1 of 2");
    expect(publishedSentence(r)).toBe("b meets every published objective; a meets none.");
  });
  it("that were measured are beside ours as a ratio", () => {
    const r = report([["a", "", took(6)]], {
      published: [{ ...figure("a"), kind: "measured" as const }],
    });
    expect(publishedWords(publishedOf(r))).toBe("2.0");
  });
  it("are counted alone if they are of scores, which have no ratio", () => {
    const r = report([["a", "", took(6)]], {
      published: [{ ...figure("a"), kind: "measured" as const, metric: "mos" }],
      derived: [{ flow: "main", visit: 1, metric: "mos", values: [4] }],
    });
    expect(publishedOf(r)).toHaveLength(1);
    expect(publishedOf(r).some(isRatio)).toBe(false);
    expect(publishedWords(publishedOf(r))).toBe("1 value");
  });
});

describe("the runs beside each other", () => {
  const trace = (variant: string): Report["traces"][number] => ({
    ...{ variant, point: {}, run: 0, flows: [], links: [] },
  });
  const r = report(
    [
      ["slow", "", took(4)],
      ["alike", "", took(4.01)],
      ["fast", "", took(1)],
    ],
    { traces: ["slow", "alike", "fast"].map(trace) },
  );
  const state = { flow: "", baseline: "", point: "" } as State;

  it("are those that the answer compares, also if a link names a metric that no run has", () => {
    for (const metric of ["completion_s", "", "mos", "no such metric"])
      expect(pairOf(r, { ...state, metric })).toEqual({
        ...{ run: 0, versus: 2, names: ["slow", "fast"] },
      });
  });
  it("are none without series of both", () => {
    const alone = { ...r, traces: [trace("slow")] };
    expect(pairOf(alone, { ...state, metric: "completion_s" })).toBeNull();
  });
});

describe("what differs", () => {
  it("is what the scenario sets, without what all have alike", () => {
    const r = report(
      [
        ["a", "", took(1)],
        ["b", "", took(1)],
      ],
      {
        variant_keys: [
          { congestion: "cubic", ack: "1:2", "quic.pacing": "true" },
          { congestion: "cubic", ack: "auto", "flow.x.preset": "rfc", handshake: "0rtt" },
        ],
      },
    );
    expect(differences(r)).toEqual(["ACK 1:2, pacing", "ACK auto, x: preset rfc, 0-RTT"]);
  });
  it("is what the settings say if the keys are unknown", () => {
    const settings = (name: string, slow_start: string) => ({
      name,
      flows: [
        {
          ...{ flows: ["main"], transport: "quic", congestion: "cubic", slow_start },
          ...{ ack: null, handshake: null, resume: null, preset: null },
        },
      ],
    });
    const r = report(
      [
        ["a", "", took(1)],
        ["b", "", took(1)],
      ],
      {
        variant_settings: [settings("a", "standard"), settings("b", "auto")],
      },
    );
    expect(differences(r)).toEqual(["slow start standard", "slow start auto"]);
  });
});

describe("swept values in words", () => {
  it("have no syntax", () => {
    expect(valueWords('{ fca = true, rbdc = "2 Mbps" }')).toBe("FCA, RBDC 2 Mbps");
    expect(valueWords('{ aqm = "codel", target = "50 ms" }')).toBe("codel, target 50 ms");
    expect(valueWords("2 Mbps")).toBe("2 Mbps");
  });
});

describe("the figures of the first screen", () => {
  it("have axes from zero that hold every value", () => {
    expect(axisEnd([3, 5])).toBeGreaterThan(5);
    expect(axisEnd([])).toBe(1);
  });
  it("label lines apart from each other, within the plot", () => {
    const at = spread([50, 51, 52, 200], 0, 200, 14);
    const sorted = [...at].sort((a, b) => a - b);
    for (let i = 1; i < sorted.length; i++)
      expect(sorted[i]! - sorted[i - 1]!).toBeGreaterThanOrEqual(14);
    expect(Math.max(...at)).toBeLessThanOrEqual(200);
  });
});

it("lines that stand out are those where the page is, or at the end", () => {
  const lines = Array.from({ length: 12 }, (_, index) => ({
    ...{ name: `v${index}`, index, words: [] },
    values: [index, 12 - index],
  }));
  const names = (shown: number): string[] => outstanding(lines, shown).map((l) => l.name);
  expect(names(0)).toEqual(["v0", "v1", "v8", "v9", "v10", "v11"]);
  expect(names(-1)).toEqual(["v0", "v1", "v2", "v3", "v10", "v11"]);
});
