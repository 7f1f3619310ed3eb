/** A studio that the command serves, with a browser, for the tests of its page. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { Bench, type Opened, type Options } from "./browser.ts";
import { bentpipe, Workplace } from "./command.ts";
import { status } from "./editing.ts";

/** A studio that the command serves, with a browser. */
export class TestStudio {
  readonly #place = new Workplace();
  #process!: ChildProcess;
  bench!: Bench;
  url = "";

  /** Serves a directory with these files. */
  static async start(files: Record<string, string>): Promise<TestStudio> {
    const studio = new TestStudio();
    const place = studio.#place;
    for (const [name, text] of Object.entries(files)) place.write(name, text);
    studio.#process = spawn(
      ...bentpipe("studio", place.dir, "--no-open", "--no-store", "--jobs", "1"),
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    const lines = createInterface({ input: studio.#process.stdout! });
    [studio.url] = (await once(lines, "line")) as [string];
    studio.bench = await Bench.start();
    return studio;
  }

  async open(file: string, options: Options = {}): Promise<Opened> {
    const other = env.BENTPIPE_STUDIO_PAGE;
    const before = async (page: Page): Promise<void> => {
      if (other) await this.#replacePage(page, other);
    };
    const opened = await this.bench.visit(this.url, { before, ...options, hash: `#${file}` });
    await opened.page.waitForSelector(".cm-line");
    await status(opened.page, /runs?\b/);
    return opened;
  }

  /** Serves a page that was built after the command, with the command's headers. */
  async #replacePage(page: Page, path: string): Promise<void> {
    await page.route(this.url, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: readFileSync(path, "utf8") });
    });
  }

  /** A page of another origin. */
  other(): Promise<Page> {
    return this.bench.browser.newPage();
  }

  path(file: string): string {
    return join(this.#place.dir, file);
  }

  text(file: string): string {
    return readFileSync(this.path(file), "utf8");
  }

  /** Cancels what a test has left running: the next one would wait for it. */
  async cancelAll(): Promise<void> {
    const runs = (await (await fetch(`${this.url}api/runs`)).json()) as { id: number }[];
    for (const { id } of runs) await fetch(`${this.url}api/runs/${id}`, { method: "DELETE" });
  }

  async stop(): Promise<void> {
    await this.bench?.close();
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGINT");
    expect((await ended)[0]).toBe(0);
    this.#place.remove();
  }
}
