import { pathView } from "../charts/static/path-drawing.ts";
import type { Expectation, Report } from "../data/report.types.ts";
import { count, NONE, plural, shortest } from "../format/numbers.ts";
import { type Child, h, withCode } from "../page/dom.ts";
import { versionOf } from "./parts.ts";
import { variantSettings } from "./variants.ts";

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

/** More than these would push the results out of sight: those that passed are folded then. */
const MOST_SHOWN = 6;

function expectations(list: Expectation[]): Child {
  if (list.length === 0) return null;
  const passed = list.filter((e) => e.passed);
  const all = passed.length === list.length && list.length > 1;
  const folded = list.length > MOST_SHOWN ? passed : [];
  const shown = list.filter((e) => !folded.includes(e));
  const items = (some: Expectation[]): Child => h("ul", {}, some.map(expectation));
  return h(
    "section",
    { class: "card expectations", "aria-labelledby": "expect-title" },
    h(
      "h2",
      { id: "expect-title" },
      `Expectations: ${all ? "all" : `${passed.length} of`} ${list.length} passed`,
    ),
    shown[0] && items(shown),
    folded[0] && h("details", {}, h("summary", {}, "Those that passed"), items(folded)),
  );
}

/**
 * Splits a description into an opening, whole sentences of up to `room` characters, and the rest.
 */
export function opening(text: string, room = 230): [string, string] {
  const whole = text.trim().replace(/\s+/g, " ");
  if (whole.length <= room * 1.25) return [whole, ""];
  let end = 0;
  for (const m of whole.matchAll(/[.!?] (?=[\p{Lu}\d"])/gu)) {
    if (end > 0 && m.index + 1 > room) break;
    end = m.index + 1;
  }
  return end === 0 ? [whole, ""] : [whole.slice(0, end), whole.slice(end + 1)];
}

function lead(text: string): Child {
  const [first, rest] = opening(text);
  return [
    h("p", { class: "lead" }, withCode(first)),
    rest &&
      h(
        "details",
        { class: "lead more" },
        h("summary", {}, "More about this scenario"),
        h("p", {}, withCode(rest)),
      ),
  ];
}

function notes(report: Report): Child {
  const list = [
    ...(report.complete ? [] : ["This report is not complete: the runs were ended early."]),
    ...report.notes,
  ];
  return list.map((text) => h("p", { class: "note" }, withCode(text)));
}

/** The number of runs, and of what they are made up. */
function runsInWords(report: Report): string {
  const points = report.sweep.map((s) => s.values.length).join(" × ");
  const parts = [
    plural(report.variants.length, "variant"),
    points && `${points} points`,
    plural(new Set(report.runs.map((r) => r.run)).size, "repeat"),
  ];
  return `${count(report.runs.length)} (${parts.filter(Boolean).join(", ")})`;
}

/** Title, facts, path and expectations. `beside` comes before the path. */
export function header(report: Report, beside?: Node): HTMLElement {
  const fact = (name: string, value: string): Child =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value || NONE));
  const swept = report.sweep.filter((s) => s.key.startsWith("path.") && s.values.length > 1);
  return h(
    "header",
    { class: "intro" },
    h("h1", {}, report.title),
    report.description && lead(report.description),
    h(
      "dl",
      { class: "chips" },
      fact("scenario", report.scenario),
      fact("seed", String(report.seed)),
      fact("clock", report.clock),
      fact("bentpipe", versionOf(report)),
      report.runs.length > 0 && fact("runs", runsInWords(report)),
    ),
    notes(report),
    beside,
    report.path &&
      pathView(
        report.path,
        swept.map((s) => s.key),
      ),
    variantSettings(report),
    expectations(report.expectations),
  );
}
