import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clean } from "./browser.ts";
import { noCommand, noEngine, skipped } from "./command.ts";
import {
  accessibilityFaults,
  answerTimes,
  editorText,
  keyTimes,
  notice,
  ORBIT,
  ran,
  retype,
  status,
  twoVariants,
} from "./editing.ts";
import { TestStudio } from "./serving.ts";

const HOSTILE = '<img src=x onerror="document.title=1">';
const SMALL = twoVariants("small", HOSTILE, "500 kB");
const LONG = `repeat = 100000
${SMALL.replace('queue = "0.5 BDP"', "loss = 0.01").replace('"small"', '"long"')}
[output]
time_series = "none"
`;

const GROUP = `name = "group"
headline = "link_share_percent"
[path]
rtt = "40 ms"
forward = { rate = "5 Mbps" }
return = { rate = "5 Mbps" }
[[flow]]
name = "several"
count = 2
bulk = { duration = "2 s" }
[[flow]]
name = "one"
bulk = { duration = "2 s" }
`;

describe.skipIf(skipped(noCommand))("the studio", () => {
  let studio: TestStudio;
  beforeAll(async () => {
    studio = await TestStudio.start({
      "small.toml": SMALL,
      "long.toml": LONG,
      "orbit.toml": ORBIT,
      "group.toml": GROUP,
    });
  });
  afterAll(() => studio?.stop());

  it("shows first what a scenario is about, in its medians and in the report", async () => {
    const { page } = await studio.open("group.toml");
    await page.click("button.main");
    await ran(page);
    const rows = page.locator(".comparison tbody tr");
    await rows.first().waitFor();
    expect(await rows.nth(0).innerText()).toBe("Share of the link");
    expect(await rows.nth(1).innerText()).toMatch(/several\s+[67]\d\.\d\s%/);
    const answer = page.frameLocator(".report iframe").locator("h2.answer");
    await expect.poll(() => answer.innerText()).toContain("share of the link");
    await page.close();
  });

  it("shows an error in its place, and runs the text once it is right", async () => {
    const { page, errors } = await studio.open("small.toml");
    await retype(page, SMALL.replace("geo-50-10", "geo-50"));
    await status(page, /^line 6 /);
    expect(await page.isDisabled("button.main")).toBe(true);
    expect(await page.textContent(".cm-lintRange-error")).toBe('"geo-50"');
    await page.click(".status button");
    await retype(page, SMALL);
    await status(page, /2 runs/);
    await page.keyboard.press("Control+Enter");
    await ran(page);
    const heads = page.locator(".comparison tbody tr:not(.group) th");
    // They are drawn once the results have come.
    await heads.first().waitFor();
    const rows = await heads.allInnerTexts();
    expect(rows.slice(0, 2).map((row) => row.trim())).toEqual(["cubic", "bbr3"]);
    const frame = page.frameLocator(".report iframe");
    await frame.locator("h1").waitFor();
    expect(await frame.locator("h1").innerText()).toBe(HOSTILE);
    expect(await page.title()).toBe("Bentpipe studio");
    expect(errors).toEqual([]);
    await page.close();
  });

  it("changes one key with a slider, keeps comments, and answers at once", async () => {
    const { page, errors } = await studio.open("small.toml");
    const slider = page.getByLabel("Queue to the client, slider");
    await slider.focus();
    for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
    await expect.poll(() => editorText(page)).toContain('queue = "0.606 BDP" } # also this one');
    expect(await editorText(page)).toBe(SMALL.replace("0.5 BDP", "0.606 BDP"));
    await ran(page);
    await page.click(".cm-content");
    for (let i = 0; i < 20; i++) await page.keyboard.press("Control+z");
    await expect.poll(() => editorText(page)).toBe(SMALL);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("shows pinned runs side by side", async () => {
    const { page } = await studio.open("small.toml");
    await page.click("button.main");
    await ran(page);
    await page.locator(".runs li").first().getByText("Pin").click();
    await retype(page, SMALL.replace("500 kB", "1 MB"));
    await status(page, /2 runs/);
    const before = await page.locator(".runs li").count();
    await page.click("button.main");
    await expect.poll(() => page.locator(".runs li").count()).toBe(before + 1);
    await ran(page);
    await expect.poll(() => page.locator(".comparison thead th").count()).toBe(2);
    const cell = await page.locator(".comparison tbody tr:not(.group) td").nth(1).innerText();
    expect(cell).toMatch(/s \+\d/);
    await page.close();
  });

  it("cancels a long run and shows what had ended", async () => {
    const { page } = await studio.open("long.toml");
    await page.click("button.main");
    await notice(page, /[1-9]\d* of 200.000 runs/);
    // The list changes while a person presses and releases the button.
    await page.locator(".runs").getByText("Cancel").first().hover();
    await page.mouse.down();
    await new Promise((released) => setTimeout(released, 300));
    await page.mouse.up();
    await notice(page, /cancelled at \d+ of 200.000 runs/);
    await page.close();
  });

  it("shows the orbit on the globe, the capacity of the route, and how long it takes", async () => {
    const { page, errors } = await studio.open("orbit.toml");
    await page.waitForSelector(".outlook .sky-stage");
    expect(await page.innerText(".outlook .sky-key")).toContain("66 satellites");
    expect(await page.locator(".outlook h3").allInnerTexts()).toEqual(["Round-trip time", "Sky"]);
    await status(page, /1 run; (under a second|about)/);
    expect(await page.evaluate(() => typeof globalThis.BentpipeGlobe)).toBe("object");
    await retype(page, SMALL);
    await expect.poll(() => page.locator(".outlook canvas").count()).toBe(0);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("answers a slider within 300 ms, and typing at any time", async () => {
    const { page } = await studio.open("small.toml");
    await retype(page, SMALL.replace("500 kB", "2 MB"));
    await status(page, /2 runs/);
    const slider = await answerTimes(page, "Queue to the client, slider", 8);
    console.log(`slider to new medians in the studio, 2 MB, two variants: ${slider} ms`);
    // The best one counts: whatever else this machine does disturbs the others.
    expect(Math.min(...slider)).toBeLessThan(300);
    await retype(page, LONG);
    await status(page, /200.000 runs/);
    await page.click("button.main");
    await notice(page, /[1-9]\d* of 200.000 runs/);
    // The calmest of three rounds counts, for the same reason.
    const p95: number[] = [];
    for (let round = 0; round < 3; round++) {
      const times = await keyTimes(page, 50);
      console.log(`typing while runs go on in the studio: ${times.text}`);
      p95.push(times.p95);
    }
    // Before the figure is judged: the other tests would wait for runs that go on.
    await page.click("button.run.cancel");
    await notice(page, /cancelled/);
    await page.close();
    expect(Math.min(...p95)).toBeLessThan(50);
  });

  it.skipIf(noEngine !== null)("exports a report that opens offline and runs there", async () => {
    const { page } = await studio.open("small.toml");
    await page.click("button.main");
    await ran(page);
    const downloaded = page.waitForEvent("download");
    await page.click("text=Export");
    const file = studio.path("export.html");
    await (await downloaded).saveAs(file);
    await page.close();
    const opened = await studio.bench.visit(pathToFileURL(file).href);
    await opened.page.click("text=Change and run");
    await opened.page.waitForSelector(".cm-line");
    await status(opened.page, /2 runs/);
    await retype(opened.page, SMALL.replace("500 kB", "300 kB"));
    await status(opened.page, /2 runs/);
    await opened.page.click(".studio-bar button.main");
    await ran(opened.page);
    await expect.poll(() => opened.page.locator(".runs li").count()).toBe(2);
    clean(opened);
    await opened.page.close();
  });

  it("saves a text, and only when asked", async () => {
    const { page } = await studio.open("small.toml");
    const changed = SMALL.replace("500 kB", "600 kB");
    await retype(page, changed);
    await status(page, /2 runs/);
    expect(studio.text("small.toml")).toBe(SMALL);
    await page.keyboard.press("Control+s");
    await notice(page, /saved small.toml/);
    expect(studio.text("small.toml")).toBe(changed);
    await page.close();
  });

  it("completes keys and values", async () => {
    const { page } = await studio.open("long.toml");
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\n[[variant]]\nname = 'c'\nhandsh");
    await page.waitForSelector(".cm-tooltip-autocomplete");
    expect(await page.innerText(".cm-tooltip-autocomplete li")).toContain("handshake");
    await page.close();
  });

  it("answers no other page", async () => {
    const page = await studio.other();
    await page.goto("data:text/html,<title>other</title>");
    const before = studio.text("small.toml");
    const outcome = await page.evaluate(async (url) => {
      const asked = [
        fetch(`${url}api/scenarios`),
        fetch(`${url}api/runs?file=small.toml`, { method: "POST", body: "x", mode: "no-cors" }),
        fetch(`${url}api/scenarios/small.toml`, { method: "PUT", body: "x" }),
      ];
      const ended = await Promise.allSettled(asked);
      return ended.map((one) => (one.status === "fulfilled" ? one.value.type : "refused"));
    }, studio.url);
    for (const one of outcome) expect(["refused", "opaque"]).toContain(one);
    expect(studio.text("small.toml")).toBe(before);
    await page.close();
  });

  it.each([
    { dark: false, width: 1440 },
    { dark: true, width: 1440 },
    { dark: true, width: 1024 },
    { dark: false, width: 390 },
    { dark: true, width: 390 },
  ])("has nothing for axe to find, and fits: %o", async (options) => {
    const { page } = await studio.open("small.toml", options);
    await page.click("button.main");
    await ran(page);
    const faults = await accessibilityFaults(page, ["html"], "any");
    expect(faults).toEqual([]);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(options.width);
    await page.close();
  });
});
