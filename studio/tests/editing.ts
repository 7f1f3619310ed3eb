/** What tests of the studio and of editable reports do with its text and its runs. */
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";

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

/** Serious faults of accessibility in parts of the page, outside frames. */
export async function accessibilityFaults(page: Page, parts = ["body"]): Promise<string[]> {
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core") });
  return await page.evaluate(async (include) => {
    type Axe = {
      run(
        of: unknown,
      ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
    };
    const { axe } = window as unknown as { axe: Axe };
    const { violations } = await axe.run({ include, exclude: ["iframe"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  }, parts);
}
