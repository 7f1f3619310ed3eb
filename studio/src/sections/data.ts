import { resultsJson, runsTable } from "../data/export.ts";
import type { Report } from "../data/report.types.ts";
import { button, h } from "../page/dom.ts";
import { delimited, download, fileName } from "../page/files.ts";
import { versionOf } from "./parts.ts";

/** The section with the resolved scenario and files to save. */
export function dataSection(report: Report): HTMLElement {
  const { scenario, seed, source, clock } = report;
  const version = versionOf(report);
  const save = (label: string, name: string, type: string, text: () => string): HTMLElement =>
    button(label, () => download(fileName(scenario, name), type, text()));
  const hasRuns = report.runs.length > 0;
  const saves = [
    hasRuns &&
      save("Save results as JSON", "results.json", "application/json", () => resultsJson(report)),
    hasRuns &&
      save("Save runs as CSV", "runs.csv", "text/csv", () => delimited(runsTable(report), ",")),
    source &&
      button("Save scenario as TOML", () =>
        download(fileName(`${scenario}.toml`), "application/toml", source),
      ),
  ];
  const label = { tabindex: 0, role: "region", "aria-label": "Scenario as TOML" };
  return h(
    "section",
    { id: "data", "aria-labelledby": "data-title" },
    h("h2", { id: "data-title" }, "Scenario and data"),
    h(
      "p",
      { class: "howto" },
      `Scenario ${scenario}, seed ${seed}, ${clock} clock, bentpipe ${version}. `,
      "With the virtual clock, the same scenario, seed and version give the same numbers.",
    ),
    h("div", { class: "controls left" }, saves),
    source &&
      h(
        "details",
        { class: "card" },
        h("summary", {}, "The resolved scenario"),
        h("pre", label, source),
      ),
  );
}
