import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { METRIC } from "../src/data/metrics.ts";
import { LINK_SERIES, SERIES } from "../src/data/names.ts";

const root = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((f) =>
  f.endsWith(".ts"),
);
const text = (file: string): string => readFileSync(join(root, file), "utf8");

/** Folders from top to bottom; imports point downwards. */
const ORDER = [
  ...["", "site", "editable", "engine", "app", "outlook", "trace", "sections", "sky", "panels"],
  ...["charts", "answer", "page", "format", "data"],
];
const rank = (file: string): number =>
  ORDER.indexOf(file.includes("/") ? file.slice(0, file.indexOf("/")) : "");

describe("the sources", () => {
  it("lie in known folders and import downwards only", () => {
    const upwards = files.flatMap((file) =>
      [...text(file).matchAll(/from "(\.[^"]+)"/g)]
        .map((m) => normalize(join(dirname(file), m[1]!)))
        .filter((to) => rank(to) < rank(file))
        .map((to) => `${file} imports ${to}`),
    );
    expect(files.filter((f) => rank(f) < 0)).toEqual([]);
    expect(upwards).toEqual([]);
  });
  it("have names of metrics and series in data/ only", () => {
    // Settled names of fields, those of explanations too, and the page's own words.
    const settled = [METRIC.completion, METRIC.goodput, METRIC.bytesSent, METRIC.firstByte];
    const plain = new Set<string>(settled);
    const names = [METRIC, SERIES, LINK_SERIES].flatMap((o): string[] => Object.values(o));
    const guarded = names.filter((n) => n.includes("_") && !plain.has(n));
    const found = files
      .filter((f) => !f.startsWith("data/"))
      .flatMap((f) =>
        guarded.filter((n) => new RegExp(`\\b${n}\\b`).test(text(f))).map((n) => `${f}: ${n}`),
      );
    expect(found).toEqual([]);
  });
  it("have at most 400 lines each, except generated ones", () => {
    const written = files.filter((f) => !text(f).startsWith("// Generated"));
    const long = written.filter((f) => text(f).split("\n").length > 401);
    expect(long).toEqual([]);
  });
});
