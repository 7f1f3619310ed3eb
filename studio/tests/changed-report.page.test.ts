/** What the editor of an editable report does around its engine, which is a stand-in here. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench } from "./browser.ts";
import { Workplace } from "./command.ts";
import { editorText, notice, ran, retype, status } from "./editing.ts";
import { builtPage, embed } from "./embed.ts";
import { geoReport } from "./fixture.ts";

const TEXT = `# A comment that stays.
name = "kept"
repeat = 3
[sweep]
"path.rtt" = ["20 ms", "600 ms"]
`;

/** What `wasm-bindgen` makes, without a simulator: it knows how many runs a text has. */
function standIn(data: string): string {
  const engine = (shown: string): unknown => {
    const runsOf = (text: string): number =>
      Number(/repeat = (\d+)/.exec(text)?.[1] ?? 1) * (/rtt" = .*,/.test(text) ? 2 : 1);
    const settings = (text: string): unknown[] => [{ key: "name", value: text.slice(0, 9) }];
    return {
      initSync: () => {},
      begin: () => {},
      profiles: () => "[]",
      check: (_: string, text: string) =>
        JSON.stringify({
          plan: {
            ...{ name: "kept", title: "Kept", runs: runsOf(text), in_store: 0 },
            ...{ variants: ["a"], path: null },
            sweep: text.includes("[sweep]") ? [["path.rtt", ["20 ms", "600 ms"]]] : [],
          },
          ...{ error: null, form: {}, settings: settings(text) },
        }),
      outlook: () =>
        JSON.stringify({
          to_run: 1,
          seconds: 1,
          from_earlier_runs: false,
          possible: [],
          paths: null,
        }),
      edit: (change: string) => {
        const { text, key, value } = JSON.parse(change) as Record<string, string>;
        const name = key!.replace(/^sweep\./, "");
        const pattern = new RegExp(`^${name.replaceAll(".", "\\.")} = .*$`, "m");
        return JSON.stringify({ text: text!.replace(pattern, `${name} = ${value}`) });
      },
      run: (_: string, text: string) => {
        const runs = runsOf(text);
        if (runs > 1) throw `about 9000000 packets in ${runs} runs; a page runs up to 2000000`;
        return { summary: "[]", results: "{}", data: shown, free: () => {} };
      },
    };
  };
  return `const wasm_bindgen = (${engine})(${JSON.stringify(data)});`;
}

describe("an editable report", () => {
  const place = new Workplace();
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.start();
  });
  afterAll(async () => {
    await bench?.close();
    place.remove();
  });

  const dist = (name: string): string =>
    readFileSync(fileURLToPath(new URL(`../dist/${name}`, import.meta.url)), "utf8");

  /** Opens an editable report with the stand-in, and its editor. */
  async function edit(hash = ""): Promise<Page> {
    const of = geoReport({ repeats: 2, sizes: ["2 MB"] });
    const scenario = JSON.stringify({ name: "kept.toml", text: TEXT, files: {} });
    const marker = `<script type="application/json" id="bentpipe-scenario">${scenario}</script>
<script type="text/plain" id="bentpipe-engine"></script>`;
    const file = join(place.dir, "kept.html");
    writeFileSync(
      file,
      embed(builtPage(), of).replace("</body>", () => `${marker}</body>`),
    );
    const page = await bench.browser.newPage({ acceptDownloads: true, bypassCSP: true });
    await page.goto(pathToFileURL(file).href + hash);
    const head = await page.evaluateHandle(() => document.head.cloneNode(true));
    await page.addStyleTag({ content: dist("editor.css") });
    await page.addScriptTag({ content: dist("editor.js") });
    const data = embed("<!--BENTPIPE-DATA-->", of);
    await page.evaluate(
      ({ glue, before, hash }) => {
        const module = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
        const slot = document.querySelector<HTMLElement>(".edit-slot")!;
        type Editor = { open(slot: HTMLElement, code: unknown, head: unknown, hash: string): void };
        const { BentpipeEditor } = globalThis as unknown as { BentpipeEditor: Editor };
        BentpipeEditor.open(slot, { module, glue, schema: "{}" }, before, hash);
      },
      { glue: standIn(data), before: head, hash },
    );
    await page.waitForSelector(".cm-line");
    await status(page, /\d runs?/);
    return page;
  }

  it("saves its text at any time, and runs one point of what is too large", async () => {
    const page = await edit();
    const saved = page.waitForEvent("download");
    await page.click("text=Save text");
    expect((await saved).suggestedFilename()).toBe("kept.toml");
    await page.click(".studio-bar button.run");
    await notice(page, /a page runs up to/);
    await page.click("text=Run one point, once");
    await ran(page);
    expect(await editorText(page)).toContain('"path.rtt" = ["20 ms"]');
    expect(await editorText(page)).toContain("repeat = 1");
    expect(await editorText(page)).toContain("# A comment that stays.");
    await page.close();
  });

  it("copies a link that opens its changed text, and ignores one that cannot be read", async () => {
    const page = await edit();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const text = TEXT.replace("repeat = 3", "repeat = 2 # größer");
    await retype(page, text);
    await status(page, /4 runs/);
    await page.click("text=Copy link");
    await notice(page, /on this computer/);
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await page.close();
    const other = await edit(link.slice(link.indexOf("#")));
    await expect.poll(() => editorText(other)).toBe(text);
    await notice(other, /text of the link/);
    await other.close();
    const broken = await edit("#scenario=AAAA");
    await expect.poll(() => editorText(broken)).toBe(TEXT);
    await broken.close();
  });

  it("is saved as a page with its changed text and its runs", async () => {
    const page = await edit();
    const text = TEXT.replace("repeat = 3", "repeat = 1").replace(', "600 ms"', "");
    await retype(page, `${text}# </script><!-- a hostile comment\n`);
    await status(page, /1 run/);
    await page.click(".studio-bar button.run");
    await ran(page);
    const saved = page.waitForEvent("download");
    await page.click("text=Save page");
    const file = join(place.dir, "saved.html");
    await (await saved).saveAs(file);
    await page.close();
    const opened = await bench.visit(pathToFileURL(file).href);
    await opened.page.waitForSelector("h1");
    const kept = await opened.page.evaluate(
      () => document.getElementById("bentpipe-scenario")?.textContent ?? "",
    );
    expect(JSON.parse(kept).text).toBe(`${text}# </script><!-- a hostile comment\n`);
    expect(await opened.page.locator(".topbar").count()).toBe(1);
    expect(await opened.page.locator(".cm-line").count()).toBe(0);
    expect(opened.errors).toEqual([]);
    await opened.page.close();
  });
});
