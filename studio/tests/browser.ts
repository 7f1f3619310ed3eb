import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { builtPage, embed } from "./embed.ts";
import type { Fixture } from "./fixture.ts";

/** Where Chromium is. */
const executablePath = env["BENTPIPE_CHROMIUM"] ?? "/usr/bin/chromium";

/** How a page is opened. */
export interface Options {
  width?: number;
  height?: number;
  dark?: boolean;
  hash?: string;
}

/** A page under test, with everything that went wrong in it. */
export interface Opened {
  page: Page;
  errors: string[];
  requests: string[];
}

/** A browser and a directory of pages, both gone after `close`. */
export class Bench {
  readonly #dir = mkdtempSync(join(tmpdir(), "bentpipe-page-"));
  #files = 0;

  private constructor(readonly browser: Browser) {}

  /** Starts the browser. */
  static async start(): Promise<Bench> {
    if (!existsSync(executablePath)) throw new Error(`no Chromium at ${executablePath}; set BENTPIPE_CHROMIUM`);
    const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"];
    return new Bench(await chromium.launch({ executablePath, args }));
  }

  /** Writes a page with a report (null: the page as built) and returns its address. */
  write(fixture: Fixture | null): string {
    const file = join(this.#dir, `report-${this.#files++}.html`);
    writeFileSync(file, fixture ? embed(builtPage(), fixture) : builtPage());
    return pathToFileURL(file).href;
  }

  /** Opens a page and listens for errors and requests. */
  async open(fixture: Fixture | null, { width = 1440, height = 900, dark = false, hash = "" }: Options = {}): Promise<Opened> {
    const page = await this.browser.newPage({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
    const errors: string[] = [];
    const requests: string[] = [];
    page.on("console", (m) => {
      if (m.type() === "error" || m.type() === "warning") errors.push(m.text());
    });
    page.on("pageerror", (e) => errors.push(String(e)));
    const address = this.write(fixture) + hash;
    page.on("request", (r) => {
      if (!r.url().startsWith(address.split("#")[0]!) && !r.url().startsWith("data:") && !r.url().startsWith("blob:")) requests.push(r.url());
    });
    await page.goto(address);
    return { page, errors, requests };
  }

  /** Scrolls to the time plots and waits until they are drawn. */
  async plots({ page }: Opened): Promise<void> {
    await page.evaluate("document.getElementById('series').scrollIntoView()");
    await page.waitForSelector(".chart canvas");
    await page.waitForFunction(() => performance.getEntriesByName("bentpipe-redraw").length > 0);
  }

  /** Ends the browser and removes the pages. */
  async close(): Promise<void> {
    await this.browser.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
