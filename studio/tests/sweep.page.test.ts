import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepAxis } from "./base.ts";
import { Bench, clean, layoutFaults } from "./browser.ts";
import { failedReport, lossReport, resumedReport, sweepReport } from "./sweepfixture.ts";

/** A point of the report on losses, as the address has it. */
const POINT = '[["path.forward.loss","0.1 %"],["path.rtt","300 ms"]]';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

const TWELVE = Array.from({ length: 12 }, (_, i) => `controller-${i}-with-a-long-name`);

describe("many points", () => {
  it("are shown as panels and a table, single ones when chosen", async () => {
    const opened = await bench.open(lossReport());
    const { page } = opened;
    expect(await page.locator(".sweep-panel h4").allInnerTexts()).toEqual([
      "loss 0 %",
      "loss 0.01 %",
      "loss 0.05 %",
      "loss 0.1 %",
      "loss 0.5 %",
    ]);
    expect(await page.locator(".sweep-dot").count()).toBe(60);
    expect(await page.locator(".strip").count()).toBe(0);
    // A line per variant: a column per point, and at how many it is the best.
    expect(await page.locator("#table tbody tr").count()).toBe(2);
    expect(await page.locator("#table tbody td").count()).toBe(2 * 31);
    await page.getByLabel("Lines").selectOption("list");
    expect(await page.locator("#table tbody tr").count()).toBe(60);
    await page.locator(".sweep-dot").first().scrollIntoViewIfNeeded();
    const box = (await page.locator(".sweep-dot").first().boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    expect(await page.locator(".strip").count()).toBe(1);
    expect(await page.innerText(".dist h3")).toContain("rtt 100 ms, loss 0 %");
    await page.selectOption('#results select:has(option[value=""])', "");
    expect(await page.locator(".strip").count()).toBe(0);
    expect(await layoutFaults(opened)).toEqual([]);
    clean(opened);
    await bench.leave(page);
  });

  for (const width of [1440, 1000, 400]) {
    it(`and twelve variants stay in their place at ${width}`, async () => {
      const opened = await bench.open(lossReport(TWELVE, 3), {
        width,
        hash: `#point=${encodeURIComponent(POINT)}`,
      });
      const { page } = opened;
      expect(await page.locator(".strip-name").count()).toBe(12);
      expect(await page.locator("#table tbody tr").count()).toBe(12);
      expect(await layoutFaults(opened)).toEqual([]);
      const cut = await page.evaluate(() =>
        [
          ...document.querySelectorAll<HTMLElement>(
            ".strip-name span, .strip-value, .sweep-name, .sweep-panel h4",
          ),
        ]
          .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
          .map((e) => e.innerText),
      );
      expect(cut).toEqual([]);
      await page.click(".check");
      expect(await page.innerText("#table caption")).toContain("The first 1000 of");
      clean(opened);
      await bench.leave(page);
    });
  }

  it("with names along the axis are rows, unjoined and uncut", async () => {
    const names = [
      "a profile with a name that goes on and on, far beyond what any column would hold",
      "leo",
      "geo",
    ];
    const opened = await bench.open(
      sweepReport([sweepAxis("path.profile", names)], ["a", "b"], 4, (_, v) => 4 + v),
      { width: 1000 },
    );
    const { page } = opened;
    expect(await page.locator(".sweep-name").allInnerTexts()).toEqual(names);
    expect(await page.locator(".sweep path.step").count()).toBe(0);
    expect(await page.locator(".sweep-dot").count()).toBe(6);
    expect(await layoutFaults(opened)).toEqual([]);
    clean(opened);
    await bench.leave(page);
  });
});

describe("flows", () => {
  it("are shown by what their workload is about, on an axis of a few per cent", async () => {
    const fixture = resumedReport();
    fixture.report.headlines = [1, 2].map((visit) => ({
      ...{ flow: "main", visit, metric: "goodput_mbps" },
    }));
    fixture.report.summary = [];
    fixture.report.runs.forEach((run, i) => {
      for (const f of run.flows) f.goodput_mbps = 40 + i * 1e-7;
    });
    const { page } = await bench.open(fixture);
    expect(await page.locator("#results select").first().inputValue()).toBe("goodput_mbps");
    const ticks = await page.locator(".strip-plot .tick").allTextContents();
    const values = ticks.map(Number.parseFloat);
    expect(Math.max(...values) - Math.min(...values)).toBeGreaterThan(1);
    expect(await page.locator("#table thead th").allInnerTexts()).toContain("Spread");
  });
  it("of different visit numbers stand in one plot, one table and one distribution", async () => {
    const opened = await bench.open(resumedReport());
    const { page } = opened;
    expect(await page.locator(".strip-name > span").allInnerTexts()).toEqual(["1rtt", "0rtt"]);
    expect(await page.locator(".cdf path.step").count()).toBe(2);
    expect(await page.locator("#table tbody th").allInnerTexts()).toEqual(
      [" 1rtt", " 0rtt"].map((t) => expect.stringContaining(t.trim())),
    );
    expect(await page.locator("#results select").count()).toBe(1);
    expect(await page.locator("#table thead th").allInnerTexts()).toEqual([
      "Variant",
      "Median",
      "Spread",
      "95 % CI",
    ]);
    clean(opened);
    await bench.leave(page);
  });
  it("of several reported visits can be chosen", async () => {
    const opened = await bench.open(resumedReport(true));
    const { page } = opened;
    expect(await page.locator("#results select >> nth=1 >> option").allInnerTexts()).toEqual([
      "main, first reported visit",
      "main, second reported visit",
    ]);
    await page.selectOption("#results select >> nth=1", { index: 1 });
    expect(await page.locator(".strip-name").count()).toBe(2);
    expect(await page.innerText("#table caption")).toContain("main, second reported visit");
    clean(opened);
    await bench.leave(page);
  });
  it("that did not complete are counted, with the reason", async () => {
    const opened = await bench.open(failedReport());
    const { page } = opened;
    const text = await page.innerText("#results");
    for (const words of [
      "2 of 5 did not complete",
      "5 of 5 did not complete",
      "cubic, runs 0, 1: given up after 45 s",
    ])
      expect(text).toContain(words);
    expect(await page.innerText("#table thead")).toContain("Not completed");
    expect(await page.locator(".failed-runs").count()).toBeGreaterThanOrEqual(2);
    expect(await page.locator("header .note").allInnerTexts()).toEqual([
      "This report is not complete: the runs were ended early.",
      "2 traces were left out.",
    ]);
    clean(opened);
    await bench.leave(page);
  });
});
