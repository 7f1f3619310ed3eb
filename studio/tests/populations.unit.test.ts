import { describe, expect, it } from "vitest";
import { EXPERIENCES, experiencesOf } from "../src/data/populations.ts";
import type { Run } from "../src/data/report.types.ts";

const [MOS] = EXPERIENCES;

/** A run of a population whose calls have these scores. */
const run = (mos: (number | null)[]): Run =>
  ({ populations: [{ name: "talkers", visit: 1, per_user: { mos } }] }) as unknown as Run;

describe("what users have of a metric", () => {
  it("counts those without a value", () => {
    const runs = [run([3.5, null, 2]), run([null, 3])];
    expect(experiencesOf(runs, "talkers", 1, MOS)).toEqual({ values: [2, 3, 3.5], without: 2 });
  });

  it("has nobody of another population, visit or workload", () => {
    const nobody = { values: [], without: 0 };
    expect(experiencesOf([run([3])], "watchers", 1, MOS)).toEqual(nobody);
    expect(experiencesOf([run([3])], "talkers", 2, MOS)).toEqual(nobody);
    expect(experiencesOf([run([])], "talkers", 1, MOS)).toEqual(nobody);
  });
});
