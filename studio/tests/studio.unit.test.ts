import { describe, expect, it } from "vitest";
import type { RunState } from "../src/app/api.ts";
import { changesBetween, changesLine } from "../src/app/changes.ts";
import { around, lineDiff } from "../src/app/line-diff.ts";
import { placeHash, readPlace } from "../src/app/place.ts";
import { atStep, quantity, STEPS, stepOf, written } from "../src/app/quantity.ts";
import { progressValue, progressWords } from "../src/app/run-control.ts";
import { placeAt, ScenarioSchema } from "../src/app/schema.ts";
import { groupsOf, keyParts } from "../src/app/tables.ts";
import { asQuantity, measured } from "../src/app/units.ts";

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
    expect(place('[sweep]\n"path.rtt" = ')).toEqual({ table: ["sweep"], key: "path.rtt" });
    expect(place('sweep."path.rtt" = ')).toEqual({ table: ["sweep"], key: "path.rtt" });
    expect(place("sweep = { 'path.rtt' = ")).toEqual({ table: ["sweep"], key: "path.rtt" });
    expect(place('[sweep."path.rtt"]\nva')).toEqual({ table: ["sweep", "path.rtt"], key: null });
    expect(place('forward = { name = "a, { b", loss = ')).toEqual({
      table: ["forward"],
      key: "loss",
    });
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

describe("units", () => {
  it("compares values of one kind, and writes them as people do", () => {
    expect(measured("650 ms")).toEqual({ kind: "time", value: 0.65 });
    expect(measured("1 Gbps")).toEqual({ kind: "rate", value: 1e9 });
    expect(measured("2 MiB")).toEqual({ kind: "size", value: 2 * 1024 ** 2 });
    for (const text of ["2 packets", "1 toString", "geo"]) expect(measured(text), text).toBeNull();
    const words = (kind: "time" | "rate" | "number", value: number): string =>
      written(asQuantity({ kind, value }));
    expect(words("time", 0.65)).toBe("650 ms");
    expect(words("time", 1)).toBe("1 s");
    expect(words("rate", 12_345_000)).toBe("12.3 Mbps");
    expect(words("number", 0.0012)).toBe("0.0012");
  });
});

describe("differences", () => {
  it("finds the lines that differ, in their order", () => {
    const kinds = (a: string, b: string): string =>
      lineDiff(a, b)
        .map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`)
        .join("|");
    expect(kinds("a\nb\nc", "a\nx\nc")).toBe(" a|-b|+x| c");
    expect(kinds("a\nb", "a\nb")).toBe(" a| b");
    expect(kinds("a\nb\nc\nd", "b\nd\ne")).toBe("-a| b|-c| d|+e");
    expect(kinds("", "a")).toBe("-|+a");
    // Both texts can be read from it.
    const [old, fresh] = ["a\nb\nb\nc\nd\na", "b\na\nc\nc\nd"];
    const lines = lineDiff(old, fresh);
    const of = (without: string): string =>
      lines.flatMap(({ kind, text }) => (kind === without ? [] : [text])).join("\n");
    expect([of("added"), of("removed")]).toEqual([old, fresh]);
  });

  it("bounds its work, and leaves out what is far from a difference", () => {
    const many = (word: string): string =>
      Array.from({ length: 3000 }, (_, i) => `${word}${i}`).join("\n");
    const start = performance.now();
    const lines = lineDiff(many("a"), many("b"));
    expect(lines).toHaveLength(6000);
    expect(performance.now() - start).toBeLessThan(1000);
    const long = Array.from({ length: 20 }, (_, i) => String(i));
    const changed = long.with(10, "x");
    const near = around(lineDiff(long.join("\n"), changed.join("\n")));
    const texts = near.map((line) => line?.text ?? null);
    expect(texts).toEqual([null, "8", "9", "10", "x", "11", "12", null]);
  });

  it("names what settings changed", () => {
    const old = [
      { key: "path.rtt", value: "650 ms" },
      { key: "repeat", value: "5" },
      { key: "seed", value: "1" },
    ];
    const fresh = [
      { key: "path.rtt", value: "100 ms" },
      { key: "seed", value: "1" },
      { key: "title", value: "x" },
    ];
    const changes = changesBetween(old, fresh);
    expect(changesLine(changes)).toBe("rtt 650 ms → 100 ms, without repeat, title = x");
    expect(changesLine([])).toBe("");
    const four = changesBetween([], [...fresh, { key: "a", value: "1" }]);
    expect(changesLine(four)).toContain("1 more change");
  });
});

describe("settings", () => {
  it("belong to the outermost table, or to one of several", () => {
    expect(keyParts('sweep."path.rtt"')).toEqual(["sweep", "path.rtt"]);
    const keys = ["name", "path.forward.loss", 'sweep."path.rtt"', "variant.0.ack.every"];
    const groups = groupsOf(keys.map((key) => ({ key, value: "1" })));
    expect(groups.map(({ key, settings }) => [key, settings[0]!.name])).toEqual([
      ["", "name"],
      ["path", "forward.loss"],
      ["sweep", "path.rtt"],
      ["variant.0", "ack.every"],
    ]);
  });
});

describe("links", () => {
  it("hold any text, and nothing that is too large or broken", async () => {
    for (const text of ["", "name = 'größer 😀'\n", "x".repeat(200_000)]) {
      const place = { file: "a b/c.toml", text };
      expect(await readPlace(await placeHash(place))).toEqual(place);
    }
    expect(await readPlace("#first.toml")).toEqual({ file: "first.toml", text: null });
    const bomb = await placeHash({ file: "a", text: "x".repeat(2 << 20) });
    expect(bomb.length).toBeLessThan(10_000);
    for (const hash of [bomb, "#a&text=%%%", "#a&text=AAAA", "#%"])
      expect(await readPlace(hash)).toEqual({ file: "", text: null });
  });
});

describe("progress", () => {
  const run = { done: 0, reused: 0, planned: 10, phase: "running" } as RunState;

  it("tells what is left from the runs that have ended, or from the estimate", () => {
    expect(progressWords(run, 0.2, null)).toBe("0 of 10 runs");
    expect(progressWords(run, 4, 20)).toBe("0 of 10 runs · 4 s · about 16 s left");
    expect(progressWords(run, 30, 20)).toBe("0 of 10 runs · 30 s");
    expect(progressWords({ ...run, done: 5, reused: 3 }, 8, 1)).toBe(
      "5 of 10 runs · 8 s · about 20 s left",
    );
  });

  it("moves within a long run as its expected time passes, and never to the end", () => {
    const one = { ...run, planned: 1 };
    expect(progressValue(one, 10, 40)).toBe(0.25);
    expect(progressValue(one, 400, 40)).toBe(0.95);
    expect(progressValue(one, 10, null)).toBe(0);
    expect(progressValue({ ...run, done: 5, reused: 3 }, 10, 100)).toBe(5);
  });
});
