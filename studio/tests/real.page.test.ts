import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { env } from "node:process";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Report } from "../src/data/report.types.ts";
import { Bench, clean, ink, layoutFaults, type Opened, view } from "./browser.ts";

const file = env.BENTPIPE_REPORT;
if (!file) console.log("skipped: BENTPIPE_REPORT names no report.html of the command");

// A report as the command writes it: BENTPIPE_REPORT=out/cnes-start/report.html npm run test:page
describe.skipIf(!file)("a report of the command", () => {
  let bench: Bench;
  let opened: Opened;
  let report: Report;
  beforeAll(async () => {
    if (!existsSync(file!)) throw new Error(`no file ${file}, which BENTPIPE_REPORT names`);
    bench = await Bench.start();
    opened = await bench.visit(pathToFileURL(resolve(file!)).href);
    report = JSON.parse((await opened.page.textContent("#bentpipe-report"))!) as Report;
  });
  afterAll(() => bench?.close());

  it("loads without errors or requests", async () => {
    expect(await opened.page.innerText("h1")).toBe(report.title);
    expect(await layoutFaults(opened)).toEqual([]);
    clean(opened);
  });

  it("shows every variant in the first plot and in the table", async () => {
    const { page } = opened;
    const first = page.locator("#results figure").first();
    const text = await first.innerText();
    for (const variant of report.variants) expect(text).toContain(variant);
    const marks = await first.evaluate((figure) => {
      const panel = figure.querySelector(".sweep-panel") ?? figure;
      const dots = [...panel.querySelectorAll(".sweep-dot")].map(
        (d) => `${d.getAttribute("fill")}${d.getAttribute("d")}`,
      );
      return dots.length ? new Set(dots).size : panel.querySelectorAll(".strip-name").length;
    });
    expect(marks).toBe(report.variants.length);
    const rows = await page.locator("#table tbody th").allInnerTexts();
    expect(new Set(rows.map((r) => r.trim()))).toEqual(new Set(report.variants));
  });

  it("draws the traces and zooms", async ({ skip }) => {
    if (report.traces.length === 0) skip("this report has no traces");
    const { page } = opened;
    await bench.plots(opened);
    for (const selector of [".panel", ".panel ~ .panel"])
      expect(await ink(opened, `${selector} .chart`)).toBeGreaterThan(300);
    await page.evaluate(
      "document.querySelector('.panel').scrollIntoView({block: 'center', behavior: 'instant'})",
    );
    const whole = await view(opened);
    await bench.wheel(opened, -400);
    const closer = await view(opened);
    expect(closer[1] - closer[0]).toBeLessThan((whole[1] - whole[0]) * 0.6);
    clean(opened);
  });
});
