import type { Report } from "../data/report.types.ts";
import { NONE } from "../format/numbers.ts";
import { type Child, h, withCode } from "../page/dom.ts";
import { limitsOf, versionOf } from "./parts.ts";
import { reportPath } from "./path.ts";
import { variantSettings } from "./variants.ts";

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

/** Title, facts and path of a report without runs. `beside` comes before the path. */
export function header(report: Report, beside?: Node): HTMLElement {
  const fact = (name: string, value: string): Child =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value || NONE));
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
    ),
    limitsOf(report).map((text) => h("p", { class: "note" }, withCode(text))),
    beside,
    report.path && reportPath(report, report.path),
    variantSettings(report),
  );
}
