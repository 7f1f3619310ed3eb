/** What the studio does so that no text is lost. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Bench } from "./browser.ts";
import { bentpipe, noCommand, skipped, Workplace } from "./command.ts";
import { accessibilityFaults, editorText, notice, retype, status, twoVariants } from "./editing.ts";

const EXAMPLES = fileURLToPath(new URL("../../scenarios/examples/", import.meta.url));
const TEXT = twoVariants("small", "small", "500 kB");

/** A command that serves a directory. */
class Command {
  readonly #process: ChildProcess;
  #ended = false;
  url = "";

  constructor(directory: string, port: string) {
    const options = ["--no-open", "--no-store", "--jobs", "1", "--port", port];
    this.#process = spawn(...bentpipe("studio", directory, ...options), {
      stdio: ["ignore", "pipe", "ignore"],
    });
  }

  static async start(directory: string, port = "0"): Promise<Command> {
    const command = new Command(directory, port);
    const lines = createInterface({ input: command.#process.stdout! });
    [command.url] = (await once(lines, "line")) as [string];
    return command;
  }

  async stop(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGINT");
    await ended;
  }
}

describe.skipIf(skipped(noCommand))("the studio keeps texts", () => {
  const place = new Workplace();
  const file = join(place.dir, "small.toml");
  let bench: Bench;
  let command: Command;
  const pages: Page[] = [];

  beforeAll(async () => {
    for (const name of readdirSync(EXAMPLES, { recursive: false, encoding: "utf8" }))
      if (/\.(toml|csv|txt|json)$/.test(name))
        writeFileSync(join(place.dir, name), readFileSync(join(EXAMPLES, name), "utf8"));
    writeFileSync(file, TEXT);
    command = await Command.start(place.dir);
    bench = await Bench.start();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    writeFileSync(file, TEXT);
  });
  afterAll(async () => {
    await bench?.close();
    await command?.stop();
    place.remove();
  });

  async function open(name = "small.toml", url = command.url): Promise<Page> {
    const { page } = await bench.visit(url, { hash: `#${name}` });
    pages.push(page);
    page.on("dialog", (dialog) => void dialog.accept());
    await page.waitForSelector(".cm-line");
    await status(page, /runs?\b/);
    return page;
  }
  const changed = (size: string): string => TEXT.replace("500 kB", size);
  const save = (page: Page): Promise<void> => page.keyboard.press("Control+s");
  const panel = (page: Page) => page.locator(".panel");

  it("does not overwrite what another page has saved", async () => {
    const [first, second] = [await open(), await open()];
    await retype(first, changed("600 kB"));
    await retype(second, changed("700 kB"));
    await save(second);
    await notice(second, /saved small.toml/);
    await save(first);
    await notice(first, /small.toml is not saved/);
    expect(readFileSync(file, "utf8")).toBe(changed("700 kB"));
    expect(await editorText(first)).toBe(changed("600 kB"));
    const lines = (kind: string): Promise<string[]> =>
      panel(first).locator(`.difference ${kind}`).allInnerTexts();
    expect(await lines("del")).toEqual(['− download = "700 kB"']);
    expect(await lines("ins")).toEqual(['+ download = "600 kB"']);
    await panel(first).locator("summary").click();
    expect(await panel(first).locator("pre.theirs").innerText()).toBe(changed("700 kB"));
    expect(await accessibilityFaults(first)).toEqual([]);
    await first.click("text=Replace it with mine");
    await notice(first, /saved small.toml/);
    expect(readFileSync(file, "utf8")).toBe(changed("600 kB"));
    expect(await panel(first).count()).toBe(0);
  });

  it("shows a conflict to a reader who writes further down, below the bar", async () => {
    for (const width of [390, 1024]) {
      const page = await open();
      await page.setViewportSize({ width, height: 700 });
      await retype(page, changed("600 kB"));
      await page.locator(".cm-editor").evaluate((el) => el.scrollIntoView({ block: "center" }));
      expect(await page.evaluate(() => scrollY)).toBeGreaterThan(100);
      writeFileSync(file, changed("800 kB"));
      await save(page);
      await panel(page).waitFor();
      const bar = (await page.locator(".studio-bar").boundingBox())!;
      const top = async (): Promise<number> => (await panel(page).boundingBox())!.y;
      await expect.poll(top).toBeGreaterThan(bar.height - 1);
      await expect.poll(top).toBeLessThan(400);
      await page.close();
      writeFileSync(file, TEXT);
    }
  });

  it("shows the text of an editor beside it, and takes it if asked", async () => {
    const page = await open();
    await retype(page, changed("600 kB"));
    writeFileSync(file, changed("800 kB"));
    await save(page);
    await notice(page, /is not saved/);
    // Once more, while the reader looks: what is not shown is not replaced.
    writeFileSync(file, changed("900 kB"));
    await page.click("text=Replace it with mine");
    await expect.poll(() => panel(page).locator("pre.theirs").textContent()).toContain("900 kB");
    expect(readFileSync(file, "utf8")).toBe(changed("900 kB"));
    await page.click("text=Take theirs");
    await expect.poll(() => editorText(page)).toBe(changed("900 kB"));
    await page.click(".cm-content");
    await page.keyboard.press("Control+z");
    expect(await editorText(page), "ours is a step away").toBe(changed("600 kB"));
    rmSync(file, { recursive: false, force: true });
    await save(page);
    await page.click("text=Save it again");
    await notice(page, /saved small.toml/);
    expect(readFileSync(file, "utf8")).toBe(changed("600 kB"));
  });

  it("makes new scenarios and copies, and replaces no file with them", async () => {
    const page = await open();
    await page.click('button:text-is("New")');
    await page.fill("#scenario-name", "My Own");
    await page.keyboard.press("Enter");
    await notice(page, /saved My Own.toml/);
    await status(page, /2 runs, 2 variants/);
    expect(readFileSync(join(place.dir, "My Own.toml"), "utf8")).toContain('name = "my-own"');
    expect(await page.inputValue("select[aria-label=Scenario]")).toBe("My Own.toml");
    await page.click("text=Save as…");
    await page.fill("#new-name", "small.toml");
    await page.keyboard.press("Enter");
    await notice(page, /small.toml exists/);
    expect(readFileSync(file, "utf8")).toBe(TEXT);
    for (const name of ["../out.toml", "/tmp/out.toml", ".hidden.toml"]) {
      await page.fill("#new-name", name);
      await page.keyboard.press("Enter");
      await notice(page, /is no name; allowed: those below the directory/);
    }
    expect(existsSync(join(place.dir, "../out.toml"))).toBe(false);
    await page.fill("#new-name", "copy");
    await page.keyboard.press("Enter");
    await notice(page, /saved copy.toml/);
    const text = readFileSync(join(place.dir, "copy.toml"), "utf8");
    expect(text).toBe(readFileSync(join(place.dir, "My Own.toml"), "utf8"));
  });

  it("begins in an empty directory", async () => {
    const empty = new Workplace();
    const other = await Command.start(empty.dir);
    const { page } = await bench.visit(other.url);
    pages.push(page);
    await notice(page, /no scenarios in .*; New makes one/);
    // The templates are the first that a newcomer sees.
    const templates = page.locator("dialog.gallery[open] .template");
    await templates.first().waitFor();
    expect(await templates.count()).toBeGreaterThan(5);
    // On a phone the first of them too, not the name below them.
    await page.setViewportSize({ width: 390, height: 700 });
    await page.reload();
    await templates.first().waitFor();
    const title = (await page.locator("dialog.gallery h2").boundingBox())!;
    expect(title.y).toBeGreaterThan(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.keyboard.press("Escape");
    await retype(page, TEXT);
    await status(page, /2 runs/);
    await save(page);
    await page.fill("#new-name", "first");
    await page.keyboard.press("Enter");
    await notice(page, /saved first.toml/);
    expect(readFileSync(join(empty.dir, "first.toml"), "utf8")).toBe(TEXT);
    await other.stop();
    empty.remove();
  });

  it("offers a draft after a page was closed", async () => {
    const page = await open();
    await retype(page, changed("600 kB"));
    await status(page, /2 runs/);
    await page.reload();
    await page.waitForSelector(".panel");
    expect(await editorText(page)).toBe(TEXT);
    await page.click("text=Restore it");
    expect(await editorText(page)).toBe(changed("600 kB"));
    await save(page);
    await notice(page, /saved small.toml/);
    await page.reload();
    await status(page, /2 runs/);
    expect(await panel(page).count()).toBe(0);
  });

  it("offers a draft until it is restored or discarded", async () => {
    const page = await open();
    await retype(page, changed("600 kB"));
    await status(page, /2 runs/);
    for (let visit = 0; visit < 2; visit += 1) {
      await page.reload();
      await page.waitForSelector("text=Restore it");
    }
    await page.click("text=Discard it");
    await page.reload();
    await status(page, /2 runs/);
    expect(await panel(page).count()).toBe(0);
  });

  it("has nothing to undo in a file that was opened after another", async () => {
    const page = await open("first.toml");
    const first = await editorText(page);
    await page.click(".cm-content");
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.selectOption("select[aria-label=Scenario]", "small.toml");
    await expect.poll(() => editorText(page)).toBe(TEXT);
    await page.click(".cm-content");
    await page.keyboard.press("Control+z");
    expect(await editorText(page)).toBe(TEXT);
    expect(await page.isDisabled("button:text-is('Save')")).toBe(true);
    expect(readFileSync(join(place.dir, "first.toml"), "utf8")).toBe(`${first.trimEnd()}\n`);
  });

  it("keeps the line ends and the mode of a file", async () => {
    const written = (text: string): string => text.replaceAll("\n", "\r\n");
    writeFileSync(file, written(TEXT));
    chmodSync(file, 0o600);
    const page = await open();
    expect(await page.isDisabled("button:text-is('Save')"), "nothing is changed").toBe(true);
    await retype(page, changed("600 kB"));
    await save(page);
    await notice(page, /saved small.toml/);
    expect(readFileSync(file, "utf8")).toBe(written(changed("600 kB")));
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("keeps the text when the command ends, and goes on with a new one", async () => {
    const first = await Command.start(place.dir);
    const page = await open("small.toml", first.url);
    await retype(page, changed("600 kB"));
    await status(page, /2 runs/);
    await first.stop();
    await save(page);
    await page.waitForSelector(".panel");
    expect(await panel(page).innerText()).toContain("does not answer");
    const downloaded = page.waitForEvent("download");
    await page.click("text=Download the text");
    const copy = join(place.dir, "downloaded");
    await (await downloaded).saveAs(copy);
    expect(readFileSync(copy, "utf8")).toBe(changed("600 kB"));
    const second = await Command.start(place.dir);
    await page.fill("#new-address", "http://evil.example/");
    await page.keyboard.press("Enter");
    expect(await panel(page).innerText()).toContain("no address of a studio");
    await page.fill("#new-address", second.url);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${second.url}**`);
    await notice(page, /not saved/);
    await expect.poll(() => editorText(page)).toBe(changed("600 kB"));
    await status(page, /2 runs/);
    expect(readFileSync(file, "utf8")).toBe(TEXT);
    await page.click(".cm-content");
    await save(page);
    await notice(page, /saved small.toml/);
    expect(readFileSync(file, "utf8")).toBe(changed("600 kB"));
    await page.close();
    pages.length = 0;
    await second.stop();
  });

  it.each(["two-flows", "users", "video", "upload", "leo"])(
    "has only controls that leave %s a scenario",
    async (name) => {
      const page = await open(`${name}.toml`);
      await page.locator("#live").uncheck();
      // Keys that the text lacks are known once it rests.
      await status(page, /; (under a second|about)/);
      const sliders = page.locator('.slide:not([hidden]) input[type="range"]:enabled');
      const labels = await sliders.evaluateAll((all) =>
        all.map((one) => one.getAttribute("aria-label")),
      );
      expect(labels).not.toContain("Download, slider");
      if (name === "leo") expect(labels).toContain("Upload, slider");
      const first = await editorText(page);
      for (const label of labels) {
        await page.locator(`input[aria-label="${label}"]`).focus();
        for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowLeft");
        await page.waitForTimeout(600);
        await status(page, /runs?\b/);
        expect(await page.isDisabled("button.main"), `${name}: ${label}`).toBe(false);
      }
      expect(await editorText(page)).not.toBe(first);
    },
  );
});
