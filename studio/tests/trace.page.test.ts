import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean, ink, layoutFaults, type Opened, type Options, view } from "./browser.ts";
import { HOSTILE, tracePage } from "./tracefixture.ts";

describe("the page of a trace", () => {
  const dir = mkdtempSync(join(tmpdir(), "bentpipe-trace-"));
  const file = join(dir, "trace.html");
  let bench: Bench;
  beforeAll(async () => {
    writeFileSync(file, tracePage());
    bench = await Bench.start();
  });
  afterAll(async () => {
    await bench?.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const open = (options: Options): Promise<Opened> =>
    bench.visit(pathToFileURL(file).href, options);

  for (const width of [1440, 1024, 390])
    for (const dark of [false, true])
      it(`fits a window of ${width} pixels, ${dark ? "dark" : "light"}`, async () => {
        const opened = await open({ width, dark });
        await bench.plots(opened);
        expect(await layoutFaults(opened)).toEqual([]);
        expect(await ink(opened, "[data-panel=sequence] .chart")).toBeGreaterThan(200);
        clean(opened);
        await bench.leave(opened.page);
      });

  it("has the answer, its size, the remedy and the bars on the first screen", async () => {
    const opened = await open({ width: 1440, height: 900 });
    const { page } = opened;
    expect(await page.innerText("h2.answer")).toBe("Flow control took 4.00 s of 6.00 s.");
    expect(await page.innerText(".more.help")).toMatch(
      /6\.60 MB \(the client\); saves about 3\.20/,
    );
    expect(await page.innerText(".path-facts")).toMatch(/Rate\s+not known\s+never filled/);
    const bottoms = await page.evaluate(() =>
      ["h2.answer", ".more.help", ".budgets .budget-bar", ".path-facts"].map(
        (where) => document.querySelector(where)!.getBoundingClientRect().bottom,
      ),
    );
    for (const bottom of bottoms) expect(bottom).toBeLessThan(720);
    await bench.leave(page);
  });

  it("has a bar on a phone that its times fit into, and options as code", async () => {
    const opened = await open({ width: 390 });
    const { page } = opened;
    const heights = await page.evaluate(() => {
      const bar = document.querySelector(".budgets .budget-bar")!;
      return [bar.clientHeight, bar.querySelector("span")!.getBoundingClientRect().height];
    });
    for (const height of heights) expect(height).toBeGreaterThanOrEqual(16);
    expect(await page.innerText("#help .below-list code")).toBe("--rate");
    clean(opened);
    await bench.leave(page);
  });

  it("shows what the file says as text", async () => {
    const opened = await open({});
    expect(await opened.page.innerText(".kicker-more")).toContain(HOSTILE);
    expect(await opened.page.title()).toBe("server.sqlog – Bentpipe");
    expect(await opened.page.locator("main img").count()).toBe(0);
    await bench.leave(opened.page);
  });

  it("sorts the requests by a column, and zooms", async () => {
    const opened = await open({});
    const { page } = opened;
    const first = (): Promise<string> => page.innerText("#requests tbody tr:first-child");
    expect(await first()).toMatch(/^1\s/);
    await page.getByRole("button", { name: "Size" }).click();
    expect(await first()).toMatch(/40\.0\skB/);
    await page.getByRole("button", { name: "Size ↓" }).click();
    expect(await first()).toMatch(/\s0\sB/);
    await bench.plots(opened);
    await page.evaluate(
      "document.querySelector('.panel').scrollIntoView({block: 'center', behavior: 'instant'})",
    );
    const whole = await view(opened);
    await bench.wheel(opened, -400);
    const closer = await view(opened);
    expect(closer[1] - closer[0]).toBeLessThan((whole[1] - whole[0]) * 0.6);
    clean(opened);
    await bench.leave(page);
  });
});
