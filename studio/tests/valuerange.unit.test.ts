import { expect, it } from "vitest";
import type { PanelSpec } from "../src/charts/time/spec.ts";
import { valueRange } from "../src/charts/time/value-range.ts";
import { pyramid } from "../src/data/pyramid.ts";

/** The range for an RTT with these values, a second apart. */
function range(values: number[]): [number, number] {
  const t = Float64Array.from(values, (_, i) => i);
  const data = pyramid({ t, v: Float32Array.from(values) });
  const layer = { name: "rtt", title: "", data, style: "dots", colour: () => "", shown: true };
  const spec = { zero: false, layers: [layer], references: [] } as unknown as PanelSpec;
  return valueRange(spec, 0, values.length);
}

it("shows what hardly changes as level, and a change as one", () => {
  const [low, high] = range([240.096, 240.105, 240.098]);
  expect(high - low).toBeGreaterThan(0.02 * 240);
  expect(low).toBeLessThan(240.096);
  const [from, to] = range([240, 300, 250]);
  expect(from).toBeCloseTo(240 - 0.06 * 60);
  expect(to).toBeCloseTo(300 + 0.06 * 60);
  // A single value lies in the middle.
  const [below, above] = range([240]);
  expect(above - 240).toBeCloseTo(240 - below);
});
