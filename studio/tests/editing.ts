/** What tests of the studio and of editable reports do with its text and its runs. */
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** A scenario of two variants, with comments that are to stay; `more` stands below its title. */
export const twoVariants = (name: string, title: string, download: string, more = ""): string =>
  `# A comment that stays.
name = "${name}"
title = '${title}'
${more}
[path]
profile = "geo-50-10"
forward = { queue = "0.5 BDP" } # also this one

[workload]
download = "${download}"

[[variant]]
name = "cubic"

[[variant]]
name = "bbr3"
congestion = "bbr3"
`;

/** A scenario over satellites. */
export const ORBIT = `name = "orbit"
[path.orbit]
constellation = "iridium"
links.all = { rate = "10 Mbps" }
[workload]
from = "London"
to = "New York"
download = "1 MB"
`;

/** Waits until the studio says something about the text. */
export async function status(
  page: Page,
  pattern: RegExp,
  of = ".status:not(.notice)",
): Promise<void> {
  await expect
    .poll(() => page.locator(of).allInnerTexts(), { timeout: 20_000 })
    .toEqual([expect.stringMatching(pattern)]);
}

/** Waits until the studio says that something happened. */
export const notice = (page: Page, pattern: RegExp): Promise<void> =>
  status(page, pattern, ".notice");

/** Replaces the text in the editor, as one paste does. */
export async function retype(page: Page, text: string): Promise<void> {
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

/** The text in the editor. */
export const editorText = (page: Page): Promise<string> =>
  page.evaluate(() =>
    [...document.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"),
  );

/** Waits until the newest run is done. */
export async function ran(page: Page): Promise<void> {
  await expect.poll(() => page.getAttribute(".runs li", "class"), { timeout: 20_000 }).toBe("done");
}

/**
 * Faults of accessibility in parts of the page, outside frames: the serious ones, any, or any that
 * a change of colours can make.
 */
export async function accessibilityFaults(
  page: Page,
  parts = ["body"],
  which: "serious" | "any" | "colours" = "serious",
): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window")))
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core") });
  return await page.evaluate(
    async ([include, kinds]) => {
      type Axe = {
        run(
          of: unknown,
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
      const { axe } = window as unknown as { axe: Axe };
      const options =
        kinds === "colours" ? { runOnly: ["color-contrast", "link-in-text-block"] } : {};
      const { violations } = await axe.run({ include, exclude: ["iframe"] }, options);
      return violations
        .filter(
          ({ impact }) => kinds !== "serious" || impact === "serious" || impact === "critical",
        )
        .map(
          ({ id, nodes }) =>
            `${id}: ${nodes
              .slice(0, 3)
              .map(({ html }) => html)
              .join(" ")}`,
        );
    },
    [parts, which] as [string[], string],
  );
}

/**
 * Moves a slider by a step, `times` times, and returns the milliseconds from each event to the
 * medians of its run.
 */
export function answerTimes(page: Page, slider: string, times: number): Promise<number[]> {
  return page.evaluate(
    async ([label, count]) => {
      const input = document.querySelector<HTMLInputElement>(`input[aria-label="${label}"]`)!;
      const column = (): string =>
        document.querySelector(".comparison thead th:last-child")?.textContent ?? "";
      const out: number[] = [];
      for (let i = 0; i < count; i++) {
        const before = column();
        const start = performance.now();
        input.value = String(Number(input.value) + 1);
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise<void>((done) => {
          const look = (): void => {
            if (column() !== before) done();
            else requestAnimationFrame(look);
          };
          look();
        });
        out.push(Math.round(performance.now() - start));
        // The report follows once the slider rests.
        await new Promise((rested) => setTimeout(rested, 600));
      }
      return out;
    },
    [slider, times] as [string, number],
  );
}

/** Times from events to the next picture, in milliseconds. */
export interface PictureTimes {
  p95: number;
  /** All in words. */
  text: string;
}

/**
 * Does something that makes `count` events of some kinds, and measures the time from each to the
 * next picture, by the browser's own measure.
 */
async function pictureTimes(
  page: Page,
  kinds: string[],
  count: number,
  act: () => Promise<void>,
): Promise<PictureTimes> {
  // The browser reports events that took at least this long.
  const least = 16;
  await page.evaluate(
    ([names, durationThreshold]) => {
      const times: number[] = [];
      (globalThis as unknown as { pictureTimes: number[] }).pictureTimes = times;
      new PerformanceObserver((list) => {
        for (const { name, duration } of list.getEntries())
          if (names.includes(name)) times.push(duration);
      }).observe({ type: "event", durationThreshold } as PerformanceObserverInit);
    },
    [kinds, least] as [string[], number],
  );
  await act();
  const long = await page.evaluate(
    () =>
      new Promise<number[]>((done) =>
        setTimeout(
          () => done((globalThis as unknown as { pictureTimes: number[] }).pictureTimes),
          300,
        ),
      ),
  );
  const all = [...long, ...Array(Math.max(0, count - long.length)).fill(least)] as number[];
  all.sort((a, b) => a - b);
  const at = (share: number): number =>
    all[Math.min(all.length - 1, Math.floor(all.length * share))]!;
  const p95 = at(0.95);
  return { p95, text: `median ${at(0.5)} ms, p95 ${p95} ms, largest ${all.at(-1)} ms` };
}

/** Types a comment of some characters at the end of the text, and measures each key. */
export async function keyTimes(page: Page, keys: number): Promise<PictureTimes> {
  const { p95, text } = await pictureTimes(page, ["keydown"], keys, async () => {
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.type(`\n# ${"typing ".repeat(keys)}`.slice(0, keys), { delay: 30 });
  });
  return { p95, text: `${keys} keys, ${text}` };
}

/** Moves a slider step by step, as a hand does, and measures each step. */
export function dragTimes(page: Page, label: string, steps: number): Promise<PictureTimes> {
  return pictureTimes(page, ["keydown", "input"], steps, async () => {
    await page.getByLabel(label).focus();
    for (let i = 0; i < steps; i++) {
      await page.keyboard.press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
      await page.waitForTimeout(30);
    }
  });
}
