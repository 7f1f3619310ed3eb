import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { answerOf } from "../src/answer/index.ts";
import { flowKey, flowsOf } from "../src/data/flows.ts";
import { metricOf } from "../src/data/metrics.ts";
import { usualMetric } from "../src/data/offered.ts";
import { pointKey, pointsOf } from "../src/data/points.ts";
import { isSizeClass } from "../src/data/populations.ts";
import { readReport } from "../src/data/read.ts";
import type { Report } from "../src/data/report.types.ts";
import { faultsOf } from "./sentencecheck.ts";

const atlas = fileURLToPath(new URL("../../atlas", import.meta.url));

/** The results of the repository, as bare documents. */
function committed(): [string, Report][] {
  const files = readdirSync(atlas, { recursive: true, encoding: "utf8" });
  return files
    .filter((f) => f.endsWith(".json"))
    .sort()
    .flatMap((file): [string, Report][] => {
      const found = JSON.parse(readFileSync(join(atlas, file), "utf8"));
      // Measurements of programs have no rows of metrics.
      if (!found.rows?.[0]?.metric) return [];
      const { seed = 1, version = "", rows, expectations = [] } = found;
      const bare = { scenario: file, seed, version, clock: "virtual", expectations, runs: [] };
      return [[file, readReport({ ...bare, summary: rows })]];
    });
}

/** Reports that the command wrote: `BENTPIPE_REPORTS` has their paths, apart by colons. */
function written(): [string, Report][] {
  const paths = (env.BENTPIPE_REPORTS ?? "").split(":").filter(Boolean);
  return paths.map((path) => {
    const html = readFileSync(path, "utf8");
    const json = /id="bentpipe-report">([\s\S]*?)<\/script>/.exec(html)![1]!;
    return [path, readReport(JSON.parse(json))];
  });
}

/** The faults of all answers of a report: of each flow, at the first point and at each. */
function faults(report: Report): { faults: string[]; answers: number } {
  const flows = flowsOf(report).filter((f) => !isSizeClass(f.name));
  const all = flows.flatMap((flow) => {
    const metric = metricOf(usualMetric(report, flow));
    return ["", ...pointsOf(report).map(pointKey)].flatMap(
      (point) => answerOf(report, metric, flowKey(flow), { baseline: "", point }) ?? [],
    );
  });
  return { faults: all.flatMap(faultsOf), answers: all.length };
}

describe("the sentences of answers have the numbers of the results", () => {
  for (const [name, report] of committed()) {
    it(`in atlas/${name}`, () => {
      const found = faults(report);
      expect(found.answers).toBeGreaterThan(0);
      expect(found.faults).toEqual([]);
    });
  }
  for (const [name, report] of written()) {
    it(`in ${name}`, () => {
      const found = faults(report);
      expect(found.answers).toBeGreaterThan(0);
      expect(found.faults).toEqual([]);
    });
  }
  it("and a wrong number is found", () => {
    const [, report] = committed().find(([name]) => name.includes("cnes-start"))!;
    const flow = flowsOf(report)[0]!;
    const metric = metricOf(usualMetric(report, flow));
    const answer = answerOf(report, metric, flowKey(flow), { baseline: "", point: "" })!;
    expect(faultsOf(answer)).toEqual([]);
    const wrong = answer.sentence.map((piece) =>
      typeof piece === "string" ? piece : { ...piece, strong: piece.strong.replace(/\d/, "9") },
    );
    expect(faultsOf({ ...answer, sentence: wrong })).not.toEqual([]);
    const more = ["Over 6 points, 0rtt-careful is 1.00 to 9.99 times as fast."];
    expect(faultsOf({ ...answer, more })).not.toEqual([]);
  });
});
