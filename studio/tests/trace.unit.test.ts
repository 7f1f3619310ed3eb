import { describe, expect, it } from "vitest";
import type { PathDocument, RemedyDocument, RequestDocument } from "../src/data/trace.types.ts";
import { waterfallOf } from "../src/trace/panels.ts";
import { type SortColumn, sorted } from "../src/trace/sortable.ts";
import { change, rateWords, saving } from "../src/trace/words.ts";

const request = (number: number, given: Partial<RequestDocument> = {}): RequestDocument => ({
  number,
  stream: null,
  asked_s: number,
  first_byte_s: number + 0.5,
  last_byte_s: number + 1,
  bytes: 1000,
  cause: null,
  cause_s: null,
  ...given,
});

describe("a sorted table", () => {
  const column: SortColumn<{ name: string; value: number }> = {
    head: "Value",
    numeric: true,
    cell: (r) => r.value,
    key: (r) => r.value,
  };
  const rows = [
    { name: "a", value: 2 },
    { name: "b", value: NaN },
    { name: "c", value: 10 },
    { name: "d", value: 2 },
  ];
  const names = (down: boolean): string =>
    sorted(rows, column, down)
      .map((r) => r.name)
      .join("");

  it("has numbers in their order, equal ones as they were, and those without one last", () => {
    expect(names(false)).toBe("adcb");
    expect(names(true)).toBe("cadb");
    expect(rows.map((r) => r.name).join("")).toBe("abcd");
  });
});

describe("requests over time", () => {
  it("are bars in the colour of what held each up most", () => {
    const made = waterfallOf([
      request(1, { cause: "slow_start_s", cause_s: 0.3 }),
      request(2, { stream: 8, asked_s: null }),
      request(3, { cause: "slow_start_s" }),
    ])!;
    expect(made.kinds.map((k) => [k.name, k.objects])).toEqual([
      ["Slow start", 2],
      ["Data on the link", 1],
    ]);
    // Without the time of its request, a bar begins with the first byte.
    expect(made.rows[1]).toMatchObject({ name: "2, stream 8", from: 2.5, to: 3 });
    expect(made.rows[0]!.kind).toBe(made.rows[2]!.kind);
  });
  it("are not drawn for one request", () => {
    expect(waterfallOf([request(1)])).toBeNull();
  });
});

describe("words of a trace", () => {
  const remedy: RemedyDocument = {
    cause: "flow_control_s",
    setting: "the send buffer",
    value: "7 MB",
    where: "server",
    saves_s: 5.4,
    saves_up_to_s: null,
  };
  it("say what to change and what that saves", () => {
    expect(change(remedy)).toBe("the send buffer: 7 MB (the server)");
    expect(change({ ...remedy, value: "", where: "both ends" })).toBe(
      "the send buffer (both ends)",
    );
    expect(saving(remedy)).toMatch(/^saves about 5.40/);
    expect(saving({ ...remedy, saves_s: null, saves_up_to_s: 2 })).toMatch(/^saves up to 2.00/);
    expect(saving({ ...remedy, saves_s: null })).toContain("cannot be told");
  });
  it("say how much is known of the rate", () => {
    const path = { rate_mbps: 20, proven_rate_mbps: 12, rate_is_least: false } as PathDocument;
    expect(rateWords(path)).toEqual(["20.0\u00a0Mbps", "the link was filled"]);
    expect(rateWords({ ...path, rate_is_least: true })).toEqual([
      "not known",
      "never filled; at least 12.0\u00a0Mbps",
    ]);
  });
});
