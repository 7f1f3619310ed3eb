import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean, layoutFaults, type Opened, type Options } from "./browser.ts";
import { noEngine, skipped, Workplace } from "./command.ts";
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

/** Largest size of what an editable report has more than a report, in bytes. */
const MAX_MORE = 2_100_000;
const HOSTILE = '</script><img src=x onerror="document.title=1"><!--';
const TRACE = "1\n2\n3\n5\n8\n13\n21\n34\n";
const SCENARIO = twoVariants("hostile", HOSTILE, "2 MB", "repeat = 1\n");
const TRACED = `name = "traced"
[path]
rtt = "40 ms"
forward = { rate = { trace = "</script><b>.trace" } }
return = { rate = "1 Mbps" }
[workload]
download = "100 kB"
`;

/** A path whose capacity changes, with a name for its hop. */
const FADING = `name = "fading"
title = '${HOSTILE}'
[[path.hop]]
name = "link"
forward = { delay = "300 ms", rate = { schedule = [
  { at = "0 s", rate = "50 Mbps" }, { at = "20 s", rate = "0 bps" },
  { at = "30 s", rate = "5 Mbps" },
] } }
return = { rate = "5 Mbps", delay = "300 ms" }
[workload]
download = "1 MB"
`;
const FLOOD = `name = "flood"
[path]
rtt = "10 s"
forward = { rate = "10 Gbps", queue = "10 BDP" }
return = { rate = "10 Gbps" }
[workload]
download = "500 MB"
[defaults]
initial_window = 10000
`;
const GEO = (size: string): string => `name = "geo"
[path]
profile = "geo-50-10"
[workload]
download = "${size}"
`;

describe.skipIf(skipped(noEngine))("an editable report", () => {
  const place = new Workplace();
  let bench: Bench;

  /** Opens a report from the disk, and its editor. */
  async function edit(file: string, options: Options = {}): Promise<Opened> {
    const opened = await bench.visit(pathToFileURL(file).href, options);
    await opened.page.click("text=Change and run");
    await opened.page.waitForSelector(".cm-line");
    await status(opened.page, /runs?\b/);
    return opened;
  }

  const run = (page: Page): Promise<void> => page.click(".studio-bar button.main");

  /** Runs the scenario that the page came with: it works still. */
  async function runsAgain(page: Page): Promise<void> {
    await retype(page, SCENARIO);
    await status(page, /2 runs/);
    await run(page);
    await ran(page);
  }

  let file = "";
  beforeAll(async () => {
    bench = await Bench.start();
    file = place.exported("hostile", SCENARIO);
  });
  afterAll(async () => {
    await bench?.close();
    place.remove();
  });

  it("is at most 2.1 MB larger than the report", () => {
    const plain = statSync(join(place.dir, "hostile/report.html")).size;
    expect(statSync(file).size - plain).toBeLessThan(MAX_MORE);
  });

  it("opens from the disk, edits, shows an error in place, and runs", async () => {
    const opened = await edit(file);
    const { page } = opened;
    expect(await page.innerText("h1")).toBe(HOSTILE);
    expect(await editorText(page)).toBe(SCENARIO);
    await retype(page, SCENARIO.replace('"geo-50-10"', '"geo-50"'));
    await status(page, /line 7.*no profile is named/s);
    expect(await page.isDisabled(".studio-bar button.main")).toBe(true);
    expect(await page.textContent(".cm-lintRange-error")).toBe('"geo-50"');
    await retype(page, SCENARIO.replace("2 MB", "3 MB"));
    await status(page, /2 runs/);
    await page.keyboard.press("Control+Enter");
    await ran(page);
    await expect
      .poll(() => page.locator("pre").allTextContents())
      .toContainEqual(expect.stringContaining('download = "3 MB"'));
    expect(await page.innerText("h1")).toBe(HOSTILE);
    expect(await page.title()).toContain("Bentpipe");
    clean(opened);
    await page.close();
  });

  it("gives the results of the command", async () => {
    const { page } = await edit(file);
    const shown = (): Promise<string[]> => page.locator("#table tbody td").allInnerTexts();
    const before = await shown();
    await retype(page, `${SCENARIO}\n`);
    await status(page, /2 runs/);
    await run(page);
    await ran(page);
    await expect.poll(() => page.locator(".runs li").count()).toBe(2);
    expect(await shown()).toEqual(before);
    // The report's styles are beside the editor's.
    const width = async (what: string): Promise<number> =>
      (await page.locator(what).first().boundingBox())!.width;
    expect(await width(".runs li")).toBe(await width(".runs"));
    await page.close();
  });

  it("answers a slider at once", async () => {
    const { page, errors } = await edit(file);
    const slider = page.getByLabel("Queue to the client, slider");
    await slider.focus();
    for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
    await expect
      .poll(() => editorText(page), { timeout: 20_000 })
      .toContain('queue = "0.606 BDP" } # also this one');
    await ran(page);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("answers within a second, and 10 MB over GEO within half of one", async () => {
    const { page } = await edit(file);
    await retype(page, GEO("2 MB"));
    await status(page, /1 run/);
    const slider = await answerTimes(page, "Queue to the client, slider", 8);
    await retype(page, GEO("10 MB"));
    await status(page, /1 run/);
    const large = await answerTimes(page, "Queue to the client, slider", 8);
    console.log(`slider to new median in the page: 2 MB ${slider} ms; 10 MB ${large} ms`);
    // The best one counts: whatever else this machine does disturbs the others.
    expect(Math.min(...slider)).toBeLessThan(1000);
    expect(Math.min(...large)).toBeLessThan(500);
    await page.close();
  });

  it("does not hold up typing while it runs", async () => {
    const { page } = await edit(file);
    const long = SCENARIO.replace("repeat = 1", "repeat = 400").replace("2 MB", "100 kB");
    await retype(page, long.replace('queue = "0.5 BDP"', "loss = 0.01"));
    await status(page, /800 runs/);
    await run(page);
    await notice(page, /[1-9]\d* of 800 runs/);
    const { p95, text } = await keyTimes(page, 60);
    console.log(`typing while runs go on in the page: ${text}`);
    expect(p95).toBeLessThan(50);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await notice(page, /cancelled/);
    await page.close();
  });

  it("shows the path over time, and how long it takes", async () => {
    const opened = await edit(file);
    const { page } = opened;
    await retype(page, FADING);
    await page.waitForSelector(".outlook canvas");
    expect(await page.locator(".outlook h3").allInnerTexts()).toEqual(["Capacity"]);
    await status(page, /1 run; (under a second|about)/);
    expect(await page.locator("img").count()).toBe(0);
    await retype(page, ORBIT);
    await page.waitForSelector(".outlook .sky-stage");
    expect(await page.innerText(".outlook .sky-key")).toContain("66 satellites");
    await retype(page, SCENARIO);
    await expect.poll(() => page.locator(".outlook canvas").count()).toBe(0);
    clean(opened);
    await page.close();
  });

  it("cancels at once, and goes on", async () => {
    const { page } = await edit(file);
    const long = SCENARIO.replace("repeat = 1", "repeat = 400").replace(
      'queue = "0.5 BDP"',
      'queue = "0.5 BDP", loss = 0.01',
    );
    await retype(page, long.replace("2 MB", "100 kB"));
    await status(page, /800 runs/);
    await run(page);
    await notice(page, /[1-9]\d* of 800 runs/);
    const begun = Date.now();
    await page.click("text=Cancel");
    await notice(page, /cancelled at \d+ of 800 runs/);
    expect(Date.now() - begun).toBeLessThan(5000);
    await runsAgain(page);
    await page.close();
  });

  it("says what the command is for what is too large", async () => {
    const { page } = await edit(file);
    await retype(page, SCENARIO.replace("2 MB", "100 GB"));
    await status(page, /2 runs/);
    await run(page);
    await notice(page, /packets; a page runs up to 2000000.*bentpipe run hostile\.toml/);
    await page.close();
  });

  it("shows markup in names as text", async () => {
    const opened = await edit(file);
    const { page } = opened;
    await retype(page, SCENARIO.replace('"bbr3"\n', `'${HOSTILE}'\n`));
    await status(page, /line 17.*<img src=x/s);
    expect(await page.locator("img").count()).toBe(0);
    clean(opened);
    await page.close();
  });

  it.each([
    ["huge numbers", SCENARIO.replace("repeat = 1", "repeat = 1000000000000")],
    ["a number that no type holds", SCENARIO.replace("0.5 BDP", `${"9".repeat(400)} BDP`)],
    ["a schedule without end", FADING.replace('"20 s"', '"1e300 s"')],
    ["many points", `${SCENARIO}\n[sweep]\nseed = [${"1, ".repeat(20_000)}2]\n`],
    ["deep nesting", `a = ${"[".repeat(100_000)}`],
  ])("survives %s", async (_name, text) => {
    const { page, errors } = await edit(file);
    await retype(page, text);
    await expect
      .poll(() => page.locator(".status.bad").count(), { timeout: 60_000 })
      .toBeGreaterThan(0);
    await runsAgain(page);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("bounds its memory, and goes on", async () => {
    const { page } = await edit(file);
    // A million packets in flight and as many in a queue: hardly less than a gigabyte.
    await retype(page, FLOOD);
    await status(page, /1 run/);
    await run(page);
    await notice(page, /run 2: (1 run$|.*(memory|ended))/);
    console.log(`a flood in the page: ${await page.innerText(".notice")}`);
    await runsAgain(page);
    await page.close();
  });

  it("keeps the comments of a text that was run with other values", async () => {
    const changed = place.exported("set", SCENARIO, "--set", "workload.download=300 kB");
    const { page } = await edit(changed);
    const text = SCENARIO.replace(/download = "[^"]*"/, 'download = "300 kB"');
    expect(await editorText(page)).toBe(`# --set workload.download=300 kB\n${text}`);
    await page.close();
  });

  it("brings the files that the scenario names", async () => {
    const name = "a b.trace";
    place.write(name, TRACE);
    const traced = place.exported("traced", TRACED.replace("</script><b>.trace", name));
    expect(readFileSync(traced, "utf8")).toContain(JSON.stringify(TRACE));
    const opened = await edit(traced);
    await run(opened.page);
    await ran(opened.page);
    clean(opened);
    await opened.page.close();
  });

  it.each([
    { dark: false, width: 1440 },
    { dark: true, width: 1440 },
    { dark: true, width: 1024 },
    { dark: false, width: 390 },
  ])("has no serious fault of accessibility and fits: %o", async (options) => {
    const opened = await edit(file, options);
    const { page } = opened;
    await run(page);
    await ran(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await layoutFaults(opened)).toEqual([]);
    await page.close();
  });
});
