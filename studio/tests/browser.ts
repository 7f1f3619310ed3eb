import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import type { Fixture } from "./blobwriter.ts";
import { builtPage, embed } from "./embed.ts";

/** Where Chromium is. */
const executablePath = env.BENTPIPE_CHROMIUM ?? "/usr/bin/chromium";

/** Arguments with which Chromium draws WebGL in software. */
export const WEBGL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

/** Arguments with which it has none, not even in software. */
export const NO_WEBGL = ["--disable-gpu", "--disable-3d-apis"];

/** How a page is opened. */
export interface Options {
  width?: number;
  height?: number;
  dark?: boolean;
  hash?: string;
  /** Called before the page is loaded. */
  before?: (page: Page) => Promise<void>;
}

/** A page under test, with everything that went wrong in it. */
export interface Opened {
  page: Page;
  errors: string[];
  requests: string[];
}

/** Nothing was fetched, nothing went wrong. */
export function clean({ errors, requests }: Opened): void {
  expect(errors).toEqual([]);
  expect(requests).toEqual([]);
}

/** The window of the time plots, as the page says it. */
export async function view({ page }: Opened): Promise<[number, number]> {
  const text = (await page.textContent(".timebar .where"))!;
  const [a, b] = text.split(" to ").map(parseFloat);
  return [a!, b!];
}

/**
 * Counts the processor's time in milliseconds that a page's tasks take from now on: unlike time on
 * the clock, it is the same beside other work on the machine.
 */
export async function processorTime(page: Page): Promise<() => Promise<number>> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async (): Promise<number> => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return 1000 * metrics.find((m) => m.name === "TaskDuration")!.value;
  };
  const before = await used();
  return async () => (await used()) - before;
}

/** Elements that reach beyond the window, and texts of the drawings that overlap each other. */
export async function layoutFaults({ page }: Opened): Promise<string[]> {
  return page.evaluate(() => {
    const faults: string[] = [];
    if (document.documentElement.scrollWidth > innerWidth)
      faults.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const drawing of document.querySelectorAll("svg.plot, svg.path")) {
      const texts = [...drawing.querySelectorAll("text")]
        .filter((t) => t.textContent)
        .map((t) => ({ words: t.textContent, box: t.getBoundingClientRect() }));
      texts.forEach((a, i) => {
        if (a.box.left < -1 || a.box.right > innerWidth + 1) faults.push(`outside: ${a.words}`);
        for (const b of texts.slice(i + 1)) {
          const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
          const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
          if (x > 1 && y > 3) faults.push(`overlap: ${a.words} / ${b.words}`);
        }
      });
    }
    return faults;
  });
}

/** Number of coloured pixels of the first canvas below a selector; axes and labels are grey. */
export async function ink({ page }: Opened, selector: string, opacity = 150): Promise<number> {
  return page.evaluate(
    ([where, least]) => {
      const c = document.querySelector<HTMLCanvasElement>(`${where} canvas`)!;
      const { data } = c.getContext("2d")!.getImageData(0, 0, c.width, c.height);
      let n = 0;
      for (let i = 0; i < data.length; i += 4) {
        const [r, g, b] = [data[i]!, data[i + 1]!, data[i + 2]!];
        if (data[i + 3]! > least && Math.max(r, g, b) - Math.min(r, g, b) > 60) n++;
      }
      return n;
    },
    [selector, opacity] as [string, number],
  );
}

/** A browser and a directory of pages, both gone after `close`. */
export class Bench {
  readonly #dir = mkdtempSync(join(tmpdir(), "bentpipe-page-"));
  readonly #left: Page[] = [];
  #files = 0;

  private constructor(readonly browser: Browser) {}

  /** Starts the browser, with more arguments for WebGL (see `WEBGL`) or without it. */
  static async start(more: string[] = []): Promise<Bench> {
    if (!existsSync(executablePath))
      throw new Error(`no Chromium at ${executablePath}; set BENTPIPE_CHROMIUM`);
    const args = [
      "--no-sandbox",
      ...(more.length ? more : ["--disable-gpu"]),
      "--disable-background-networking",
      "--disable-component-update",
      "--no-first-run",
    ];
    return new Bench(await chromium.launch({ executablePath, args }));
  }

  /** Writes a page with a report (null: the page as built) and returns its address. */
  write(fixture: Fixture | null): string {
    const file = join(this.#dir, `report-${this.#files++}.html`);
    writeFileSync(file, fixture ? embed(builtPage(), fixture) : builtPage());
    return pathToFileURL(file).href;
  }

  /** Opens a page with a report. */
  async open(fixture: Fixture | null, options: Options = {}): Promise<Opened> {
    return this.visit(this.write(fixture), options);
  }

  /** Opens the page at an address and listens for errors and requests. */
  async visit(
    file: string,
    { width = 1440, height = 900, dark = false, hash = "", before }: Options = {},
  ): Promise<Opened> {
    const viewport = { width, height };
    const colorScheme = dark ? "dark" : "light";
    const known = before ? undefined : this.#left.pop();
    const page =
      known ?? (await this.browser.newPage({ viewport, colorScheme, acceptDownloads: true }));
    await known?.setViewportSize(viewport);
    await known?.emulateMedia({ media: null, colorScheme });
    const errors: string[] = [];
    const requests: string[] = [];
    page.on("console", (m) => {
      // Without a graphics card, WebGL says how slow it is.
      const slow = m.text().includes("GL Driver Message (OpenGL, Performance");
      if ((m.type() === "error" || m.type() === "warning") && !slow) errors.push(m.text());
    });
    page.on("pageerror", (e) => errors.push(String(e)));
    const address = file + hash;
    page.on("request", (r) => {
      if (
        !r.url().startsWith(address.split("#")[0]!) &&
        !r.url().startsWith("data:") &&
        !r.url().startsWith("blob:")
      )
        requests.push(r.url());
    });
    await before?.(page);
    await page.goto(address);
    return { page, errors, requests };
  }

  /** Scrolls to the time plots and waits until they are drawn. */
  async plots({ page }: Opened): Promise<void> {
    await page.evaluate("document.getElementById('series').scrollIntoView()");
    await page.waitForSelector(".chart canvas");
    await page.waitForFunction(() => performance.getEntriesByName("bentpipe-redraw").length > 0);
  }

  /** Turns the wheel with Ctrl over the middle of the first plot, and waits for the redraw. */
  async wheel({ page }: Opened, deltaY: number): Promise<void> {
    await page.evaluate("new Promise((done) => setTimeout(done, 350))");
    const box = (await page.locator(".plot-area").first().boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, deltaY);
    await page.keyboard.up("Control");
    await page.evaluate("new Promise((done) => setTimeout(done, 120))");
  }

  /**
   * Leaves a page of a file to the next test, which finds it as a new one. A tab of its own costs
   * the browser a process that compiles the page's script again: three times the time of the page
   * itself. Not for pages with permissions, routes or scripts of their own, which stay.
   */
  async leave(page: Page): Promise<void> {
    await page.evaluate(() => localStorage.clear());
    for (const event of ["console", "pageerror", "request"]) page.removeAllListeners(event);
    await page.mouse.move(0, 0);
    await page.goto("about:blank");
    this.#left.push(page);
  }

  /** Ends the browser and removes the pages. */
  async close(): Promise<void> {
    await this.browser.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
