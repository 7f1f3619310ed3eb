import { describe, expect, it } from "vitest";
import { atStep, quantity, STEPS, stepOf, written } from "../src/app/quantity.ts";
import { placeAt, ScenarioSchema } from "../src/app/schema.ts";

describe("quantities of sliders", () => {
  it("reads numbers with and without units, and nothing else", () => {
    expect(quantity("2 MB")).toEqual({ value: 2, unit: "MB" });
    expect(quantity("0.001")).toEqual({ value: 0.001, unit: "" });
    expect(quantity("1.5 BDP")).toEqual({ value: 1.5, unit: "BDP" });
    for (const text of ["", "geo-50-10", "[1, 2]", "1 2", "{ rate = 1 }"])
      expect(quantity(text), text).toBeNull();
  });

  it("goes from one end to the other in equal ratios", () => {
    const ends = { least: 0.5, most: 50 };
    expect(atStep(ends, 0)).toBeCloseTo(0.5);
    expect(atStep(ends, STEPS / 2)).toBeCloseTo(5);
    expect(atStep(ends, STEPS)).toBeCloseTo(50);
    for (let step = 0; step <= STEPS; step++) expect(stepOf(ends, atStep(ends, step))).toBe(step);
    expect(stepOf(ends, 0)).toBe(0);
    expect(stepOf(ends, 1e9)).toBe(STEPS);
  });

  it("writes three digits, or whole numbers", () => {
    expect(written({ value: 1.23456, unit: "MB" })).toBe("1.23 MB");
    expect(written({ value: 4.4, unit: "" }, true)).toBe("4");
    expect(written({ value: 0.2, unit: "" }, true)).toBe("1");
  });
});

describe("completion", () => {
  const place = (text: string): unknown => placeAt(text, text.length);

  it("finds the table and key of a cursor", () => {
    expect(place("na")).toEqual({ table: [], key: null });
    expect(place("[path]\nprofile = ")).toEqual({ table: ["path"], key: "profile" });
    expect(place("[[variant]]\nname = 'a'\ncon")).toEqual({ table: ["variant"], key: null });
    expect(place("[path]\nforward = { que")).toEqual({ table: ["path", "forward"], key: null });
    expect(place('[path]\nforward = { rate = "1 Mbps", queue = ')).toEqual({
      table: ["path", "forward"],
      key: "queue",
    });
    expect(place("[path]\nforward = { loss = 0.1 }\nrtt = ")).toEqual({
      table: ["path"],
      key: "rtt",
    });
    expect(place("path.forward.loss = ")).toEqual({ table: ["path", "forward"], key: "loss" });
    expect(place('title = "{ not a table"\nse')).toEqual({ table: [], key: null });
  });

  const schema = new ScenarioSchema({
    properties: {
      path: { $ref: "#/$defs/Path" },
      variant: { type: "array", items: { $ref: "#/$defs/Variant" } },
    },
    $defs: {
      Path: {
        description: "The path.",
        properties: { profile: { type: ["string", "null"], description: "A profile." } },
      },
      Variant: {
        properties: {
          handshake: { anyOf: [{ $ref: "#/$defs/Handshake" }, { type: "null" }] },
        },
      },
      Handshake: {
        description: "How it begins.",
        oneOf: [{ const: "1rtt", description: "One round trip." }, { enum: ["0rtt"] }],
      },
      Loop: { anyOf: [{ $ref: "#/$defs/Loop" }] },
    },
  });
  const labels = (table: string[], key: string | null): string[] =>
    schema.offers({ table, key }).map(({ label }) => label);

  it("offers keys of a table and values of a key", () => {
    expect(labels([], null)).toEqual(["path", "variant"]);
    expect(labels(["path"], null)).toEqual(["profile"]);
    expect(labels(["variant"], "handshake")).toEqual(['"1rtt"', '"0rtt"']);
    expect(labels(["nothing"], null)).toEqual([]);
  });

  it("explains keys, also by their types", () => {
    expect(schema.explain(["path"], "profile")).toBe("A profile.");
    expect(schema.explain([], "path")).toBe("The path.");
    expect(schema.explain(["path"], "unknown")).toBe("");
  });
});
