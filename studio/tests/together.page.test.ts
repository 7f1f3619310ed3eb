import { afterAll, beforeAll, expect, it } from "vitest";
import { Bench, clean, layoutFaults, view } from "./browser.ts";
import { phaseReport } from "./phasefixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

it("draws all flows of a run together, each with its name and value at the cursor", async () => {
  const opened = await bench.open(phaseReport(), { width: 1280, height: 720 });
  const { page } = opened;
  await bench.plots(opened);
  const alone = await view(opened);
  await page.selectOption("#series select >> nth=1", { label: "all together" });
  await page.waitForSelector(".panel[data-panel=goodput]");
  expect(await page.locator(".panel h3").allTextContents()).toEqual([
    "Goodput of all flows",
    "Data received by all flows",
    "Congestion windows of all flows",
    "Bytes in flight of all flows",
    "Smoothed RTT of all flows",
    "Link throughput",
  ]);
  for (const id of ["goodput", "received", "window"])
    expect(
      await page.locator(`.panel[data-panel=${id}] button.chip > span`).allTextContents(),
    ).toEqual(["resumed", "probing"]);
  // The second flow began two seconds after the first and ended later.
  expect((await view(opened))[1]).toBeGreaterThan(alone[1] + 2);
  await page.locator(".panel[data-panel=goodput]").scrollIntoViewIfNeeded();
  const box = (await page.locator(".plot-area").first().boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  for (const text of await page
    .locator(".panel[data-panel=goodput] .chip output")
    .allTextContents())
    expect(text).toMatch(/bps$/);
  expect(await page.locator(".phases").count()).toBe(0);
  expect(await page.innerText(".axis-note")).toContain("any flow");
  expect(await layoutFaults(opened)).toEqual([]);
  await page.waitForFunction(() => location.hash.includes("traceFlow=all"));
  await page.selectOption("#series select >> nth=1", { label: "probing" });
  await page.waitForSelector(".panel[data-panel=sequence]");
  clean(opened);
  await bench.leave(page);
});
