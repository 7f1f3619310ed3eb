import { isRatio, type PublishedResult, publishedOf, publishedWords } from "../answer/published.ts";
import { metricOf } from "../data/metrics.ts";
import { pointLabel } from "../data/points.ts";
import type { Expectation, Report } from "../data/report.types.ts";
import { changeWords, metricValue } from "../format/metric.ts";
import { plural, shortest } from "../format/numbers.ts";
import { type Child, h, withCode } from "../page/dom.ts";
import { limitsOf } from "./parts.ts";

/** Most published values in a chip's list. */
const MOST_PUBLISHED = 60;

/** Name of the chip that is printed with what it has. */
const CAUTIONS = "Cautions";

/** Numbers chips, so that each can name what it opens. */
let count = 0;

/** A button with a few words, which opens what stands behind them. */
function chip(name: string, words: Child, kind: string, ...inside: Child[]): HTMLElement {
  const id = `chip-${++count}`;
  const panel = h(
    "div",
    { class: "verdict-panel card", id, role: "region", "aria-label": name, tabindex: 0 },
    h("h3", {}, name),
    inside,
  );
  const open = (now: boolean): void => {
    el.classList.toggle("open", now);
    button.setAttribute("aria-expanded", String(now));
  };
  const button = h(
    "button",
    {
      type: "button",
      class: kind,
      "aria-expanded": "false",
      "aria-controls": id,
      click: () => open(!el.classList.contains("open")),
    },
    h("span", {}, name),
    h("b", {}, words),
  );
  const el = h(
    "div",
    {
      class: name === CAUTIONS ? "verdict cautions" : "verdict",
      keydown: (e: KeyboardEvent) => {
        if (e.key !== "Escape" || !el.classList.contains("open")) return;
        open(false);
        button.focus();
      },
      focusout: (e: FocusEvent) => {
        if (e.relatedTarget instanceof Node && !el.contains(e.relatedTarget)) open(false);
      },
    },
    button,
    panel,
  );
  return el;
}

function expectation(e: Expectation): HTMLElement {
  const outcome = e.passed;
  const [mark, word, kind] =
    outcome === null
      ? ["?", "not decided", "open"]
      : outcome
        ? ["✓", "passed", "passed"]
        : ["✗", "failed", "failed"];
  return h(
    "li",
    { class: kind },
    h("span", { class: "mark", "aria-hidden": "true" }, mark),
    h("span", { class: "word" }, word),
    h(
      "span",
      { class: "what" },
      e.text,
      e.measured !== null && [
        " ",
        h("span", { class: "measured" }, `measured ${shortest(e.measured)}`),
      ],
    ),
  );
}

/** Expectations: how many passed; behind it, those that failed first. */
function expectations(list: Expectation[]): Child {
  if (list.length === 0) return null;
  const passed = list.filter((e) => e.passed);
  const failed = list.filter((e) => e.passed === false);
  const open = list.filter((e) => e.passed === null);
  const words =
    failed.length > 0
      ? `✗ ${failed.length} of ${list.length} failed`
      : `${open.length > 0 ? "?" : "✓"} ${passed.length} of ${list.length}`;
  const kind = failed.length > 0 ? "bad" : open.length > 0 ? "warn" : "good";
  const items = [...failed, ...open, ...passed].map(expectation);
  return chip("Expectations", words, kind, h("ul", { class: "expectations" }, items));
}

function publishedRow(b: PublishedResult, goals: boolean): HTMLElement {
  const m = metricOf(b.figure.metric);
  const where = [b.variant, pointLabel(b.point)].filter(Boolean).join(", ");
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, where, h("small", { title: b.figure.source }, b.figure.label)),
    h("td", { class: "num" }, metricValue(m, b.figure.value)),
    h("td", { class: "num" }, metricValue(m, b.measured)),
    h("td", { class: "num" }, changeWords(m, b.change)),
    goals && h("td", {}, b.met === null ? "" : b.met ? "✓ met" : "✗ missed"),
  );
}

/** Published figures: how many objectives were met, or how near the measurements are. */
function published(report: Report): Child {
  const all = publishedOf(report);
  if (all.length === 0) return null;
  const goals = all.some((b) => b.met !== null);
  const shown = all.slice(0, MOST_PUBLISHED);
  const heads = ["Case", "Published", "Measured", "Compared", ...(goals ? ["Objective"] : [])];
  return chip(
    // The words below the name are of the ratios, if there are any.
    goals
      ? "Objectives met"
      : all.some(isRatio)
        ? "Measured ÷ published"
        : "Measured and published",
    publishedWords(all),
    "",
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((t) => h("th", { scope: "col" }, t)),
        ),
      ),
      h(
        "tbody",
        {},
        shown.map((b) => publishedRow(b, goals)),
      ),
    ),
    all.length > shown.length &&
      h("p", { class: "howto" }, `and ${all.length - shown.length} more`),
  );
}

/** What limits the results, with the number of runs of each case. */
function cautions(report: Report, runs: number): Child {
  const list = limitsOf(report);
  const each = runs > 0 ? `${plural(runs, "run")} per case` : "";
  const words = list.length > 0 ? `! ${list.length}${each ? ` · ${each}` : ""}` : each || "none";
  const one = runs === 1 && "There is one run of each case, so there are no intervals.";
  return chip(
    CAUTIONS,
    words,
    list.length > 0 ? "warn" : "",
    list.map((text) => h("p", { class: "note" }, withCode(text))),
    one && h("p", { class: "note" }, one),
    list.length === 0 && !one && h("p", {}, "There are none."),
  );
}

/** The three chips: expectations, published figures, cautions. `runs`: those of each case. */
export function chips(report: Report, runs: number): HTMLElement {
  return h(
    "div",
    { class: "verdicts" },
    expectations(report.expectations),
    published(report),
    cautions(report, runs),
  );
}
