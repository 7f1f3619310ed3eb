/** Nothing for axe to find: reports of every kind, wide and narrow, light and dark. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean, view } from "./browser.ts";
import { accessibilityFaults } from "./editing.ts";
import { explained, geoReport, singleReport } from "./fixture.ts";
import { matrixReport } from "./matrixfixture.ts";
import { oddReport } from "./oddfixture.ts";
import { phaseReport } from "./phasefixture.ts";
import { reverseReport } from "./reversefixture.ts";
import { constellationReport } from "./skyfixture.ts";
import { failedReport, lossReport, resumedReport } from "./sweepfixture.ts";
import { pageReport } from "./waterfallfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

const REPORTS = {
  geo: () => geoReport({ repeats: 3 }),
  single: singleReport,
  "many points": lossReport,
  resumed: () => resumedReport(true),
  failed: failedReport,
  "web page": pageReport,
  pairs: matrixReport,
  constellation: constellationReport,
  phases: phaseReport,
  ACKs: reverseReport,
  odd: oddReport,
};

describe("axe", () => {
  it.each(Object.entries(REPORTS))("finds nothing in the report %s", async (_, make) => {
    const fixture = make();
    const opened = await bench.open(fixture);
    const { page } = opened;
    if (fixture.report.traces.length > 0) await bench.plots(opened);
    // What is folded counts too.
    await page.evaluate(() => {
      for (const el of document.querySelectorAll("details")) el.open = true;
    });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const [colorScheme, which] of [
        ["light", "any"],
        ["dark", "colours"],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.waitForTimeout(150);
        for (const chip of await page.locator(".verdict > button").all()) {
          await chip.click();
          expect(await accessibilityFaults(page, [".verdicts"], which)).toEqual([]);
          await page.keyboard.press("Escape");
        }
        expect(await accessibilityFaults(page, ["html"], which)).toEqual([]);
      }
    }
    clean(opened);
    await bench.leave(page);
  });

  it("finds nothing in the page without data", async () => {
    const { page } = await bench.open(null);
    expect(await accessibilityFaults(page, ["html"], "any")).toEqual([]);
    await bench.leave(page);
  });
});

describe("the keyboard", () => {
  it("jumps to the content, and goes on from there", async () => {
    const { page } = await bench.open(geoReport({ repeats: 3 }));
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('.verdicts') !== null")).toBe(true);
    await bench.leave(page);
  });

  it("goes along the dots of plots, reads them, and chooses one", async () => {
    const { page } = await bench.open(lossReport());
    const plot = page.locator("#results .sweep-plot > svg").first();
    await plot.focus();
    const tip = page.locator("#results .sweep-plot > .tip").first();
    const read: string[] = [];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"]) {
      await page.keyboard.press(key);
      read.push(await tip.innerText());
    }
    const places = read.map((words) => words.split(":")[0]);
    expect(places).toEqual([
      "cubic, rtt 100 ms, loss 0 %",
      "cubic, rtt 150 ms, loss 0 %",
      "newreno, rtt 150 ms, loss 0 %",
      "newreno, rtt 100 ms, loss 0 %",
      "cubic, rtt 100 ms, loss 0 %",
    ]);
    expect(await page.locator(".spot-ring").count()).toBe(1);
    await page.keyboard.press("Enter");
    expect(await page.innerText(".dist h3")).toContain("rtt 100 ms, loss 0 %");
    await bench.leave(page);
  });

  it("opens the run of a dot", async () => {
    const opened = await bench.open(geoReport({ repeats: 3 }));
    const { page } = opened;
    await bench.plots(opened);
    await page.locator("#results .strip-plot > svg").first().focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowLeft"]) await page.keyboard.press(key);
    const words = await page.locator(".strip-plot .tip").first().innerText();
    const run = /^run (\d+): .*\ss;/.exec(words)?.[1];
    await page.keyboard.press("Enter");
    expect(await page.innerText("#series .note")).toContain(`for run ${run} of `);
    await bench.leave(page);
  });

  it("reads the parts of a bar", async () => {
    const { page } = await bench.open(explained());
    const bars = page.locator(".budget-bar[tabindex]");
    expect(await bars.count()).toBeGreaterThan(0);
    await bars.first().focus();
    await page.keyboard.press("ArrowRight");
    const first = await page.innerText(".budget-tip");
    await page.keyboard.press("ArrowRight");
    const second = await page.innerText(".budget-tip");
    expect(first).toMatch(/: .* of /s);
    expect(second).not.toBe(first);
    await page.keyboard.press("Escape");
    expect(await page.locator(".budget-tip").isVisible()).toBe(false);
    await bench.leave(page);
  });
});

describe("the wheel", () => {
  it("scrolls the page over plots, and zooms after a click on one", async () => {
    const opened = await bench.open(geoReport({ repeats: 3 }));
    const { page } = opened;
    await bench.plots(opened);
    const over = page.locator(".plot-area").first();
    await over.scrollIntoViewIfNeeded();
    const box = (await over.boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const [whole, top] = [await view(opened), await page.evaluate("scrollY")];
    await page.mouse.wheel(0, -120);
    await expect.poll(() => page.evaluate("scrollY")).toBeLessThan(top as number);
    expect(await view(opened)).toEqual(whole);
    await over.click();
    await page.mouse.wheel(0, -120);
    await expect.poll(() => view(opened)).not.toEqual(whole);
    await bench.leave(page);
  });
});
