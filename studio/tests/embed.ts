import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import type { Fixture } from "./blobwriter.ts";

/** What the report writer looks for in the built page. */
export const PLACEHOLDER = "<!--BENTPIPE-DATA-->";

/** The built page. */
export function builtPage(): string {
  return readFileSync(fileURLToPath(new URL("../dist/index.html", import.meta.url)), "utf8");
}

/** The script of the globe. */
export function builtGlobe(): string {
  return readFileSync(fileURLToPath(new URL("../dist/globe.js", import.meta.url)), "utf8");
}

/** Puts a report into the page, as the report writer does. */
export function embed(page: string, { report, blob }: Fixture): string {
  const json = JSON.stringify(report).replaceAll("</", "<\\/");
  let data = `<script type="application/json" id="bentpipe-report">${json}</script>`;
  if (blob) {
    const text = Buffer.from(deflateSync(blob)).toString("base64");
    const type = "application/octet-stream;base64";
    data += `\n<script type="${type}" id="bentpipe-traces">${text}</script>`;
  }
  // The globe goes only where there is a sky; its build has made it fit to stand in an element.
  if (report.constellations?.length)
    data += `\n<script id="bentpipe-globe">${builtGlobe()}</script>`;
  return page.replace(PLACEHOLDER, () => data);
}
