import { describe, expect, it } from "vitest";
import { EXPERIENCES, experiencesOf, slowdownsOf } from "../src/data/populations.ts";
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

describe("slowdowns", () => {
  const of = (share: number | undefined): number => {
    const per_user = { bytes: [5e6, 5e6], slowdown: [4, 5] };
    const group = { name: "group", visit: 1, per_user, link_share_percent: share };
    return slowdownsOf([{ populations: [group] } as unknown as Run], "group", 1).length;
  };
  it("are of users who transfer a size, not of a group that lasts for a set time", () => {
    expect(of(undefined)).toBe(2);
    expect(of(80)).toBe(0);
  });
});
