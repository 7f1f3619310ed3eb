import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CAREFUL, type PhaseKind } from "../src/data/phases.ts";
import { phaseColour } from "../src/format/palette.ts";
import { Bench, clean, layoutFaults, type Opened } from "./browser.ts";
import { geoReport } from "./fixture.ts";
import { phaseReport } from "./phasefixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

const panel = (id: string): string => `.panel[data-panel=${id}]`;

/** How many pixels of a plot have exactly the strip colour of a phase. */
async function inStrip(
  { page }: Opened,
  id: string,
  kind: PhaseKind,
  dark = false,
): Promise<number> {
  const rgb = [1, 3, 5].map((i) => parseInt(phaseColour(kind, dark).head.slice(i, i + 2), 16));
  return page.locator(`${panel(id)} canvas`).evaluate((c: HTMLCanvasElement, rgb) => {
    // From a copy: the browser warns where a page's own canvas is read again and again.
    const copy = Object.assign(document.createElement("canvas"), {
      width: c.width,
      height: c.height,
    }).getContext("2d", { willReadFrequently: true })!;
    copy.drawImage(c, 0, 0);
    const { data } = copy.getImageData(0, 0, c.width, c.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
      if (
        data[i] === rgb[0] &&
        data[i + 1] === rgb[1] &&
        data[i + 2] === rgb[2] &&
        data[i + 3] === 255
      )
        n++;
    return n;
  }, rgb);
}

/** Moves the mouse over a plot, at a share of its width. */
async function pointAt({ page }: Opened, id: string, share: number): Promise<void> {
  const box = (await page.locator(`${panel(id)} .plot-area`).boundingBox())!;
  await page.mouse.move(box.x + box.width * share, box.y + 40);
}

const said = ({ page }: Opened, id: string): Promise<string> =>
  page.innerText(`${panel(id)} .phases output`);

describe("phases", () => {
  const fixture = phaseReport();
  const { phases } = fixture.report.traces[0]!.flows[0]!;

  for (const dark of [false, true]) {
    for (const [width, height] of [
      [1440, 900],
      [1280, 720],
      [400, 800],
    ] as const) {
      it(`are bands behind window, RTT and pacing rate at ${width}, dark: ${dark}`, async () => {
        const opened = await bench.open(fixture, { width, height, dark });
        await bench.plots(opened);
        expect(await opened.page.locator(".phases").count()).toBe(3);
        for (const id of ["window", "rtt", "pacing"]) {
          await opened.page.locator(panel(id)).scrollIntoViewIfNeeded();
          await opened.page.waitForTimeout(150);
          for (const kind of CAREFUL)
            expect(await inStrip(opened, id, kind, dark), `${kind} in ${id}`).toBeGreaterThan(
              width / 4,
            );
        }
        expect(await opened.page.innerText(`${panel("window")} .phases`)).toMatch(
          /phase.*reconnaissance.*unvalidated.*validating.*safe retreat.*backing off/s,
        );
        expect(await layoutFaults(opened)).toEqual([]);
        clean(opened);
        await bench.leave(opened.page);
      });
    }
  }

  it("are named at the cursor, the same in every plot, by mouse and keyboard", async () => {
    const opened = await bench.open(fixture, { hash: "#zoom=0,4" });
    const { page } = opened;
    await bench.plots(opened);
    await page.locator(panel("window")).scrollIntoViewIfNeeded();
    for (const [i, { t_s, label }] of phases.slice(0, 4).entries()) {
      await pointAt(opened, "window", (t_s + phases[i + 1]!.t_s) / 8);
      for (const id of ["window", "rtt", "pacing"]) expect(await said(opened, id)).toBe(label);
    }
    await pointAt(opened, "window", phases[0]!.t_s / 8);
    expect(await said(opened, "window")).toBe("");
    await page.focus(".stack");
    for (let i = 0; i < 12; i++) await page.keyboard.press(".");
    expect(await said(opened, "window")).toBe(phases[0]!.label);
    clean(opened);
    await bench.leave(page);
  });

  it("follow zoom and window, and go where they are switched off", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    await bench.plots(opened);
    await page.locator(panel("window")).scrollIntoViewIfNeeded();
    await page.waitForTimeout(150);
    const whole = await inStrip(opened, "window", "unvalidated");
    await page.focus(".stack");
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowLeft");
    await pointAt(opened, "window", 0.2);
    await page.focus(".stack");
    await page.keyboard.press("+");
    await page.waitForTimeout(150);
    const closer = await inStrip(opened, "window", "unvalidated");
    expect(closer / whole).toBeGreaterThan(1.3);
    await page.click(`${panel("window")} .phases button`);
    await page.waitForTimeout(150);
    expect(await inStrip(opened, "window", "unvalidated")).toBe(0);
    expect(await page.getAttribute(`${panel("window")} .phases button`, "aria-pressed")).toBe(
      "false",
    );
    await page.locator(panel("pacing")).scrollIntoViewIfNeeded();
    await page.waitForTimeout(150);
    expect(await inStrip(opened, "pacing", "unvalidated")).toBeGreaterThan(0);
    clean(opened);
    await bench.leave(page);
  });

  it("are those of the flow that is chosen, unknown ones among them", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    await bench.plots(opened);
    await page.selectOption("#series select >> nth=1", { label: "probing" });
    await page.waitForFunction(
      () => !document.querySelector(".phases")!.textContent.includes("unvalidated"),
    );
    await page.locator(panel("window")).scrollIntoViewIfNeeded();
    await page.waitForTimeout(150);
    expect(await inStrip(opened, "window", "unvalidated")).toBe(0);
    expect(await inStrip(opened, "window", "backing off")).toBeGreaterThan(100);
    const [, end] = (await page.textContent(".timebar .where"))!.split(" to ").map(parseFloat);
    await pointAt(opened, "window", 4 / end!);
    expect(await said(opened, "window")).toBe("a new phase");
    clean(opened);
    await bench.leave(page);
  });

  it("are absent where the report knows none", async () => {
    const bare = geoReport({ repeats: 1, sizes: ["2 MB"] });
    for (const flow of bare.report.traces.flatMap((t) => t.flows)) flow.phases = [];
    const opened = await bench.open(bare);
    await bench.plots(opened);
    expect(await opened.page.locator(".phases").count()).toBe(0);
    expect(await opened.page.innerText(panel("window"))).not.toContain("Careful Resume");
    clean(opened);
    await bench.leave(opened.page);
  });
});
