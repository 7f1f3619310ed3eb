import { existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noCommand, skipped } from "./command.ts";
import { accessibilityFaults, editorText, ran, status, twoVariants } from "./editing.ts";
import { TestStudio } from "./serving.ts";

const sample = (name: string): string =>
  fileURLToPath(new URL(`../../examples/recordings/${name}`, import.meta.url));

/** Drops files on an element, as a person does from a file manager. */
async function drop(page: Page, files: string[], on: string): Promise<void> {
  const contents = files.map((file) => ({
    name: file.slice(file.lastIndexOf("/") + 1),
    text: readFileSync(file, "utf8"),
  }));
  const data = await page.evaluateHandle((given) => {
    const transfer = new DataTransfer();
    for (const { name, text } of given) transfer.items.add(new File([text], name));
    return transfer;
  }, contents);
  await page.dispatchEvent(on, "drop", { dataTransfer: data });
}

/** Whether a browser's message is more than that of a refused import. */
const isFault = (error: string): boolean => !error.includes("422");

describe.skipIf(skipped(noCommand))("an import of measurements", () => {
  let studio: TestStudio;
  beforeAll(async () => {
    studio = await TestStudio.start({ "small.toml": twoVariants("small", "Small", "500 kB") });
  });
  afterAll(() => studio?.stop());

  const dialog = 'dialog[aria-label="Import"]';

  it("makes a scenario of a ping log and JSON of iperf3, and says what is in them", async () => {
    const { page, errors } = await studio.open("small.toml");
    // The editor alone would take them as text.
    await drop(page, [sample("ping.txt"), sample("iperf3.json")], ".cm-content");
    await page.waitForSelector(dialog);
    expect(await page.locator(".import-files b").allInnerTexts()).toEqual([
      "ping.txt",
      "iperf3.json",
    ]);
    expect(await accessibilityFaults(page, [dialog])).toEqual([]);
    // No file has the rate to the server: the field that the message names has the focus.
    await page.click(`${dialog} button.main`);
    await expect.poll(() => page.innerText(`${dialog} .bad`)).toContain("--rate RATE");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("import-rate");
    await page.keyboard.type("15 Mbps");
    await page.keyboard.press("Enter");
    await status(page, /10 runs/);
    expect(await editorText(page)).toContain('recording = "down.csv"');
    const panel = page.locator(".imported");
    expect(await panel.locator("h2").innerText()).toBe("Imported as recorded/scenario.toml");
    const headings = await panel.locator("dt").allInnerTexts();
    expect(headings.slice(0, 3)).toEqual(["measured", "inferred", "unknown"]);
    expect(await panel.innerText()).toMatch(/ping\.txt: RTT p50 [\d.]+, p95/);
    expect(await accessibilityFaults(page, [".imported"])).toEqual([]);
    expect(studio.text("recorded/ORIGIN.md")).toContain("ping.txt");
    expect(await page.inputValue("header select")).toBe("recorded/scenario.toml");
    await panel.getByText("Close").click();
    expect(await panel.count()).toBe(0);
    // It is a scenario as any other.
    await page.click("header button.main");
    await ran(page);
    expect(errors.filter(isFault)).toEqual([]);
    await page.close();
  }, 60_000);

  it("names file, line and remedy of a damaged file, and makes nothing", async () => {
    const { page, errors } = await studio.open("small.toml");
    await page.getByRole("button", { name: "Import" }).click();
    expect(await page.inputValue("#import-name")).not.toBe("recorded");
    const text = readFileSync(sample("ping.txt"), "utf8").replace(/time=[\d.]+ ms/, "time=x ms");
    const line = 1 + text.split("\n").findIndex((one) => one.includes("time=x"));
    await page.setInputFiles("#import-choose", {
      name: "damaged.txt",
      mimeType: "text/plain",
      buffer: Buffer.from(new TextEncoder().encode(text)),
    });
    await page.fill("#import-name", "damaged");
    await page.fill("#import-rate", "15 Mbps");
    await page.click(`${dialog} button.main`);
    const said = page.locator(`${dialog} .bad`);
    await expect.poll(() => said.innerText()).toContain(`damaged.txt, line ${line}: `);
    expect(await said.innerText()).toContain("allowed: ");
    expect(existsSync(studio.path("damaged"))).toBe(false);
    // Another file in its place goes on.
    await page.click(`${dialog} .import-files button`);
    await page.setInputFiles("#import-choose", sample("ping.txt"));
    await page.getByLabel("Direction of ping.txt").selectOption("down");
    await page.click(`${dialog} button.main`);
    await page.waitForSelector(".imported");
    expect(studio.text("damaged/scenario.toml")).toContain('rate = "15 Mbps"');
    expect(errors.filter(isFault)).toEqual([]);
    await page.close();
  }, 60_000);

  it("refuses files that are too large before they are sent", async () => {
    const { page } = await studio.open("small.toml");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByRole("button", { name: "Import" }).click();
    // Zeros that take no room on the disk.
    writeFileSync(studio.path("large.txt"), "");
    truncateSync(studio.path("large.txt"), 65 * 2 ** 20);
    await page.setInputFiles("#import-choose", studio.path("large.txt"));
    const said = page.locator(`${dialog} .bad`);
    await expect
      .poll(() => said.innerText())
      .toContain("large.txt: 65.0 MiB, 65.0 MiB with all files; allowed: 64.0 MiB together");
    await page.click(`${dialog} button.main`);
    expect(await said.innerText()).toContain("large.txt: ");
    expect(asked.filter((url) => url.includes("import"))).toEqual([]);
    await page.close();
  }, 60_000);
});
