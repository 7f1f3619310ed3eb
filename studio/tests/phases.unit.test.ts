import { describe, expect, it } from "vitest";
import {
  bandsIn,
  CAREFUL,
  kindOf,
  kindsIn,
  type Phases,
  phaseAt,
  phasesOf,
  shortName,
} from "../src/data/phases.ts";
import { contrast, phaseColour } from "../src/format/palette.ts";
import { blend, distance, VISIONS } from "./vision.ts";

const entries = (...list: [number, string][]): { t_s: number; label: string }[] =>
  list.map(([t_s, label]) => ({ t_s, label }));
const made = (end: number, ...list: [number, string][]): Phases => phasesOf(entries(...list), end)!;
const brief = (p: Phases, x0: number, x1: number, width: number): (string | number)[][] =>
  bandsIn(p, x0, x1, width).map((b) => [b.from, b.to, b.name]);

describe("phases of a trace", () => {
  it("are put in order, and neighbours of one name are one", () => {
    const p = made(9, [2, "recovery"], [0, "slow start"], [3, "recovery"], [5, "slow start"]);
    expect([...p.t]).toEqual([0, 2, 5]);
    expect(p.names).toEqual(["slow start", "recovery", "slow start"]);
  });
  it("that took no time are left out, even between two of the same name", () => {
    const p = made(
      9,
      [0, "slow start"],
      [1, "recovery"],
      [1, "slow start"],
      [4, "unvalidated"],
      [4, "validating"],
    );
    expect([...p.t]).toEqual([0, 4]);
    expect(p.names).toEqual(["slow start", "validating"]);
  });
  it("last until the trace ends, or begin after it", () => {
    expect(made(9, [1, "startup"]).end).toBe(9);
    expect(made(9, [1, "startup"], [12, "drain"]).end).toBe(12);
    expect(phasesOf([], 9)).toBeNull();
  });
  it("are known by name, and unknown ones too", () => {
    expect(
      [
        "unvalidated",
        "recovery",
        "probe bw: down",
        "probe bw: up",
        "hystart: css",
        "toString",
        "",
      ].map(kindOf),
    ).toEqual(["unvalidated", "backing off", "backing off", "other", "other", "other", "other"]);
    expect(["probe bw: cruise", "recovery", ""].map(shortName)).toEqual(["cruise", "recovery", ""]);
    expect(
      kindsIn(made(9, [0, "x"], [1, "validating"], [2, "drain"], [3, "reconnaissance"])),
    ).toEqual(["reconnaissance", "validating", "backing off", "other"]);
  });
});

describe("the phase at a time", () => {
  const p = made(9, [1, "a"], [2, "b"], [4, "c"]);
  it("holds from its instant until the next, and the last one to the end", () => {
    expect([1, 1.9, 2, 3.9, 4, 9].map((t) => phaseAt(p, t))).toEqual([
      "a",
      "a",
      "b",
      "b",
      "c",
      "c",
    ]);
  });
  it("is none before the first and after the end", () => {
    expect([0.9, -5, 9.1].map((t) => phaseAt(p, t))).toEqual(["", "", ""]);
  });
});

describe("bands", () => {
  const p = made(9, [1, "a"], [2, "b"], [4, "c"]);
  it("cover the window from the first phase to the end", () => {
    expect(brief(p, 0, 10, 100)).toEqual([
      [10, 20, "a"],
      [20, 40, "b"],
      [40, 90, "c"],
    ]);
  });
  it("are cut at the window", () => {
    expect(brief(p, 3, 5, 100)).toEqual([
      [0, 50, "b"],
      [50, 100, "c"],
    ]);
    expect(brief(p, 5, 6, 100)).toEqual([[0, 100, "c"]]);
    expect(brief(p, 2, 4, 100)).toEqual([[0, 100, "b"]]);
    expect(brief(p, 8.5, 9.5, 100)).toEqual([[0, 50, "c"]]);
  });
  it("are none outside the phases, or in no window", () => {
    for (const [a, b] of [
      [-3, 0.5],
      [9.5, 20],
      [3, 3],
    ] as const)
      expect(brief(p, a, b, 100)).toEqual([]);
  });
  it("below a pixel are merged under what their names have in common", () => {
    const cycle = ["probe bw: down", "probe bw: cruise", "probe bw: up"];
    const fast = phasesOf(
      Array.from({ length: 3000 }, (_, i) => ({ t_s: i / 100, label: cycle[i % 3]! })),
      30,
    )!;
    expect(bandsIn(fast, 0, 30, 100)).toEqual([
      { from: 0, to: 100, name: "probe bw", kind: "other", merged: true },
    ]);
    const mixed = phasesOf(
      Array.from({ length: 3000 }, (_, i) => ({
        t_s: i / 100,
        label: i % 2 ? "recovery" : "slow start",
      })),
      30,
    )!;
    expect(bandsIn(mixed, 0, 30, 100).map((b) => [b.name, b.merged])).toEqual([["", true]]);
    expect(bandsIn(mixed, 0, 1, 100)).toHaveLength(100);
  });
  it("keep a long phase apart from the short ones before it", () => {
    const q = made(20, [0, "startup"], [5, "x: 1"], [5.01, "x: 2"], [5.02, "congestion avoidance"]);
    const names = bandsIn(q, 0, 20, 100).map((b) => b.name);
    expect(names).toEqual(["startup", "x", "congestion avoidance"]);
  });
  it("show a phase of Careful Resume however short it is", () => {
    const q = made(
      1000,
      [0, "slow start"],
      [500, "recovery"],
      [500.001, "unvalidated"],
      [500.002, "slow start"],
      [500.003, "recovery"],
      [500.004, "slow start"],
    );
    const band = bandsIn(q, 0, 1000, 100).find((b) => b.kind === "unvalidated");
    expect(band?.from).toBe(50);
    const single = made(
      1000,
      [0, "slow start"],
      [500, "unvalidated"],
      [500.1, "congestion avoidance"],
    );
    expect(bandsIn(single, 0, 1000, 100).map((b) => b.name)).toEqual([
      "slow start",
      "unvalidated",
      "congestion avoidance",
    ]);
  });
  it("join without gap or overlap, no more than two to a pixel, whatever the window", () => {
    let t = 0;
    let seed = 1;
    const draw = (): number => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const labels = ["a: x", "a: y", "b", "recovery", "validating"];
    const list = Array.from({ length: 10_000 }, () => {
      t += draw() ** 6;
      return { t_s: t, label: labels[Math.floor(draw() * 5)]! };
    });
    const q = phasesOf(list, t + 1)!;
    for (let k = 0; k < 300; k++) {
      const x0 = draw() * t;
      const x1 = x0 + draw() ** 4 * t;
      const bands = bandsIn(q, x0, x1, 500);
      expect(bands.length).toBeLessThanOrEqual(1000);
      const wrong = bands.filter((b, i) => {
        const middle = x0 + ((b.from + b.to) / 2 / 500) * (x1 - x0);
        return (
          !(b.to > b.from) ||
          (i > 0 && b.from !== bands[i - 1]!.to) ||
          (!b.merged && phaseAt(q, middle) !== b.name)
        );
      });
      expect(wrong).toEqual([]);
      if (x0 >= q.t[0]!) expect(bands[0]!.from).toBe(0);
    }
  });
});

describe("colours of phases", () => {
  for (const [dark, card, ink] of [
    [false, "#ffffff", "#15191f"],
    [true, "#161b22", "#f2f5f8"],
  ] as const) {
    const theme = dark ? "dark" : "light";
    const kinds = [...CAREFUL, "backing off" as const, "other" as const];
    it(`can be written on in ${theme}`, () => {
      for (const k of kinds)
        expect(contrast(phaseColour(k, dark).head, ink), k).toBeGreaterThanOrEqual(4.5);
    });
    for (const vision of Object.keys(VISIONS)) {
      it(`stay apart in ${theme} for ${vision} vision`, () => {
        const heads = kinds.map((k) => phaseColour(k, dark).head);
        const tints = kinds.map((k) =>
          blend(phaseColour(k, dark).head, card, phaseColour(k, dark).body),
        );
        for (let i = 0; i < CAREFUL.length; i++) {
          for (let j = i + 1; j < kinds.length; j++) {
            // A difference of about 2.3 is just visible; strips touch each other and have names.
            expect(
              distance(heads[i]!, heads[j]!, vision),
              `${kinds[i]}, ${kinds[j]}`,
            ).toBeGreaterThan(15);
            expect(
              distance(tints[i]!, tints[j]!, vision),
              `tints of ${kinds[i]}, ${kinds[j]}`,
            ).toBeGreaterThan(4);
          }
        }
      });
    }
  }
});
