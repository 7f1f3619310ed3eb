import { describe, expect, it } from "vitest";
import { pathFacts } from "../src/sections/run-facts.ts";

const plain = (s: string): string => s.replace(/[\u00a0\u202f]/g, " ");

describe("what was known of a path", () => {
  it("is shown as each end saw it", () => {
    const facts = pathFacts({
      saved_window_bytes: 3_750_000,
      saved_rtt_ms: 600,
      observed_window_bytes: 3_680_000,
      observed_rtt_ms: 600.3,
      receiver_window_bytes: 3_690_000,
      receiver_rtt_ms: 601.1,
      retreated: false,
      token: "wrong_address",
    }).map(([name, value]) => `${name}: ${plain(value)}`);
    expect(facts).toEqual([
      "Saved path: 3.75 MB in 600 ms",
      "Path observed by the sender: 3.68 MB in 600 ms",
      "Path observed by the receiver: 3.69 MB in 601 ms",
      "Jump met congestion: no",
      "Path token: wrong address",
    ]);
  });
  it("leaves out what is not known", () => {
    const nothing = {
      saved_window_bytes: null,
      saved_rtt_ms: null,
      observed_window_bytes: null,
      observed_rtt_ms: null,
      receiver_window_bytes: 1000,
      receiver_rtt_ms: null,
      retreated: null,
      token: null,
    };
    expect(pathFacts(nothing)).toEqual([]);
  });
});
