/** Checks of a text that goes on to change. */
import { describe, expect, it } from "vitest";
import type { Api, Checked } from "../src/app/api.ts";
import { TextCheck } from "../src/app/text-check.ts";

/** Lets what waits for an answer go on. */
const turn = (): Promise<void> => new Promise((done) => setTimeout(done));

describe("checks of a text", () => {
  it("are given up once the text has changed, which is no error", async () => {
    let text = "one";
    const asked: { text: string; signal: AbortSignal; give(answer: Checked): void }[] = [];
    const errors: unknown[] = [];
    const answers: unknown[] = [];
    const check = (_file: string, about: string, signal?: AbortSignal): Promise<Checked> =>
      new Promise((give, fail) => {
        signal!.addEventListener("abort", () => fail(new Error("it was given up")));
        asked.push({ text: about, signal: signal!, give });
      });
    const checks = new TextCheck({ check } as Partial<Api> as Api, {
      text: () => ["a.toml", text],
      paused: () => {},
      checked: (answer) => void answers.push(answer),
      looked: async () => {},
      guard: async (work) => {
        await work().catch((error) => errors.push(error));
      },
    });
    void checks.now();
    text = "two";
    checks.changed();
    await turn();
    expect(asked[0]!.signal.aborted).toBe(true);
    void checks.now();
    text = "three";
    const last = checks.now();
    expect(asked.map((one) => [one.text, one.signal.aborted])).toEqual([
      ["one", true],
      ["two", true],
      ["three", false],
    ]);
    const answer = { plan: null } as Checked;
    asked[2]!.give(answer);
    await last;
    expect([answers, errors]).toEqual([[answer], []]);
  });
});
