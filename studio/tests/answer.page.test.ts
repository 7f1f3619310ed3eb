import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepAxis } from "./base.ts";
import { Bench, clean, layoutFaults, NO_WEBGL, type Opened } from "./browser.ts";
import { explained, geoReport, singleReport } from "./fixture.ts";
import { matrixReport } from "./matrixfixture.ts";
import { hostileReport, oddReport } from "./oddfixture.ts";
import { phaseReport } from "./phasefixture.ts";
import { reverseReport } from "./reversefixture.ts";
import { constellationReport } from "./skyfixture.ts";
import { summarise } from "./summarise.ts";
import {
  failedReport,
  lossReport,
  policySweep,
  resumedReport,
  sweepReport,
} from "./sweepfixture.ts";
import { pageReport } from "./waterfallfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start(NO_WEBGL);
});
afterAll(() => bench?.close());

/** The part of a window of 900 px that the answer may take. */
const ROOM = 720;

const REPORTS = {
  geo: () => geoReport({ repeats: 3 }),
  single: singleReport,
  loss: lossReport,
  policies: policySweep,
  resumed: () => resumedReport(true),
  failed: failedReport,
  page: pageReport,
  matrix: matrixReport,
  sky: constellationReport,
  phases: phaseReport,
  reverse: reverseReport,
  odd: oddReport,
  hostile: hostileReport,
};

/** Places of the answer, the first result and the end of the cause, from the top of the page. */
async function places({ page }: Opened): Promise<{ answer: number; ends: number[] }> {
  return page.evaluate(() => {
    const bottom = (el: Element): number => el.getBoundingClientRect().bottom + scrollY;
    const all = [...document.querySelectorAll("[data-first], [data-cause]")];
    const answer = document.querySelector("h2.answer");
    return { answer: answer ? bottom(answer) : Infinity, ends: all.map(bottom) };
  });
}

describe("the first screen", () => {
  for (const [name, make] of Object.entries(REPORTS)) {
    for (const [width, dark] of [
      [1440, false],
      [1024, true],
      [390, false],
    ] as const) {
      it(`answers in the report ${name} at ${width}`, async () => {
        const opened = await bench.open(make(), { width, dark });
        const { page } = opened;
        await page.waitForSelector("h2.answer");
        expect(await page.innerText("h2.answer")).not.toBe("");
        const { answer, ends } = await places(opened);
        expect(ends.length).toBeGreaterThan(0);
        if (width !== 1024) for (const end of ends) expect(end).toBeLessThanOrEqual(ROOM);
        expect(answer).toBeLessThanOrEqual(ROOM / 2);
        expect(await layoutFaults(opened)).toEqual([]);
        clean(opened);
        await bench.leave(page);
      });
    }
  }

  it("has on a phone the answer, the chips and the bars before anything else", async () => {
    const opened = await bench.open(explained(), { width: 390 });
    const { page } = opened;
    const order = ["h2.answer", ".why", ".verdicts", ".bar-row:not(.head)", ".budget-key"];
    order.push(".budgets .controls", ".strips");
    const tops: number[] = [];
    for (const one of order) tops.push((await page.locator(one).first().boundingBox())!.y);
    expect(tops).toEqual([...tops].sort((a, b) => a - b));
    await bench.leave(page);
  });

  it("follows the baseline, the point and the picture, which the address keeps", async () => {
    const opened = await bench.open(geoReport({ repeats: 3 }));
    const { page } = opened;
    const before = await page.innerText("h2.answer");
    const against = page.getByRole("combobox", { name: "Against" });
    await against.selectOption("quic-1rtt");
    expect(await page.innerText("h2.answer")).not.toBe(before);
    expect(await page.innerText("h2.answer")).toContain("quic-1rtt");
    expect(await page.innerText(".bar-rows")).toContain("baseline");
    const points = page.locator(".figures .field .segments").first().locator("button");
    await points.last().click();
    expect(await points.last().getAttribute("aria-pressed")).toBe("true");
    await page.waitForFunction(
      () => /baseline=/.test(location.hash) && /point=/.test(location.hash),
    );
    const shown = await page.innerText("h2.answer");
    await page.reload();
    expect(await page.innerText("h2.answer")).toBe(shown);
    clean(opened);
    await bench.leave(page);
  });

  it("has bars from zero whose parts add up to the time, each with a tip", async () => {
    const opened = await bench.open(explained());
    const { page } = opened;
    const widths = await page.evaluate(() =>
      [...document.querySelectorAll(".bar-row .budget-bar")].map((bar) =>
        [...bar.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0),
      ),
    );
    // 8 s and 4 s, on an axis that begins at zero.
    expect(widths.length).toBe(2);
    expect(widths[0]! / widths[1]!).toBeCloseTo(2, 1);
    expect(await page.innerText(".bar-axis >> nth=0")).toMatch(/^0/);
    await page.locator(".budget-bar span").last().hover();
    const tip = (await page.innerText(".budget-tip")).replaceAll("\u00a0", " ");
    expect(tip).toContain("Slow start: 1.50 s 37.5 % of 4.00 s");
    expect(await page.innerText(".budget-key")).toMatch(/needed\s+Handshake.*causes\s+Slow start/s);
    clean(opened);
    await bench.leave(page);
  });

  it("names every part that is seen in a bar, and shows no others", async () => {
    const made = explained();
    // At the width of a bar, 3 px and a third of one.
    Object.assign(made.report.explanations![0]!.parts, { held_acks_s: 0.025, pacing_s: 0.003 });
    const opened = await bench.open(made);
    const [seen, named] = await opened.page.evaluate(() => {
      const colour = (el: Element): string => getComputedStyle(el).backgroundColor;
      const parts = [...document.querySelectorAll<HTMLElement>(".budget-bar [data-part]")];
      const visible = parts.filter((el) => getComputedStyle(el).visibility === "visible");
      return [visible, [...document.querySelectorAll(".budget-key .block")]].map((list) => [
        ...new Set(list.map(colour)),
      ]);
    });
    expect(seen!.length).toBe(3);
    expect([...seen!].sort()).toEqual([...named!].sort());
    clean(opened);
    await bench.leave(opened.page);
  });

  it("draws the causes of a page's time as its bar, if they add up to it", async () => {
    const made = explained();
    made.report.runs.forEach((run) => {
      Object.assign(run.flows[0]!, { onload_s: run.flows[0]!.completion_s });
    });
    made.report.summary = summarise(made.report.runs);
    const opened = await bench.open(made, { hash: "#metric=onload_s" });
    const { page } = opened;
    expect(await page.innerText(".budgets h3")).toContain("Page load and where the time went");
    expect(await page.locator(".bar-cell.causes").count()).toBe(0);
    expect(await page.locator(".bar-row [data-part]").count()).toBe(4);
    clean(opened);
    await bench.leave(page);
  });

  it("names every value of a sweep of names, in two lines if one has no room", async () => {
    const names = ["CRA 1 Mbps", "RBDC 2 Mbps", "VBDC 500 kB", "FCA, RBDC 2 Mbps"];
    const axis = sweepAxis("path.return.allocation", names);
    const made = sweepReport(
      [axis],
      ["tcp", "quic"],
      1,
      (p, v) => 5 + names.indexOf(p[axis.key]!) * (2 - v),
    );
    for (const width of [1440, 390]) {
      const opened = await bench.open(made, { width });
      const ticks = await opened.page.locator(".ratio-lines .tick").allTextContents();
      const words = ticks.join(" ");
      for (const name of names) expect(words).toContain(name);
      expect(await layoutFaults(opened)).toEqual([]);
      clean(opened);
      await bench.leave(opened.page);
    }
  });

  it("tells a queue of some time from a delay, and rounds the path's numbers", async () => {
    const made = singleReport();
    const [hop] = made.report.path!.hops;
    Object.assign(hop!, { forward: "32.011785 Mbps, queue 100 ms", return: "2 Mbps, queue 1 BDP" });
    const opened = await bench.open(made);
    const path = await opened.page.innerText(".strip-line .line >> nth=0");
    expect(path).toContain("32.01 Mbps · queue 100 ms");
    expect(path).toContain("2 Mbps · 1 BDP");
    await bench.leave(opened.page);
  });

  it("keeps its bars when it is printed", async () => {
    const opened = await bench.open(pageReport());
    const { page } = opened;
    await page.emulateMedia({ media: "print" });
    const kept = await page.evaluate(
      () => getComputedStyle(document.querySelector(".budget-bar span")!).printColorAdjust,
    );
    expect(kept).toBe("exact");
    await bench.leave(page);
  });

  it("does not move when the pointer enters and leaves a plot", async () => {
    const opened = await bench.open(geoReport({ repeats: 3 }), { width: 1280 });
    const { page } = opened;
    await bench.plots(opened);
    const tops = (): Promise<number[]> =>
      page.evaluate(() =>
        [...document.querySelectorAll(".panel")].map(
          (p) => p.getBoundingClientRect().top + scrollY,
        ),
      );
    const before = await tops();
    for (const over of await page.locator(".plot-area").all()) {
      const box = (await over.boundingBox())!;
      for (const f of [0.2, 0.5, 0.9]) {
        await page.mouse.move(box.x + f * box.width, box.y + box.height / 2);
        await page.waitForTimeout(60);
        const now = await tops();
        expect(now.map((y, i) => Math.abs(y - before[i]!) <= 0.5)).not.toContain(false);
      }
    }
    await bench.leave(page);
  });

  it("folds the figures of a run that are 0", async () => {
    const opened = await bench.open(geoReport({ repeats: 3 }));
    const { page } = opened;
    await bench.plots(opened);
    const facts = await page.locator(".run-card > dl dd").allInnerTexts();
    expect(facts.filter((text) => /^0(\s|$)/.test(text))).toEqual([]);
    const zeros = page.locator(".zeros").first();
    expect(await zeros.locator("summary").innerText()).toMatch(/^\d+ figures? of 0$/);
    await bench.leave(page);
  });
});
