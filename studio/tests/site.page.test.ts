import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join, resolve } from "node:path";
import { env } from "node:process";
import { pathToFileURL } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench } from "./browser.ts";
import { accessibilityFaults } from "./editing.ts";

const directory = env.BENTPIPE_SITE;
if (!directory) console.log("skipped: BENTPIPE_SITE names no site that tools/site/build built");

/** Pages that are open at the same time. */
const TOGETHER = 4;
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** A host below a path of its own, as many hosts serve sites. */
function host(root: string): Server {
  return createServer(({ url }, response) => {
    const name = decodeURIComponent(url.split(/[?#]/)[0]!);
    if (name === "/favicon.ico") {
      // What a browser asks of any host.
      response.writeHead(204, {});
      response.end();
      return;
    }
    const file = join(root, name.replace(/^\/below\//, ""));
    if (!name.startsWith("/below/") || name.includes("..") || !existsSync(file)) {
      response.writeHead(404, {});
      response.end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" });
    response.end(readFileSync(file));
  });
}

/** Everything that goes wrong in a page from now on: also what is asked of other places. */
function faultsOf(page: Page, root: string): string[] {
  const faults: string[] = [];
  page.on("console", (m) => {
    // Without a graphics card, WebGL says how slow it is.
    const slow = m.text().includes("GL Driver Message (OpenGL, Performance");
    if ((m.type() === "error" || m.type() === "warning") && !slow) faults.push(m.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("requestfailed", (r) => faults.push(`${r.url()}: ${r.failure()?.errorText}`));
  page.on("request", (r) => {
    if (!r.url().startsWith(root) && !/^(data|blob):/.test(r.url())) faults.push(`asks ${r.url()}`);
  });
  return faults;
}

describe.skipIf(!directory)("the site", () => {
  let bench: Bench;
  let server: Server;
  let context: BrowserContext;
  let places: [kind: string, root: string][];
  let pages: string[];

  beforeAll(async () => {
    const root = resolve(directory!);
    if (!existsSync(join(root, "index.html"))) throw new Error(`no site in ${root}`);
    pages = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".html"),
    );
    server = host(root);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    places = [
      ["HTTP", `http://127.0.0.1:${server.address().port}/below/`],
      ["a disk", `${pathToFileURL(root).href}/`],
    ];
    bench = await Bench.start();
    context = await bench.browser.newContext({ viewport: { width: 1440, height: 900 } });
  });
  afterAll(async () => {
    server?.close();
    await bench?.close();
  });

  const open = async (root: string, name: string): Promise<[Page, string[]]> => {
    const page = await context.newPage();
    const faults = faultsOf(page, root);
    await page.goto(root + name);
    return [page, faults];
  };

  it.each([0, 1])("has no page with an error (place %i)", { timeout: 300_000 }, async (at) => {
    const [kind, root] = places[at]!;
    expect(pages.length).toBeGreaterThan(100);
    const left = [...pages];
    const found: string[] = [];
    const visit = async (): Promise<void> => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        const [page, faults] = await open(root, name);
        const report = await page.$("script#bentpipe-report");
        // Reports and the first page draw after they are loaded.
        if (report) await page.waitForSelector("h1, .lanes .time");
        if (!(await page.innerText("body")).includes("Bentpipe")) faults.push("is empty");
        found.push(...faults.map((fault) => `${kind}: ${name}: ${fault}`));
        await page.close();
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, visit));
    expect(found).toEqual([]);
  });

  it.each([0, 1])("finds pages, decisions among them (place %i)", async (at) => {
    const [page, faults] = await open(places[at]![1], "book/introduction.html");
    await page.click("#mdbook-search-toggle");
    // The book searches when a key is released. Enter would leave for the first result where the
    // index came in before it.
    await page.fill("#mdbook-searchbar", "event-queue rings");
    await page.keyboard.press("End");
    const first = page.locator("#mdbook-searchresults a").first();
    await first.waitFor();
    await page.fill("#mdbook-searchbar", "timing wheel");
    await page.keyboard.press("End");
    await page.locator("#mdbook-searchresults a[href*='decisions/0024']").first().waitFor();
    await page.locator("#mdbook-searchresults a[href*='decisions/0024']").first().click();
    await page.waitForURL(/decisions\/0024/);
    expect(await page.innerText("main h1")).toContain("timing wheel");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("shows the line that installs it as a whole on a phone", async () => {
    const [page] = await open(places[1]![1], "index.html");
    await page.setViewportSize({ width: 390, height: 844 });
    const hidden = await page.$eval(".install", (el) => el.scrollWidth - el.clientWidth);
    expect(hidden).toBeLessThanOrEqual(0);
    await page.close();
  });

  it.each([0, 1])("shows downloads in flight on its first page (place %i)", async (at) => {
    const [page, faults] = await open(places[at]![1], "index.html");
    await page.waitForSelector("#race canvas");
    const times = page.locator(".lanes .time");
    // At some time of the race: a busy machine may show few of its moments.
    await page.waitForFunction(
      () => {
        const c = document.querySelector<HTMLCanvasElement>("#race canvas")!;
        // A copy to read from: the page's own is drawn on.
        const { width, height } = c;
        const copy = Object.assign(document.createElement("canvas"), { width, height });
        const context = copy.getContext("2d", { willReadFrequently: true })!;
        context.drawImage(c, 0, 0);
        const { data } = context.getImageData(0, 0, width, height);
        let coloured = 0;
        for (let i = 0; i < data.length; i += 4) {
          const [r, g, b] = [data[i]!, data[i + 1]!, data[i + 2]!];
          if (data[i + 3]! > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60) coloured++;
        }
        const time = document.querySelector(".lanes .time")!.textContent!;
        return parseFloat(time) > 0 && coloured > 100;
      },
      undefined,
      { polling: 100 },
    );
    await page.getByRole("button", { name: "Pause" }).click();
    const still = await times.allInnerTexts();
    expect(still.length).toBe(3);
    expect(await times.allInnerTexts()).toEqual(still);
    expect(faults).toEqual([]);
    await page.close();
  });

  it.each([0, 1])("shows the source's figures in each report of a row (place %i)", async (at) => {
    const [page, faults] = await open(places[at]![1], "gallery/cnes-start.html");
    await page.waitForSelector("#results");
    const rows = page.locator(".beside .row");
    expect(await rows.count()).toBeGreaterThan(1);
    expect(await rows.first().innerText()).toContain("as claimed");
    expect(await page.innerText(".beside .reduced")).toContain("scenarios/published/cnes-start");
    expect(faults).toEqual([]);
    await page.close();
  });

  it.each([0, 1])("runs a block of the tutorial in its page (place %i)", async (at) => {
    const [, root] = places[at]!;
    if (!pages.includes("play/own.html")) {
      console.log("skipped: this site has no engine for pages");
      return;
    }
    const [page, faults] = await open(root, "book/tutorial/first-scenario.html");
    expect(await page.locator(".run-bar").count()).toBe(2);
    await page.getByRole("button", { name: "Run", exact: true }).first().click();
    const frame = page.frameLocator(".run-place iframe");
    await frame.locator(".in-report .runs li").nth(1).waitFor({ timeout: 60_000 });
    await frame
      .locator(".in-report .comparison")
      .getByText("completion", { exact: false })
      .first()
      .waitFor({ timeout: 80_000 });
    expect(faults).toEqual([]);
    await page.close();
  });

  it("keeps the chosen colours from page to page, reports and book included", async () => {
    const [page, faults] = await open(places[0]![1], "index.html");
    await page.getByRole("button", { name: "dark" }).click();
    for (const name of ["gallery/cnes-start.html", "book/introduction.html"]) {
      await page.goto(places[0]![1] + name);
      await page.waitForSelector(".toggle");
      expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    }
    await page.getByRole("button", { name: "light" }).click();
    expect(await page.getAttribute("html", "class")).toContain("light");
    await page.getByRole("button", { name: "auto" }).click();
    expect(faults).toEqual([]);
    await page.close();
  });

  it.each([
    ["light", "index.html"],
    ["dark", "index.html"],
    ["light", "gallery/index.html"],
    ["dark", "gallery/index.html"],
    ["light", "gallery/cnes-start.html"],
    ["dark", "gallery/cnes-start.html"],
  ] as const)("is accessible: %s, %s", async (colorScheme, name) => {
    const own = await bench.browser.newContext({
      viewport: { width: 390, height: 844 },
      colorScheme,
    });
    const page = await own.newPage();
    await page.goto(places[0]![1] + name);
    await page.waitForSelector(name === "gallery/index.html" ? ".entries" : "#race canvas, #table");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      390,
    );
    expect(await accessibilityFaults(page)).toEqual([]);
    await own.close();
  });
});
