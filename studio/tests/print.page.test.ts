/** What paper gets: all plots, backgrounds, and the answer on the first page. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean } from "./browser.ts";
import { explained, geoReport } from "./fixture.ts";
import { lossReport, resumedReport } from "./sweepfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

/** Size of a page of A4 across within margins of 12 mm, in CSS pixels. */
const PAPER = { width: 1031, height: 703 };

/** Number of pages of a PDF as Chromium writes it. */
const pagesOf = (pdf: Buffer): number =>
  new TextDecoder("latin1").decode(pdf).match(/\/Type \/Page\b/g)!.length;

describe("paper", () => {
  it.each([
    ["a sweep", () => resumedReport(true)],
    ["many points", lossReport],
    ["causes", explained],
    ["repeats", () => geoReport({ repeats: 3, traces: false })],
  ])("has the answer on one page: %s", async (_, make) => {
    const opened = await bench.open(make(), PAPER);
    const { page } = opened;
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await page.emulateMedia({ media: "print" });
    const end = await page.evaluate(() => {
      const { bottom } = document.querySelector("#answer")!.getBoundingClientRect();
      return bottom + scrollY;
    });
    expect(end).toBeLessThanOrEqual(PAPER.height);
    // No drawing reaches out of its figure, over what stands below.
    const outside = await page.evaluate(
      () =>
        [...document.querySelectorAll("#answer figure")].filter(
          (figure) =>
            figure.scrollHeight > figure.clientHeight + 1 ||
            [...figure.querySelectorAll("svg.plot")].some(
              (plot) =>
                plot.getBoundingClientRect().bottom > figure.getBoundingClientRect().bottom + 1,
            ),
        ).length,
    );
    expect(outside).toBe(0);
    await bench.leave(page);
  });

  it("cuts no line off that a click would open", async () => {
    const fixture = explained();
    fixture.report.description = "What a reader would have to click for. ".repeat(8);
    const opened = await bench.open(fixture, PAPER);
    const { page } = opened;
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await page.emulateMedia({ media: "print" });
    const lines = await page.evaluate(() =>
      [...document.querySelectorAll(".strip-line .line")].map((line) => ({
        cut: line.scrollWidth > line.clientWidth,
        fades: getComputedStyle(line).maskImage !== "none",
      })),
    );
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toEqual({ cut: false, fades: false });
    await bench.leave(page);
  });

  it("has the plots of a run that was never in sight, two beside each other", async () => {
    const opened = await bench.open(geoReport({ repeats: 3 }), { height: 300 });
    const { page } = opened;
    // The page unpacks its series once it is at rest.
    await page.waitForFunction(() => performance.getEntriesByName("bentpipe-unpack").length > 0);
    expect(await page.locator(".chart canvas").count()).toBe(0);
    const pdf = await page.pdf({ preferCSSPageSize: true });
    expect(pagesOf(pdf)).toBeLessThanOrEqual(9);
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".chart canvas").count()).toBeGreaterThan(4);
    const boxes = await page.evaluate(() =>
      [...document.querySelectorAll(".panel:not(.folded)")].map((p) => {
        const { left, right, top } = p.getBoundingClientRect();
        const canvas = p.querySelector("canvas")!.getBoundingClientRect();
        return { left, top, filled: canvas.width / (right - left) };
      }),
    );
    expect(boxes[1]!.top).toBe(boxes[0]!.top);
    expect(boxes[1]!.left).toBeGreaterThan(boxes[0]!.left);
    for (const { filled } of boxes) expect(filled).toBeGreaterThan(0.85);
    clean(opened);
    await bench.leave(page);
  });
});
