import { afterAll, beforeAll, expect, it } from "vitest";
import { metricOf, RUN_METRICS } from "../src/data/metrics.ts";
import { Bench, clean, layoutFaults } from "./browser.ts";
import { matrixReport } from "./matrixfixture.ts";
import { lossReport } from "./sweepfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

const matrix = matrixReport();

for (const dark of [false, true]) {
  for (const width of [1440, 400]) {
    it(`eight controllers compete in a heat map at ${width}, dark: ${dark}`, async () => {
      const opened = await bench.open(matrix, { width, dark });
      const { page } = opened;
      expect(await page.locator("#results .heat").count()).toBe(2);
      expect(await page.locator("#results .heat td button").count()).toBe(128);
      expect(await page.locator(".sweep-dot").count()).toBe(0);
      expect(await page.innerText(".sweep h3")).toBe("Share of near against far");
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>(".heat button, .heat th")]
          .filter((e) => e.scrollWidth > e.clientWidth + 1)
          .map((e) => e.innerText),
      );
      expect(cut).toEqual([]);
      expect(await layoutFaults(opened)).toEqual([]);
      clean(opened);
      await bench.leave(page);
    });
  }
}

it("a cell says both goodputs, and a click opens its run", async () => {
  const opened = await bench.open(matrix);
  const { page } = opened;
  const run = matrix.report.runs.find(
    (r) =>
      r.point["flow.near.congestion"] === "geo-reno" &&
      r.point["flow.far.congestion"] === "newreno",
  )!;
  const cell = page
    .locator("#results .heat")
    .first()
    .locator("tbody tr")
    .nth(1)
    .locator("button")
    .first();
  const [near, far] = run.flows.map((f) => f.goodput_mbps!);
  expect(await cell.innerText()).toBe(((near! / (near! + far!)) * 100).toFixed(0));
  await cell.hover();
  const tip = (await page.innerText("#results .heat-tip")).replaceAll("\u00a0", " ");
  for (const words of [
    "geo-reno against newreno",
    `near ${near!.toFixed(2)} Mbps`,
    `far ${far!.toFixed(2)} Mbps`,
  ])
    expect(tip).toContain(words);
  expect(await page.locator("#results .heat button.shown").count()).toBe(1);
  await cell.click();
  await page.waitForFunction(() => location.hash.includes("run=1"));
  expect(await cell.getAttribute("class")).toContain("shown");
  expect(await page.locator("#results .heat button.shown").count()).toBe(1);
  await page.waitForSelector(".chart canvas");
  expect((await page.innerText(".run-facts")).toLowerCase()).toContain("jain's index");
  // Where no time series was recorded, its runs are shown.
  await page
    .locator("#results .heat")
    .first()
    .locator("tbody tr")
    .nth(4)
    .locator("button")
    .nth(2)
    .click();
  expect(await page.innerText(".dist h3")).toContain("cubic");
  expect(await layoutFaults(opened)).toEqual([]);
  clean(opened);
  await bench.leave(page);
});

it("offers other metrics and lines, flows that lack them, and all flows together", async () => {
  const opened = await bench.open(matrix);
  const { page } = opened;
  const labels = (name: string): Promise<string[]> =>
    page.locator(`#results label:has(span:text-is("${name}")) option`).allTextContents();
  const shared = RUN_METRICS.map((name) => metricOf(name).label);
  expect((await labels("Metric")).slice(0, 7)).toEqual(shared);
  await page.selectOption("#results select >> nth=0", { label: shared.at(-1)! });
  expect(await page.locator("#results .heat td.none").count()).toBe(
    matrix.report.runs.filter((r) => r.fairness!.convergence_s === null).length,
  );
  expect(await page.locator("#results label:has(span:text-is('Flow'))").count()).toBe(0);
  await page.selectOption("#results select >> nth=0", { label: "Goodput" });
  expect(await labels("Flow")).toEqual(["near", "far", "ping"]);
  await page.selectOption("#results label:has(span:text-is('Flow')) select", { label: "ping" });
  // It has no goodput: what it has is shown.
  expect(await page.locator("#results select >> nth=0").inputValue()).toBe("packets_sent");
  expect(await page.innerText("#table tbody tr")).not.toContain("–");
  await page.selectOption("#results select >> nth=0", { label: "Goodput" });
  expect(await page.locator("#results select >> nth=1").inputValue()).toContain("near");
  await page.selectOption("#results select >> nth=0", { label: "Jain's index" });
  await page.selectOption("#results label:has(span:text-is('Picture')) select", { label: "lines" });
  expect(await page.locator("#results .heat").count()).toBe(0);
  expect(await page.locator("#results .sweep-dot").count()).toBe(128);
  await page.waitForFunction(() => location.hash.includes("picture=lines"));
  clean(opened);
  await bench.leave(page);
});

it("any sweep of two keys with three values each may be one", async () => {
  const opened = await bench.open(lossReport(["cubic", "newreno"], 3));
  const { page } = opened;
  expect(await page.locator("#results .heat").count()).toBe(0);
  await page.selectOption("#results label:has(span:text-is('Picture')) select", {
    label: "heat map",
  });
  expect(await page.locator("#results .heat-map h4").allTextContents()).toEqual([
    "cubic",
    "newreno",
  ]);
  expect(await page.locator("#results .heat td button").count()).toBe(60);
  await page.locator("#results .heat td button").first().click();
  expect(await page.innerText(".dist h3")).toContain("rtt 100 ms, loss 0 %");
  expect(await layoutFaults(opened)).toEqual([]);
  clean(opened);
  await bench.leave(page);
});
