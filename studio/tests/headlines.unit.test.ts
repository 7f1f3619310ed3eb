import { describe, expect, it } from "vitest";
import { answerOf, usualFlow } from "../src/answer/index.ts";
import { flowKey } from "../src/data/flows.ts";
import { groupsAt } from "../src/data/groups.ts";
import { metricOf } from "../src/data/metrics.ts";
import { flowFor, mainRows, metricAfter, metricsOf, usualMetric } from "../src/data/offered.ts";
import { startsOf } from "../src/data/start-times.ts";
import { reverseFacts } from "../src/sections/reverse-facts.ts";
import { flowWith, reportWith } from "./base.ts";

const flow = (name: string) => flowWith({ name, completion_s: 300, goodput_mbps: 2 });

/** A report with one run of a long flow, a stream of datagrams and a download. */
const mixed = (headline: string | null = null) =>
  reportWith({
    headline,
    headlines: [
      { flow: "long", visit: 1, metric: "goodput_mbps" },
      { flow: "call", visit: 1, metric: "lost_percent" },
      { flow: "file", visit: 1, metric: "completion_s" },
    ],
    variants: ["a"],
    runs: [
      {
        ...{ variant: "a", point: {}, run: 0, links: [], fairness: null },
        flows: ["long", "call", "file"].map((name) => ({ ...flow(name), packets_sent: 9 })),
      },
    ],
  });

describe("the metric that a report opens with", () => {
  const of = (name: string, headline: string | null = null): string =>
    usualMetric(mixed(headline), { name, place: 1 });
  it("is that of the flow's workload", () => {
    expect(of("long")).toBe("goodput_mbps");
    expect(of("file")).toBe("completion_s");
  });
  it("is the one that the scenario names, for every flow", () => {
    expect(of("long", "completion_s")).toBe("completion_s");
  });
  it("is the share of a group of flows without end", () => {
    const about = (link: number | null): string => {
      const medians = { mean_completion_s: 60, link_share_percent: link };
      const rows = Object.entries(medians).map(([metric, median]) => ({
        ...{ variant: "a", point: {}, flow: "group", visit: 1, metric, n: 1, median },
        ...{ p5: null, p95: null, mean: median, ci95_low: null, ci95_high: null },
      }));
      return usualMetric({ ...mixed(), summary: rows }, { name: "group", place: 1 });
    };
    expect(about(79)).toBe("link_share_percent");
    expect(about(null)).toBe("mean_completion_s");
  });
  it("is what the flow has if it lacks what the scenario names", () => {
    expect(of("long", "mos")).toBe("goodput_mbps");
    expect(of("long", "mean_completion_s")).toBe("goodput_mbps");
  });
  it("is offered first", () => {
    expect(metricsOf(mixed())[0]).toBe("goodput_mbps");
  });
});

describe("a group of flows beside a single one", () => {
  const alone = mixed("link_share_percent");
  const share = (variant: string, median: number) => ({
    ...{ variant, point: {}, flow: "group", visit: 1, metric: "link_share_percent", n: 1, median },
    ...{ p5: null, p95: null, mean: median, ci95_low: null, ci95_high: null },
  });
  const variants = ["a", "b"];
  const runs = variants.map((variant) => ({ ...alone.runs[0]!, variant }));
  const summary = [share("a", 80), share("b", 60)];
  const report = { ...alone, variants, runs, summary };
  const [long, group] = ["long", "group"].map((name) => flowKey({ name, place: 1 }));

  it("opens with the flow that has what the scenario is about, and answers", () => {
    const flow = usualFlow(report);
    expect(flow).toEqual({ name: "group", place: 1 });
    const metric = metricOf(usualMetric(report, flow));
    expect(metric.key).toBe("link_share_percent");
    const answer = answerOf(report, metric, flowKey(flow!), { baseline: "", point: "" });
    expect(answer?.comparison?.rows.map((row) => row.group.median)).toEqual([80, 60]);
  });
  it("shows each metric for a flow that has it, the reader's if it does", () => {
    expect(flowFor(report, "link_share_percent", long!).name).toBe("group");
    expect(flowFor(report, "goodput_mbps", group!).name).toBe("long");
    expect(flowFor(report, "goodput_mbps", flowKey({ name: "file", place: 1 })).name).toBe("file");
    expect(flowFor(report, "mos", long!).name).toBe("long");
  });
  it("is first among the medians of the studio, without size classes", () => {
    const one = { ...share("a", 9), flow: "long", metric: "completion_s" };
    const size = { ...share("a", 9), flow: "group/up-to-1-MB" };
    const rows = mainRows({ ...report, summary: [one, size, ...summary] }, ["completion_s"]);
    expect(rows.map((row) => `${row.flow} ${row.metric} ${row.median}`)).toEqual([
      "group link_share_percent 80",
      "group link_share_percent 60",
      "long completion_s 9",
    ]);
  });
  it("shows a flow that the reader chooses by what it has", () => {
    expect(metricAfter(report, "link_share_percent", group!, long!)).toBe("goodput_mbps");
    expect(metricAfter(report, "completion_s", long!, group!)).toBe("link_share_percent");
    expect(metricAfter(report, "completion_s", long!, flowKey({ name: "call", place: 1 }))).toBe(
      "completion_s",
    );
  });
  it("keeps a transfer that never completes", () => {
    const flows = [{ ...flow("long"), completion_s: null, completed: false }, flow("file")];
    const failing = { ...report, headline: null, runs: [{ ...runs[0]!, flows }] };
    expect(flowFor(failing, "completion_s", long!).name).toBe("long");
  });
});

describe("visits that begin at different times", () => {
  const report = mixed();
  const [run] = report.runs;
  report.runs = [0, 1].map((n) => ({
    ...run!,
    run: n,
    flows: run!.flows.map((f) => ({ ...f, start_s: 100 * n })),
  }));
  const starts = (path_changes: boolean): number => {
    const own = { ...report, path_changes };
    const groups = groupsAt(own, {}, { name: "file", place: 1 }, "completion_s");
    return startsOf(own, groups, "file").length;
  };
  it("are compared only if the path changes", () => {
    expect(starts(true)).toBe(2);
    expect(starts(false)).toBe(0);
  });
});

describe("reverse traffic in words", () => {
  it("is what a link is offered, not what it carries", () => {
    const of = (rate: number, share: number) => ({
      ...{ variant: "a", index: 0, runs: 1, parts: [], total: 1, dataPerAck: null },
      ...{ rate, share, overhead: null, sizes: [], sizesOf: "frames" as const },
    });
    expect(reverseFacts([of(10, 0.5)])[0]).toContain("offered to the link");
    expect(reverseFacts([of(10, 0.5)])[0]).not.toContain("exceeds");
    expect(reverseFacts([of(300, 10.89)])[0]).toContain("what exceeds it waits or is dropped");
  });
});
