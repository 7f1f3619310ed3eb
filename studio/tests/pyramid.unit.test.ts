import { describe, expect, it } from "vitest";
import type { Series } from "../src/data/blob.ts";
import {
  type Column,
  eachColumn,
  eachDot,
  extremes,
  gallop,
  lowerBound,
  pyramid,
  sampleAt,
  windowOf,
} from "../src/data/pyramid.ts";
import { random } from "./flowmodel.ts";

function noise(n: number, seed = 1): Series {
  const draw = random(seed);
  const t = new Float64Array(n);
  const v = new Float32Array(n);
  for (let i = 0, x = 0; i < n; i++) {
    x += draw();
    t[i] = x;
    v[i] = draw() * 1000 - 500;
  }
  return { t, v };
}

describe("searching", () => {
  const t = Float64Array.from([1, 2, 2, 2, 5, 9]);
  it("finds the first index not before a time", () => {
    expect([0, 1, 2, 3, 5, 9, 10].map((x) => lowerBound(t, x))).toEqual([0, 0, 1, 4, 4, 5, 6]);
  });
  it("gallops to the same answers", () => {
    const s = noise(5000);
    let from = 0;
    for (let x = -1; x < 2600; x += 0.37) {
      from = gallop(s.t, x, from);
      expect(from).toBe(lowerBound(s.t, x));
    }
  });
  it("gives the sample in force", () => {
    const s = { t, v: new Float32Array(6) };
    expect([0, 1, 1.5, 2, 4, 9, 99].map((x) => sampleAt(s, x))).toEqual([-1, 0, 0, 3, 3, 5, 5]);
  });
});

describe("extremes of a window", () => {
  for (const n of [0, 1, 7, 8, 9, 64, 65, 513, 5000]) {
    it(`agree with a scan for ${n} samples`, () => {
      const p = pyramid(noise(n));
      const draw = random(n);
      for (let k = 0; k < 300; k++) {
        const a = Math.floor(draw() * (n + 1));
        const b = a + Math.floor(draw() * (n + 1 - a));
        const part = [...p.v.subarray(a, b)];
        expect({ ...extremes(p, a, b) }).toEqual({
          min: Math.min(...part),
          max: Math.max(...part),
        });
      }
    });
  }
  it("skip NaN", () => {
    const p = pyramid({
      t: Float64Array.from({ length: 20 }, (_, i) => i),
      v: Float32Array.from({ length: 20 }, (_, i) => (i % 2 ? NaN : i)),
    });
    expect({ ...extremes(p, 1, 20) }).toEqual({ min: 2, max: 18 });
    expect({ ...extremes(p, 3, 4) }).toEqual({ min: Infinity, max: -Infinity });
  });
});

describe("windows", () => {
  const s = { t: Float64Array.from([0, 1, 2, 2, 3, 4]), v: new Float32Array(6) };
  it("take one neighbour at each side", () => {
    expect(windowOf(s, 1.5, 2.5)).toEqual([1, 5]);
    expect(windowOf(s, 2, 3)).toEqual([1, 6]);
    expect(windowOf(s, -5, 50)).toEqual([0, 6]);
    expect(windowOf(s, 7, 8)).toEqual([5, 6]);
    expect(windowOf(s, -8, -7)).toEqual([0, 1]);
  });
});

describe("columns", () => {
  const collect = (
    s: Series,
    x0: number,
    x1: number,
    width: number,
  ): (Column & { at: number })[] => {
    const out: (Column & { at: number })[] = [];
    eachColumn(pyramid(s), x0, x1, width, (at, c) => out.push({ at, ...c }));
    return out;
  };
  it("hold first, last and both extremes of every pixel", () => {
    const s = noise(40_000, 5);
    const [x0, x1, width] = [1000, 15_000, 200];
    const columns = collect(s, x0, x1, width);
    expect(columns.map((c) => c.at)).toEqual(Array.from({ length: width + 2 }, (_, i) => i - 1));
    for (const c of columns.slice(1, -1)) {
      const a = lowerBound(s.t, x0 + ((x1 - x0) * c.at) / width);
      const b = lowerBound(s.t, x0 + ((x1 - x0) * (c.at + 1)) / width);
      const raw = [...s.v.subarray(a, b)];
      expect(c).toMatchObject({
        first: raw[0],
        last: raw.at(-1),
        min: Math.min(...raw),
        max: Math.max(...raw),
      });
    }
    expect(columns[0]!.first).toBe(s.v[lowerBound(s.t, x0) - 1]);
    expect(columns.at(-1)!.first).toBe(s.v[lowerBound(s.t, x1)]);
  });
  it("that are empty are left out, and no sample is lost", () => {
    const s = {
      t: Float64Array.from([0, 0.1, 5, 5.01, 10]),
      v: Float32Array.from([1, 2, 3, 4, 5]),
    };
    expect(collect(s, 0, 10, 10)).toEqual([
      { at: 0, first: 1, min: 1, max: 2, last: 2 },
      { at: 5, first: 3, min: 3, max: 4, last: 4 },
      { at: 9, first: 5, min: 5, max: 5, last: 5 },
    ]);
    const sparse = noise(300, 9);
    for (const [x0, x1, width] of [
      [0, 160, 1000],
      [3, 90, 77],
      [20, 21, 640],
    ] as const) {
      const inside = [...sparse.t].filter((t) => t >= x0 && t <= x1).length;
      const seen = collect(sparse, x0, x1, width).filter((c) => c.at >= 0 && c.at < width);
      const low = Math.min(...seen.map((c) => c.min));
      expect(seen.length).toBeLessThanOrEqual(inside);
      if (inside)
        expect(low).toBe(
          Math.min(...[...sparse.v].filter((_, i) => sparse.t[i]! >= x0 && sparse.t[i]! <= x1)),
        );
    }
  });
  it("show a lone spike among a million samples", () => {
    const t = Float64Array.from({ length: 1_000_000 }, (_, i) => i);
    const v = new Float32Array(1_000_000);
    v[654_321] = 7;
    const high = collect({ t, v }, 0, 1e6, 800).filter((c) => c.max === 7);
    expect(high.map((c) => c.at)).toEqual([Math.floor(654_321 / 1250)]);
  });
  it("pass over gaps and survive nothing to draw", () => {
    const s = { t: Float64Array.from([0, 1, 2]), v: Float32Array.from([NaN, NaN, 4]) };
    expect(collect(s, 0, 2, 2)).toEqual([{ at: 1, first: 4, min: 4, max: 4, last: 4 }]);
    expect(collect({ t: new Float64Array(), v: new Float32Array() }, 0, 1, 10)).toEqual([]);
    expect(collect(noise(10), 5, 5, 10)).toEqual([]);
  });
});

describe("dots", () => {
  const window = { x0: 0, x1: 1000, y0: 0, y1: 1000, width: 500, height: 300 };
  it("are all there when they are few, and none outside", () => {
    const s = {
      t: Float64Array.from([-5, 0, 10, 500, 1000, 1001]),
      v: Float32Array.from([1, 1, 2000, 500, 1000, 1]),
    };
    const out: number[] = [];
    expect(eachDot(pyramid(s), window, 1, 100, (t) => out.push(t))).toBe(true);
    expect(out).toEqual([0, 500, 1000]);
  });
  it("keep a retransmission far below the rest", () => {
    const t = Float64Array.from({ length: 100_000 }, (_, i) => i / 100);
    const v = Float32Array.from(t);
    v[50_000] = 3;
    const out: [number, number][] = [];
    expect(eachDot(pyramid({ t, v }), window, 1, 20_000, (a, b) => out.push([a, b]))).toBe(true);
    expect(out.length).toBeLessThan(4000);
    expect(out.some(([a, b]) => Math.abs(a - 500) < 2 && b < 6)).toBe(true);
    // Nothing is invented: every dot lies within a pixel of a sample.
    for (const [a, b] of out) expect(b < 6 || Math.abs(a - b) < 4).toBe(true);
  });
  it("tell when they are too many", () => {
    const t = Float64Array.from({ length: 50_000 }, (_, i) => i / 50);
    const draw = random(2);
    const v = Float32Array.from(t, () => draw() * 1000);
    let n = 0;
    expect(eachDot(pyramid({ t, v }), window, 1, 1000, () => n++)).toBe(false);
    expect(n).toBeLessThanOrEqual(1001);
  });
});
