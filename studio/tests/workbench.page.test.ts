/** What a reader sees of their runs beside the controls, and what stays while they change. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { noCommand, skipped } from "./command.ts";
import {
  dragTimes,
  editorText,
  keyTimes,
  notice,
  type PictureTimes,
  ran,
  retype,
  status,
  twoVariants,
} from "./editing.ts";
import { TestStudio } from "./serving.ts";

const SMALL = twoVariants("small", "Two ways", "500 kB");
const LONG = `repeat = 100000
${twoVariants("long", "Long", "500 kB").replace('queue = "0.5 BDP"', "loss = 0.01")}
[output]
time_series = "none"
`;
const SWEPT = `${twoVariants("swept", "Swept", "300 kB")}
[sweep]
"path.return.rate" = ["1 Mbps", "10 Mbps"]
`;

/** The lines of the picture, each as the path that is drawn. */
const lines = (page: Page, kind = ":not(.ghost)"): Promise<(string | null)[]> =>
  page
    .locator(`.picture-line${kind}`)
    .evaluateAll((all) => all.map((one) => one.getAttribute("d")));

/** Whether an element lies in the window as a whole. */
const inSight = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate((which) => {
    const box = document.querySelector(which)!.getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
  }, selector);

/** Waits until the picture is that of the run that the list shows first. */
async function pictured(page: Page): Promise<string> {
  await ran(page);
  // Runs that follow each other may change both between two questions.
  const both = (): Promise<(string | null)[]> =>
    page.evaluate(() => [
      document.querySelector(".runs li b")?.textContent ?? null,
      document.querySelector(".picture")?.getAttribute("data-run") ?? null,
    ]);
  await expect.poll(async () => ((ids) => ids[0] === ids[1])(await both())).toBe(true);
  return (await both())[0] ?? "";
}

/** Runs the scenario, and waits until the picture is that of this run. */
async function runs(page: Page): Promise<string> {
  const newest = (): Promise<string[]> => page.locator(".runs li b").allInnerTexts();
  await page.locator("button.main").waitFor();
  const before = (await newest())[0];
  await page.click("button.main");
  await expect.poll(async () => (await newest())[0]).not.toBe(before);
  return pictured(page);
}

describe.skipIf(skipped(noCommand))("the studio shows runs beside their controls", () => {
  let studio: TestStudio;
  beforeAll(async () => {
    studio = await TestStudio.start({
      "a.toml": SMALL.replace("Two ways", "Another"),
      "first.toml": SMALL,
      "long.toml": LONG,
      "swept.toml": SWEPT,
    });
  });
  afterEach(() => studio.cancelAll());
  afterAll(() => studio?.stop());

  it("shows the path on a phone before anything has run, below a bar of two lines", async () => {
    const { page } = await studio.open("a.toml", { width: 390, height: 844 });
    const top = (selector: string): Promise<number> =>
      page.evaluate((s) => document.querySelector(s)!.getBoundingClientRect().top, selector);
    expect(await top(".drawing")).toBeLessThan(600);
    await page.evaluate(() => scrollTo({ top: 400, behavior: "instant" }));
    expect(await top(".studio-bar select")).toBeLessThan(10);
    await page.close();
  });

  it("changes a curve by two clicks, without scrolling", async () => {
    const { page, errors } = await studio.open("");
    await runs(page);
    const before = await lines(page);
    expect(before).toHaveLength(2);
    const slider = page.getByLabel("Round-trip time, slider");
    // The form is drawn again when the text has been checked.
    await expect.poll(() => slider.boundingBox()).not.toBeNull();
    const box = (await slider.boundingBox())!;
    await slider.click({ position: { x: box.width * 0.3, y: box.height / 2 } });
    await expect.poll(() => lines(page)).not.toEqual(before);
    expect(await page.evaluate(() => scrollY)).toBe(0);
    for (const part of [".picture .plot", ".comparison tbody tr:nth-child(2)"])
      expect(await inSight(page, part), part).toBe(true);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("keeps measure, zoom and the report's place while runs follow each other", async () => {
    const { page, errors } = await studio.open("first.toml");
    await runs(page);
    const frame = page.frameLocator(".report iframe");
    await frame.locator("h1").waitFor();
    const inner = page.frames().find((one) => one !== page.mainFrame())!;
    await inner.evaluate(() => {
      Object.assign(globalThis, { kept: true });
      scrollTo({ top: 700, behavior: "instant" });
    });
    await page.selectOption("select[aria-label='Picture of']", "time:cwnd");
    const box = (await page.locator(".picture .plot").first().boundingBox())!;
    await page.mouse.move(box.x + 120, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 220, box.y + 110, { steps: 4 });
    await page.mouse.up();
    const ticks = (): Promise<string[]> =>
      page.locator(".picture .plot .tick[text-anchor='middle']").allTextContents();
    const zoomed = await ticks();
    expect(zoomed.length).toBeGreaterThan(1);
    await retype(page, SMALL.replace("500 kB", "3 MB"));
    await status(page, /2 runs/);
    const count = await page.locator(".runs li").count();
    await page.click("button.main");
    await expect.poll(() => page.locator(".runs li").count()).toBe(count + 1);
    const id = await pictured(page);
    expect(await page.inputValue("select[aria-label='Picture of']")).toBe("time:cwnd");
    expect(await ticks()).toEqual(zoomed);
    await expect.poll(() => page.innerText(".report .hint")).toContain(`run ${id}`);
    const median = await page.innerText(".comparison tbody tr:nth-child(2) td");
    await expect.poll(() => frame.locator("main").innerText()).toContain(median);
    const kept = await inner.evaluate(() => [(globalThis as { kept?: boolean }).kept, scrollY]);
    expect(kept).toEqual([true, 700]);
    await page.click("text=Whole");
    expect(await ticks()).not.toEqual(zoomed);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("shows a pinned run as a ghost behind the others", async () => {
    const { page } = await studio.open("first.toml");
    await runs(page);
    await page.locator(".runs li").first().getByText("Pin").click();
    expect(await lines(page, ".ghost")).toEqual([]);
    const pinned = await lines(page);
    const slider = page.getByLabel("Round-trip time, slider");
    const ghosts = page.locator(".picture-line.ghost");
    // A key on a form that is about to be drawn again is lost; the same key again changes nothing.
    const pressed = async (): Promise<number> => {
      await slider.press("Home");
      return ghosts.count();
    };
    await expect.poll(pressed).toBe(2);
    await pictured(page);
    expect(await page.innerText(".picture-key")).toContain("pinned");
    await page.selectOption("select[aria-label='Picture of']", "completion_s");
    await expect.poll(() => page.locator(".ghost-bar").count()).toBe(2);
    expect(await page.textContent(".bars-plot .end-value")).toMatch(/s\s*−\d/);
    expect(pinned).toHaveLength(2);
    await page.close();
  });

  it("changes the round-trip time and a rate by dragging at the drawing of the path", async () => {
    const { page, errors } = await studio.open("small.toml");
    await status(page, /2 runs/);
    const quoted = async (key: string): Promise<string> =>
      new RegExp(`${key} = "([^"]*)"`).exec(await editorText(page))?.[1] ?? "";
    const drag = async (selector: string, by: [number, number]): Promise<void> => {
      const box = (await page.locator(selector).first().boundingBox())!;
      const [left, top] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(left, top);
      await page.mouse.down();
      await page.mouse.move(left + by[0], top + by[1], { steps: 6 });
      await page.mouse.up();
    };
    const height = async (): Promise<number> =>
      (await page.locator(".drawing .node[data-drag]").boundingBox())!.y;
    const low = await height();
    // The picture of the first run is there, so that nothing moves any more.
    await runs(page);
    // A drag at a drawing that is about to move is lost; the same again finds it where it is.
    const dragged = async (): Promise<string> => {
      await drag(".drawing .node[data-drag]", [0, -60]);
      return quoted("rtt");
    };
    await expect.poll(dragged).not.toBe("");
    // Keys go on where the pointer let go.
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(
      "Round-trip time, slider",
    );
    await expect.poll(height).toBeLessThan(low);
    const before = await quoted("rate");
    const returned = async (): Promise<string> => {
      await drag('.drawing [data-drag="path.return.rate"]', [80, 0]);
      return editorText(page);
    };
    await expect.poll(returned).toMatch(/return\S* ?= ?.*rate|return\.rate/);
    expect(await quoted("rate")).not.toBe(before);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("says in the list what each run changed, and leaves out what a slider passed", async () => {
    const { page } = await studio.open("first.toml");
    const first = await runs(page);
    const slider = page.getByLabel("Queue to the client, slider");
    await slider.focus();
    for (let i = 0; i < 25; i++) await page.keyboard.press("ArrowRight");
    await expect.poll(() => editorText(page)).not.toContain("0.5 BDP");
    await expect.poll(() => page.innerText(".runs li b")).not.toBe(first);
    await pictured(page);
    const rows = await page.locator(".runs li .what").allInnerTexts();
    expect(rows[0]).toMatch(/forward\.queue [\d.]+ BDP → [\d.]+ BDP/);
    expect(rows.filter((row) => row.includes("cancelled"))).toEqual([]);
    const names = await page
      .locator(".runs button")
      .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
    expect(new Set(names).size).toBe(names.length);
    await page.close();
  });

  it("turns Run into Cancel, says how far a long run is, and answers keys meanwhile", async () => {
    const { page } = await studio.open("long.toml");
    const place = (): Promise<unknown> => page.locator("button.run").boundingBox();
    const before = await place();
    await page.click("button.run");
    await expect.poll(() => page.innerText("button.run")).toBe("Cancel");
    expect(await place()).toEqual(before);
    await expect
      .poll(() => page.innerText(".studio-bar .progress small"), { timeout: 20_000 })
      .toMatch(/[1-9]\d* of 200.000 runs · \d+ s · about .* left/);
    const typed: PictureTimes[] = [];
    for (let i = 0; i < 3; i++) typed.push(await keyTimes(page, 50));
    console.log(`typing while a long run goes on: ${typed.map(({ text }) => text).join("; ")}`);
    const dragged: PictureTimes[] = [];
    for (let i = 0; i < 3; i++) dragged.push(await dragTimes(page, "Download, slider", 40));
    console.log(`dragging while a long run goes on: ${dragged.map(({ text }) => text).join("; ")}`);
    await page.click("button.run.cancel");
    await notice(page, /cancelled at \d+ of 200.000 runs/);
    expect(await page.innerText("button.run")).toBe("Run");
    await page.close();
    // The best ones count: whatever else this machine does disturbs the others.
    expect(Math.min(...typed.map((one) => one.p95))).toBeLessThan(50);
    expect(Math.min(...dragged.map((one) => one.p95))).toBeLessThan(50);
  });

  it("has no slider for a key that the sweep sets, and draws the medians along it", async () => {
    const { page } = await studio.open("swept.toml");
    await status(page, /; (under a second|about)/);
    expect(await page.getByLabel("Rate to the server, slider").isVisible()).toBe(false);
    expect(await page.getByLabel("Rate to the client, slider").isVisible()).toBe(true);
    await runs(page);
    expect(await page.locator(".picture-mark").count()).toBe(4);
    const ticks = await page.locator(".picture .tick[text-anchor='middle']").allTextContents();
    expect(ticks.join()).toContain("Mbps");
    await page.close();
  });

  it("keeps the values of the form while the text has an error, and passes on hints", async () => {
    const { page } = await studio.open("first.toml");
    const values = (): Promise<string[]> =>
      page
        .locator(".slide:not([hidden]) input[type='text']")
        .evaluateAll((all) =>
          (all as HTMLInputElement[]).map((one) => one.value || one.placeholder),
        );
    await status(page, /; (under a second|about)/);
    const before = await values();
    expect(before).toContain("650 ms");
    for (const [from, to] of [
      ['congestion = "bbr3"', 'congestion = "bbr33"'],
      ['name = "cubic"', 'name = "cubic'],
    ] as const) {
      await retype(page, SMALL.replace(from, to));
      await status(page, /^line \d+ /);
      expect(await values()).toEqual(before);
    }
    await retype(page, SMALL.replace("congestion", "congestoin"));
    await status(page, /did you mean `congestion`/i);
    await page.close();
  });

  it("has sliders with ends, places and words of their own", async () => {
    const { page } = await studio.open("first.toml");
    const slider = (name: string) => page.getByLabel(`${name}, slider`);
    expect(await slider("Download").getAttribute("aria-valuetext")).toBe("500 kB");
    const place = async (name: string): Promise<number> =>
      Number(await slider(name).inputValue()) / Number(await slider(name).getAttribute("max"));
    expect(await place("Download")).toBeCloseTo(Math.log(50) / Math.log(20_000), 1);
    // No loss, and one run.
    expect(await place("Loss to the client")).toBe(0);
    expect(await place("Runs of each variant")).toBe(0);
    const ends = await page.locator(".slide:has-text('Download') .ends").innerText();
    expect(ends.replace(/\s+/g, " ")).toBe("10 kB 200 MB");
    expect(await page.locator("h1").allInnerTexts()).toEqual(["Bentpipe studio"]);
    await page.close();
  });

  it("opens first.toml at first, and names what the scenarios are about", async () => {
    const { page } = await studio.open("");
    expect(await page.inputValue("select[aria-label=Scenario]")).toBe("first.toml");
    const options = await page.locator("select[aria-label=Scenario] option").allInnerTexts();
    expect(options.slice(0, 2)).toEqual(["a.toml: Another", "first.toml: Two ways"]);
    await page.close();
  });

  it("takes a slider's change back wherever the focus is", async () => {
    const { page } = await studio.open("first.toml");
    await page.getByLabel("Queue to the client, slider").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => editorText(page)).not.toBe(SMALL);
    await page.keyboard.press("Control+z");
    await expect.poll(() => editorText(page)).toBe(SMALL);
    await page.keyboard.press("Control+Shift+z");
    await expect.poll(() => editorText(page)).not.toBe(SMALL);
    await page.close();
  });

  it("shows nothing of the scenario before after another was opened", async () => {
    const { page } = await studio.open("first.toml");
    page.on("dialog", (dialog) => void dialog.accept());
    await runs(page);
    await page.frameLocator(".report iframe").locator("h1").waitFor();
    await page.selectOption("select[aria-label=Scenario]", "a.toml");
    await status(page, /^Another/);
    expect(await page.locator(".comparison").count()).toBe(0);
    expect(await page.locator(".report iframe").count()).toBe(0);
    expect(await page.locator(".picture-line:visible").count()).toBe(0);
    expect(await page.innerText(".picture-empty")).toContain("Run the scenario");
    await page.selectOption("select[aria-label=Scenario]", "first.toml");
    await expect.poll(() => page.locator(".comparison").count()).toBe(1);
    await page.close();
  });
});
