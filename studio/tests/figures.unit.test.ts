import { describe, expect, it } from "vitest";
import { figureTable, latex, markdown } from "../src/data/figure-table.ts";
import { flowsOf } from "../src/data/flows.ts";
import { METRIC, metricOf } from "../src/data/metrics.ts";
import { pointsOf } from "../src/data/points.ts";
import { explained } from "./fixture.ts";
import { lossReport } from "./sweepfixture.ts";

describe("tables of figures", () => {
  const { report } = lossReport(["cubic", "a_b|50 %"], 3);
  const [flow] = flowsOf(report);
  const [point] = pointsOf(report);
  const table = figureTable(report, flow!, metricOf(METRIC.completion), [point!], false);

  it("have a line per variant and point, with the numbers of the summary", () => {
    const { median, ci95_low } = report.summary.find(
      (s) => s.variant === "cubic" && s.metric === METRIC.completion,
    )!;
    expect(table.rows).toHaveLength(2);
    expect(table.rows[0]!.slice(0, 6)).toEqual(["100 ms", "0 %", "cubic", 3, median, ci95_low]);
  });

  it("are Markdown and LaTeX with what is special escaped", () => {
    const text = markdown(table, "Losses.").split("\n");
    expect(text[0]).toMatch(/^\| path\.rtt \| .* \| n \| Completion time \(s\), median \|/);
    expect(text[1]).toMatch(/^\| --- \| --- \| --- \| ---: \| ---: \|/);
    expect(text[3]).toContain("a_b\\|50 %");
    expect(text.at(-2)).toBe("Losses.");
    const tex = latex(table, "100 % & more");
    expect(tex).toContain("\\caption{100 \\% \\& more}");
    expect(tex).toContain("a\\_b|50 \\%");
    expect(tex).toContain("\\begin{tabular}{lllrrrr}");
    expect(tex.match(/\\\\$/gm)).toHaveLength(3);
  });

  it("have the parts of the time of budgets", () => {
    const { report: own } = explained();
    const [first] = flowsOf(own);
    const of = figureTable(own, first!, metricOf(METRIC.completion), pointsOf(own), true);
    expect(of.heads.slice(-2)).toEqual(["Handshake (s)", "Slow start (s)"]);
    expect(of.rows.map((row) => row.slice(-2))).toEqual([
      [5, 3],
      [2.5, 1.5],
    ]);
  });
});
