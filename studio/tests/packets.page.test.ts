import { afterAll, beforeAll, expect, it } from "vitest";
import { Bench, clean, ink, layoutFaults, view } from "./browser.ts";
import { geoReport } from "./fixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

it("shows packets and ACKs between sender and receiver, zoomed with all other plots", async () => {
  const opened = await bench.open(geoReport(), { width: 1280 });
  const { page } = opened;
  await bench.plots(opened);
  const plot = page.locator(".panel[data-panel=packets]");
  // Folded, so that nobody pays for lines that are not asked for.
  expect(await plot.locator("canvas").count()).toBe(0);
  await plot.locator("summary").click();
  await page.waitForSelector(".panel[data-panel=packets] canvas");
  expect(await ink(opened, ".panel[data-panel=packets]")).toBeGreaterThan(500);
  expect(await plot.locator("button.chip > span").allTextContents()).toContain("packets");
  await plot.scrollIntoViewIfNeeded();
  const whole = await view(opened);
  const box = (await plot.locator(".plot-area").boundingBox())!;
  await page.mouse.move(box.x + 100, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + 180, box.y + 50, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes("zoom="));
  const now = await view(opened);
  expect(now[1] - now[0]).toBeLessThan((whole[1] - whole[0]) / 5);
  expect(await layoutFaults(opened)).toEqual([]);
  clean(opened);
  await bench.leave(page);
});

it("moves packets along the path with the cursor of the plots, and plays them", async () => {
  const opened = await bench.open(geoReport(), { width: 1280 });
  const { page } = opened;
  await bench.plots(opened);
  const card = page.locator(".path-player");
  await card.locator("summary").click();
  const cursor = (): Promise<string> => page.locator(".timebar .where >> nth=1").innerText();
  const slider = card.locator("input[type=range]");
  const seek = (share: number): Promise<number> =>
    slider.evaluate((el: HTMLInputElement, part) => {
      el.value = String(Number(el.min) + part * (Number(el.max) - Number(el.min)));
      el.dispatchEvent(new Event("input"));
      return Number(el.value);
    }, share);
  let then = 0;
  const drawn = new Set<string>();
  for (const share of [0.9, 0.7, 0.5, 0.3, 0.2]) {
    then = await seek(share);
    expect(Number.parseFloat((await cursor()).replace("cursor ", ""))).toBeCloseTo(then, 1);
    drawn.add((await card.locator("canvas").screenshot()).toString("base64"));
  }
  // Another time is another picture.
  expect(drawn.size).toBeGreaterThan(3);
  await card.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(
    (from) => Number(document.querySelector<HTMLInputElement>(".path-player input")!.value) > from,
    then,
  );
  await card.getByRole("button", { name: "Pause" }).click();
  expect(await layoutFaults(opened)).toEqual([]);
  clean(opened);
  await bench.leave(page);
});

it("puts the baseline beside the best, on one axis, with one click", async () => {
  const opened = await bench.open(geoReport(), { width: 1280 });
  const { page } = opened;
  await bench.plots(opened);
  const button = page.getByRole("button", { name: "Baseline and best" });
  const title = (await button.getAttribute("title"))!;
  await button.click();
  await page.waitForFunction(() => document.querySelectorAll(".cells.two").length > 0);
  const names = await page.locator(".cells.two >> nth=0 >> .column-name").allTextContents();
  expect(names.map((name) => name.split(" · ")[0])).toEqual(
    /^(.+) beside (.+), the/.exec(title)!.slice(1),
  );
  expect(await button.count()).toBe(0);
  await page.waitForFunction(() => location.hash.includes("versus="));
  expect(await layoutFaults(opened)).toEqual([]);
  clean(opened);
  await bench.leave(page);
});
