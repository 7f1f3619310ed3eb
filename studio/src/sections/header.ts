import { pathView } from "../charts/static/path-drawing.ts";
import type { Expectation, Report } from "../data/schema.ts";
import { count, NONE, shortest } from "../format/numbers.ts";
import { type Child, h, remeasure, replace } from "../page/dom.ts";

type Theme = "auto" | "light" | "dark";

/** Follows the system's colour scheme until the reader chooses one; `changed` is called when the colours change. */
export function themeToggle(changed: () => void): HTMLElement {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen: Theme = "auto";
  let printing = false;
  const group = h("div", { class: "toggle", role: "group", "aria-label": "Colours" });
  const apply = (): void => {
    const dark = !printing && (chosen === "dark" || (chosen === "auto" && system.matches));
    root.dataset.theme = dark ? "dark" : "light";
    root.classList.toggle("printing", printing);
    replace(
      group,
      (["auto", "light", "dark"] as const).map((t) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(t === chosen),
            click: () => {
              chosen = t;
              apply();
              group.querySelectorAll("button")[["auto", "light", "dark"].indexOf(t)]?.focus();
            },
          },
          t,
        ),
      ),
    );
    changed();
    remeasure();
  };
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => {
    printing = true;
    apply();
  });
  addEventListener("afterprint", () => {
    printing = false;
    apply();
  });
  apply();
  return group;
}

function expectation(e: Expectation): HTMLElement {
  const [mark, word, kind] =
    e.held === null
      ? ["?", "not decided", "open"]
      : e.held
        ? ["✓", "held", "held"]
        : ["✗", "not held", "failed"];
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

function expectations(list: Expectation[]): Child {
  if (list.length === 0) return null;
  const held = list.filter((e) => e.held === true).length;
  return h(
    "section",
    { class: "card expectations", "aria-labelledby": "expect-title" },
    h(
      "h2",
      { id: "expect-title" },
      held === list.length
        ? `Expectations: all ${list.length} held`
        : `Expectations: ${held} of ${list.length} held`,
    ),
    h("ul", { class: list.length > 6 ? "many" : null }, list.map(expectation)),
  );
}

/** Splits a description into what stands at once, whole sentences of up to `room` characters, and the rest. */
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
    h("p", { class: "lead" }, first),
    rest &&
      h(
        "details",
        { class: "lead more" },
        h("summary", {}, "More about this scenario"),
        h("p", {}, rest),
      ),
  ];
}

function notes(report: Report): Child {
  const list = [
    ...(report.complete ? [] : ["This report is not complete: the runs were ended early."]),
    ...report.notes,
  ];
  return list.map((text) => h("p", { class: "note" }, text));
}

/** Title, facts, path and expectations. */
export function header(report: Report): HTMLElement {
  const repeats = new Set(report.runs.map((r) => r.run)).size;
  const fact = (name: string, value: string): Child => [
    h("dt", {}, name),
    h("dd", {}, value || NONE),
  ];
  return h(
    "header",
    { class: "intro" },
    h("h1", {}, report.title),
    report.description && lead(report.description),
    h(
      "dl",
      { class: "chips" },
      h("div", {}, fact("scenario", report.scenario)),
      h("div", {}, fact("seed", String(report.seed))),
      h("div", {}, fact("clock", report.clock)),
      h("div", {}, fact("bentpipe", report.version)),
      report.runs.length > 0 &&
        h(
          "div",
          {},
          fact(
            "runs",
            `${count(report.runs.length)} (${report.variants.length} variant${report.variants.length === 1 ? "" : "s"}${report.sweep.length ? `, ${report.sweep.map((s) => s.values.length).join(" × ")} points` : ""}, ${repeats} repeat${repeats === 1 ? "" : "s"})`,
          ),
        ),
    ),
    notes(report),
    report.path &&
      pathView(
        report.path,
        report.sweep.flatMap((s) =>
          s.key.startsWith("path.") && s.values.length > 1 ? [s.key] : [],
        ),
      ),
    expectations(report.expectations),
  );
}
