import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { intervalOf, intervalOfValues, intervalWords } from "../src/data/interval.ts";
import type { Summary } from "../src/data/report.types.ts";

interface Case {
  values: number[];
  interval: [number, number, string] | null;
}

/** What the figures of all languages have; the tests of the results and of Python read it, too. */
const CASES = JSON.parse(
  readFileSync(
    new URL("../../crates/results/tests/intervals.json", import.meta.url).pathname,
    "utf8",
  ),
) as Case[];

describe("the interval of a figure", () => {
  it("is that of all languages", () => {
    for (const { values, interval } of CASES) {
      const sorted = [...values].sort((a, b) => a - b);
      const found = intervalOfValues(sorted);
      expect(found && [found.low, found.high, found.words]).toEqual(interval);
    }
    expect(CASES.length).toBeGreaterThan(8);
  });

  it("is the summary's if there is one", () => {
    const summary = { ci95_low: 2, ci95_high: 3 } as Summary;
    expect(intervalOf(summary, [])).toMatchObject({ low: 2, high: 3 });
    const none = { ci95_low: null, ci95_high: null } as Summary;
    expect(intervalOf(none, [1, 2])).toMatchObject({ low: 1, high: 2 });
    expect(intervalOf(none, [2, 2, 2, 2, 2, 2])).toBeNull();
  });

  it("has words for captions", () => {
    const [few, many] = [intervalOfValues([1, 2, 3]), intervalOfValues([1, 2, 3, 4, 5, 6])];
    expect(intervalWords([many, null])).toBe("95 % confidence intervals of the medians");
    expect(intervalWords([many, few])).toContain("; of fewer than six runs, the smallest");
    expect(intervalWords([null])).toBe("");
  });
});
