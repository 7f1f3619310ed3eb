/** Every figure can be taken away: as a picture, for a paper too, as a table, as a link. */
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean } from "./browser.ts";
import { accessibilityFaults } from "./editing.ts";
import { explained, geoReport } from "./fixture.ts";
import { matrixReport } from "./matrixfixture.ts";
import { lossReport } from "./sweepfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

/** Opens the menu of a figure by keyboard and returns it. */
async function menuOf(page: Page, name: string): Promise<Locator> {
  const menu = page.locator(`[data-figure="${name}"] .figure-menu`);
  await menu.locator("summary").focus();
  if (!(await menu.evaluate((el: HTMLDetailsElement) => el.open)))
    await page.keyboard.press("Enter");
  return menu;
}

/** What a button of a menu saves. */
async function saved(page: Page, menu: Locator, button: string): Promise<[string, string]> {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    menu.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return [file.suggestedFilename(), readFileSync((await file.path())!, "utf8")];
}

describe("figures", () => {
  it("are saved as they stand, with where they come from", async () => {
    const opened = await bench.open(explained());
    const { page } = opened;
    const menu = await menuOf(page, "answer-budgets");
    const [name, picture] = await saved(page, menu, "SVG");
    expect(name).toBe("geo-resume_answer-budgets.svg");
    const value = (await page.innerText(".bar-value b >> nth=0")).replace("\u00a0", " ");
    for (const words of ["Where the time went", "tcp-cubic", value, "Slow start", "seed 1"])
      expect(picture).toContain(words);
    expect(picture).not.toContain("Against");
    const drawn = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return {
        errors: parsed.querySelectorAll("parsererror").length,
        widths: [...parsed.querySelectorAll("rect")].map((r) => Number(r.getAttribute("width"))),
      };
    }, picture);
    expect(drawn.errors).toBe(0);
    // The bars as on the page.
    const bars = await page.evaluate(() =>
      [...document.querySelectorAll(".budget-bar span")].map(
        (s) => s.getBoundingClientRect().width,
      ),
    );
    for (const width of bars)
      expect(drawn.widths.some((w) => Math.abs(w - width) < 0.5)).toBe(true);
    const [, png] = await saved(page, menu, "PNG");
    expect(png.slice(1, 4)).toBe("PNG");
    const [, csv] = await saved(page, menu, "CSV");
    expect(csv.split("\n")[0]).toContain("Slow start (s)");
    await page.keyboard.press("Escape");
    expect(await page.locator(".figure-menu[open]").count()).toBe(0);
    clean(opened);
    await bench.leave(page);
  });

  it("have width, letters and greys of a paper, and leave the page as it was", async () => {
    const { page } = await bench.open(lossReport(["cubic", "newreno"], 3), { dark: true });
    const before = (await page.screenshot()).toString("base64");
    const menu = await menuOf(page, "answer-across");
    await menu.getByLabel("Width").selectOption("85");
    await menu.getByLabel("serif").check();
    await menu.getByLabel("grey").check();
    const [, picture] = await saved(page, menu, "SVG");
    expect(picture).toMatch(/ width="85mm"/);
    expect(picture).toMatch(/viewBox="0 0 361 \d+"/);
    expect(picture).toContain('font-family="serif"');
    expect(picture).not.toContain("sans-serif");
    const greys = [...picture.matchAll(/rgb\((\d+), (\d+), (\d+)\)/g)];
    expect(greys.length).toBeGreaterThan(10);
    for (const [, r, g, b] of greys) expect([g, b]).toEqual([r, r]);
    expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    expect(await page.getAttribute("html", "class")).not.toContain("printing");
    // All figures are drawn anew, in the same place.
    await page.waitForTimeout(200);
    expect((await page.screenshot()).toString("base64")).toBe(before);
    await bench.leave(page);
  });

  it.each([
    ["a sweep", () => lossReport(["cubic", "newreno"], 3)],
    ["repeats", () => geoReport({ repeats: 3 })],
    ["pairs", matrixReport],
  ])("all have a menu, and an address: %s", async (_, make) => {
    const { page } = await bench.open(make());
    const figures = page.locator("#answer figure.card:visible, #results figure.card:visible");
    const names = await figures.evaluateAll((all) =>
      all.map((f) => (f.querySelector(".figure-menu") && (f as HTMLElement).dataset.figure) || ""),
    );
    expect(names.length).toBeGreaterThan(1);
    expect(names).not.toContain("");
    expect(new Set(names).size).toBe(names.length);
    const last = names.at(-1)!;
    await menuOf(page, last);
    expect(await accessibilityFaults(page, [`[data-figure="${last}"]`], "any")).toEqual([]);
    await page.goto(`${page.url().split("#")[0]}#at=${last}`);
    await page.reload();
    await expect
      .poll(() =>
        page.evaluate((name) => {
          const { top, bottom } = document
            .querySelector(`[data-figure="${name}"]`)!
            .getBoundingClientRect();
          return top < innerHeight && bottom > 0;
        }, last),
      )
      .toBe(true);
    await bench.leave(page);
  });
});
