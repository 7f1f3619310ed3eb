/** Forty variants at twelve points: found, isolated, sorted and exported by keyboard alone. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean, layoutFaults, processorTime } from "./browser.ts";
import { accessibilityFaults } from "./editing.ts";
import { wideReport } from "./sweepfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

const lines = (page: Page): Promise<string[]> =>
  page.locator("#table tbody th button").allInnerTexts();

/** Presses Tab until the focus is on an element with a text. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate("document.activeElement.textContent")) === text) return;
  }
  throw new Error(`no way to ${text} by Tab`);
}

describe("forty variants at twelve points", () => {
  it("are found, isolated, compared and exported by keyboard alone", async () => {
    const opened = await bench.open(wideReport());
    const { page } = opened;
    expect(await lines(page)).toHaveLength(40);
    // Found, by a word and by a setting.
    await page.keyboard.press("/");
    await page.keyboard.type("bbr");
    await expect.poll(() => lines(page)).toHaveLength(10);
    await page.keyboard.type(" ack=1:8");
    await expect.poll(() => lines(page)).toEqual(["bbr3-1to8"]);
    expect(await page.innerText(".finder [role=status]")).toBe("1 of 40 shown");
    // Figures follow: the one found, and the baseline.
    expect(await page.locator("#results .key > button").allInnerTexts()).toEqual([
      "cubic-1to1",
      "bbr3-1to8",
    ]);
    expect(await page.innerText("h2.answer")).toContain("bbr3-1to8");
    expect(await page.innerText(".shown-part")).toContain("2 of 40 variants shown");
    // Isolated: what else is found stays in the table, pale.
    await page.keyboard.press("Control+a");
    await page.keyboard.type("hybla");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("hybla-1to1");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("hybla-1to16");
    expect(await page.locator("#table tbody tr:not(.off)").count()).toBe(1);
    expect(await page.locator("#results .key > button").count()).toBe(2);
    await page.waitForFunction(() => /only=34/.test(location.hash) && /find=/.test(location.hash));
    // Exported: the baseline and the one.
    await page.keyboard.press("/");
    await page.keyboard.press("Shift+Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Save CSV");
    const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
    const csv = readFileSync((await file.path())!, "utf8")
      .trim()
      .split("\n");
    expect(csv).toHaveLength(1 + 2 * 12);
    expect(csv.every((line, i) => i === 0 || /cubic-1to1,|hybla-1to16,/.test(line))).toBe(true);
    // The address brings the same view back.
    await page.reload();
    expect(await lines(page)).toHaveLength(10);
    expect(await page.locator("#table tbody tr:not(.off)").count()).toBe(1);
    await page.keyboard.press("/");
    await tabTo(page, "Show all");
    await page.keyboard.press("Enter");
    expect(await lines(page)).toHaveLength(40);
    clean(opened);
    await bench.leave(page);
  });

  it("are sorted by a point, hidden, and chosen by what they set", async () => {
    const opened = await bench.open(wideReport());
    const { page } = opened;
    const head = page.locator("#table thead th").nth(1);
    await head.locator("button").focus();
    await page.keyboard.press("Enter");
    expect(await head.getAttribute("aria-sort")).toBe("ascending");
    expect((await lines(page))[0]).toBe("cubic-1to64");
    await page.keyboard.press("Enter");
    expect(await head.getAttribute("aria-sort")).toBe("descending");
    expect((await lines(page))[0]).toMatch(/1to1$/);
    await page.keyboard.press("Enter");
    expect((await lines(page))[0]).toBe("cubic-1to1");
    // The best of each point, as the rows have them.
    const best = await page.locator("#table tfoot td").allInnerTexts();
    expect(best).toHaveLength(13);
    expect(best[0]).toMatch(/^cubic-1to(32|64|128)/);
    await page.selectOption(".finder select >> nth=0", "newreno");
    expect(await page.inputValue(".finder input")).toBe("congestion=newreno");
    expect(await lines(page)).toHaveLength(10);
    await page.getByLabel("Show newreno-1to2", { exact: true }).focus();
    await page.keyboard.press("Space");
    expect(await page.innerText(".finder [role=status]")).toBe("9 of 40 shown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Space");
    expect(await page.innerText(".finder [role=status]")).toBe("8 of 40 shown");
    await bench.leave(page);
  });

  it("have intervals of the differences, and say which are larger than chance", async () => {
    const { page } = await bench.open(wideReport());
    const cells = await page.locator("#table tbody tr").nth(9).locator("td").allInnerTexts();
    // 1to512 waits for ACKs at the widest return link.
    expect(cells[11]!.replaceAll("\u00a0", " ")).toMatch(/^\d+\.\d+\s\+\d+ to \+\d+ %$/);
    const sides = await page.locator("#table td small.better, #table td small.worse").count();
    expect(sides).toBeGreaterThan(100);
    await bench.leave(page);
  });

  it("are drawn in less than a second, and fit", async () => {
    for (const width of [1440, 390]) {
      const opened = await bench.open(wideReport(), { width });
      const { page } = opened;
      const used = await processorTime(page);
      await page.evaluate(async () => {
        const input = document.querySelector<HTMLInputElement>(".finder input")!;
        input.value = "cubic";
        input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      });
      const took = await used();
      console.log(`40 variants at 12 points, ${width} px: a search took ${took.toFixed(0)} ms`);
      expect(took).toBeGreaterThan(0);
      expect(took).toBeLessThan(1000);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect(await accessibilityFaults(page, ["#table"], "any")).toEqual([]);
      expect(await layoutFaults(opened)).toEqual([]);
      await bench.leave(page);
    }
  });
});
