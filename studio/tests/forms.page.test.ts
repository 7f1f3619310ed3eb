/** New scenarios from templates, a form for every table, and links that hold a scenario. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TEMPLATES, textOf } from "../src/app/templates.ts";
import { noCommand, skipped } from "./command.ts";
import {
  accessibilityFaults,
  editorText,
  notice,
  ORBIT,
  retype,
  status,
  twoVariants,
} from "./editing.ts";
import { TestStudio } from "./serving.ts";

const SMALL = twoVariants("small", "Two ways", "500 kB");
const EXAMPLES = fileURLToPath(new URL("../../scenarios/examples/", import.meta.url));
const examples = readdirSync(EXAMPLES, { recursive: false, encoding: "utf8" }).filter((name) =>
  name.endsWith(".toml"),
);

describe.skipIf(skipped(noCommand))("the studio's forms", () => {
  let studio: TestStudio;
  beforeAll(async () => {
    const files: Record<string, string> = { "small.toml": SMALL, "orbit.toml": ORBIT };
    for (const name of readdirSync(EXAMPLES, { recursive: false, encoding: "utf8" }))
      if (/\.(toml|csv|txt|json|ionrc)$/.test(name))
        files[name] = readFileSync(EXAMPLES + name, "utf8");
    studio = await TestStudio.start(files);
  });
  afterAll(() => studio?.stop());

  const ask = async <T>(path: string, content: string): Promise<T> =>
    (await (await fetch(studio.url + path, { method: "POST", body: content })).json()) as T;

  it("makes a new scenario of each template, all of which are valid", async () => {
    for (const template of TEMPLATES) {
      const text = textOf(template, "new.toml");
      const { error } = await ask<{ error: unknown }>("api/check?file=new.toml", text);
      expect(error, template.key).toBeNull();
    }
    const { page, errors } = await studio.open("small.toml");
    await page.click('button:text-is("New")');
    expect(await page.locator(".template").count()).toBe(TEMPLATES.length + 1);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.locator(".template", { hasText: "sweep" }).click();
    await page.fill("#scenario-name", "small");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.innerText(".gallery .bad")).toContain("small.toml exists");
    await page.fill("#scenario-name", "../out");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.innerText(".gallery .bad")).toContain("is no name");
    await page.fill("#scenario-name", "swept");
    await page.keyboard.press("Enter");
    await status(page, /10 runs/);
    expect(studio.text("swept.toml")).toContain('"path.rtt" = ["20 ms"');
    expect(studio.text("small.toml")).toBe(SMALL);
    await expect.poll(() => page.locator(".gallery").count()).toBe(0);
    expect(await page.inputValue("select[aria-label=Scenario]")).toBe("swept.toml");
    await page.click('button:text-is("New")');
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".gallery").count()).toBe(0);
    expect(existsSync(studio.path("download-new.toml"))).toBe(false);
    // The browser says that the file that exists was not replaced.
    expect(errors).toEqual([expect.stringContaining("412")]);
    await page.close();
  });

  /** Opens a group of settings. */
  const group = async (page: Page, title: string) => {
    const box = page.locator(".tables details", {
      has: page.locator(`summary:text-is("${title}")`),
    });
    if ((await box.getAttribute("open")) === null) await box.locator("summary").click();
    return box;
  };

  it("changes a constellation, a city and a controller, adds and removes variants", async () => {
    const { page, errors } = await studio.open("leo.toml");
    const path = await group(page, "Path");
    const constellation = path.getByLabel("orbit.constellation", { exact: true });
    const offered = await page.evaluate(
      (input) => [...((input as HTMLInputElement).list?.options ?? [])].map(({ value }) => value),
      await constellation.elementHandle(),
    );
    expect(offered).toEqual(expect.arrayContaining(["iridium", "kuiper-630"]));
    expect(await page.locator("#names-cities option").count()).toBeGreaterThan(50);
    await constellation.fill("iridium");
    await page.keyboard.press("Tab");
    await expect.poll(() => editorText(page)).toContain('constellation = "iridium"   # `bentpipe');
    const workload = await group(page, "Workload");
    await workload.getByLabel("to", { exact: true }).fill("London");
    await page.keyboard.press("Tab");
    await expect.poll(() => editorText(page)).toMatch(/to = "London" +# the server/);
    const variant = await group(page, "Variant cubic");
    await variant.getByLabel("congestion", { exact: true }).selectOption("newreno");
    await expect.poll(() => editorText(page)).toContain('congestion = "newreno"');
    await page.click("text=Add variant");
    await expect.poll(() => editorText(page)).toContain('name = "variant-3"');
    await page.getByLabel("Remove Variant variant-3").click();
    await expect.poll(() => editorText(page)).not.toContain("variant-3");
    await status(page, /2 runs/);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("adds a sweep and a setting", async () => {
    const { page } = await studio.open("small.toml");
    await page.click("text=Add sweep");
    await status(page, /6 runs/);
    const variant = await group(page, "Variant bbr3");
    await variant.getByLabel("Add").selectOption("handshake");
    await variant.getByLabel("handshake", { exact: true }).selectOption("0rtt");
    await expect.poll(() => editorText(page)).toContain('handshake = "0rtt"');
    await page.close();
  });

  it.each(examples)(
    "shows every setting of %s, each of which can be written again",
    async (name) => {
      const text = studio.text(name);
      type Answer = { settings: { key: string; value: string }[] };
      const { settings } = await ask<Answer>(`api/check?file=${name}`, text);
      expect(settings.length).toBeGreaterThan(3);
      for (const { key, value } of settings) {
        const change = JSON.stringify({ text, key, value });
        expect((await ask<{ text: string }>("api/edit", change)).text, key).toBe(text);
      }
    },
  );

  it("copies a link that opens the text as it stands", async () => {
    const { page } = await studio.open("small.toml");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const changed = SMALL.replace("500 kB", "640 kB # größer");
    await retype(page, changed);
    await status(page, /2 runs/);
    await page.click("text=Copy link");
    await notice(page, /copied a link/);
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(link.length).toBeLessThan(studio.url.length + 800);
    const other = await studio.open(link.slice(link.indexOf("#") + 1));
    await expect.poll(() => editorText(other.page)).toBe(changed);
    await notice(other.page, /not saved/);
    expect(studio.text("small.toml")).toBe(SMALL);
    await other.page.close();
    // Nothing that an address holds breaks the page.
    const broken = await studio.open("small.toml&text=%%%");
    await status(broken.page, /runs?\b/);
    expect(broken.errors).toEqual([]);
    await broken.page.close();
    await page.close();
  });
});
