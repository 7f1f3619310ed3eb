/**
 * Prints where the answer of reports stands: the first result, and where the time went.
 *
 *     node scripts/first-screen.mjs [--widths 1440,1024,390] [--dark] [--shots DIR] REPORT.html …
 *
 * For each report and width: the top of the first result, the top and bottom of the cause, whether
 * both are within 720 px, and how many pixels the page is too wide. Old reports are measured too.
 */
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

/** Height of the window, and of the part of it that the answer may take. */
const HEIGHT = 900;
const ROOM = 720;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    widths: { type: "string", default: "1440" },
    dark: { type: "boolean", default: false },
    shots: { type: "string" },
  },
});
const widths = values.widths.split(",").map(Number);
if (positionals.length === 0 || !widths.every((w) => w >= 200)) {
  console.error("usage: first-screen.mjs [--widths 1440,390] [--dark] [--shots DIR] REPORT.html …");
  process.exit(2);
}

/** Runs in the page: places of the result and of the cause, from the top of the page. */
function measure() {
  const box = (el) => {
    if (!el) return null;
    const { top, bottom } = el.getBoundingClientRect();
    return [Math.round(top + scrollY), Math.round(bottom + scrollY)];
  };
  const first = (...selectors) =>
    selectors.map((s) => box(document.querySelector(s))).find((found) => found) ?? null;
  return {
    answer: first("h2.answer"),
    result: first("[data-first=result] .bar-row, [data-first=result] .heat", "#results .plot"),
    cause: first("[data-cause]", ".budgets"),
    over: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  };
}

const browser = await chromium.launch({
  executablePath: process.env.BENTPIPE_CHROMIUM ?? "/usr/bin/chromium",
});
const cells = (list) => list.map((x, i) => String(x).padStart(i === 0 ? -1 : 8)).join("");
console.log(
  "report".padEnd(20) + cells(["", "width", "answer", "result", "cause", "ends", "fits", "over"]),
);
let bad = 0;
for (const file of positionals) {
  for (const width of widths) {
    const page = await browser.newPage({
      viewport: { width, height: HEIGHT },
      colorScheme: values.dark ? "dark" : "light",
    });
    await page.goto(pathToFileURL(resolve(file)).href, { timeout: 120_000 });
    await page.waitForSelector("main");
    await page.waitForTimeout(400);
    const { answer, result, cause, over } = await page.evaluate(measure);
    const fits = result !== null && result[0] <= ROOM && (cause === null || cause[1] <= ROOM);
    if (width >= 1440 && !fits) bad++;
    const name =
      basename(file, ".html") === "report"
        ? basename(resolve(file, ".."))
        : basename(file, ".html");
    const at = (b, i) => (b ? b[i] : "–");
    console.log(
      name.padEnd(20) +
        cells([
          "",
          width,
          at(answer, 0),
          at(result, 0),
          at(cause, 0),
          at(cause, 1),
          fits ? "yes" : "no",
          over,
        ]),
    );
    if (values.shots)
      await page.screenshot({
        path: join(values.shots, `${name}-${width}${values.dark ? "-dark" : ""}.png`),
      });
    await page.close();
  }
}
await browser.close();
if (bad > 0) console.log(`${bad} reports do not have both within ${ROOM} px`);
