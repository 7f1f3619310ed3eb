import type { Flow, Report } from "../data/schema.ts";
import { button, download, fileName, h } from "../page/dom.ts";
import { delimited } from "./table.ts";

const FLOW_COLUMNS = [
  "transport",
  "congestion",
  "connections",
  "direction",
  "bytes",
  "completed",
  "start_s",
  "handshake_s",
  "first_byte_s",
  "completion_s",
  "goodput_mbps",
  "packets_sent",
  "packets_lost_policer",
  "packets_lost_queue",
  "packets_lost_random",
  "packets_lost_route",
  "packets_declared_lost",
  "flow_control_blocked_s",
  "return_packets",
  "rtt_min_ms",
  "rtt_mean_ms",
  "rtt_p99_ms",
  "pep_held_bytes",
  "pep_acks_dropped",
] as const satisfies readonly (keyof Flow)[];

/** The results document as `bentpipe run --json` prints it. */
export function resultsJson(report: Report): string {
  const { scenario, seed, clock, version, runs, summary, expectations } = report;
  return `${JSON.stringify({ scenario, seed, clock, version, runs, summary, expectations }, null, 2)}\n`;
}

/** A line per flow of every run. */
export function runsCsv(report: Report): string {
  const keys = report.sweep.map((s) => s.key);
  const layers = [
    ...new Set(report.runs.flatMap((r) => r.flows.flatMap((f) => Object.keys(f.return_bytes)))),
  ];
  const lines: (string | number | null)[][] = [
    [
      "variant",
      ...keys,
      "run",
      "flow",
      "visit",
      ...FLOW_COLUMNS,
      ...layers.map((l) => `return_bytes.${l}`),
    ],
  ];
  for (const run of report.runs) {
    for (const f of run.flows) {
      lines.push([
        run.variant,
        ...keys.map((key) => run.point[key] ?? null),
        run.run,
        f.name,
        f.visit,
        ...FLOW_COLUMNS.map((c) => {
          const value = f[c];
          return typeof value === "boolean" ? String(value) : (value ?? null);
        }),
        ...layers.map((l) => f.return_bytes[l] ?? null),
      ]);
    }
  }
  return delimited(lines, ",");
}

/** The section with the scenario as resolved and the files to take away. */
export function dataSection(report: Report): HTMLElement {
  return h(
    "section",
    { id: "data", "aria-labelledby": "data-title" },
    h("h2", { id: "data-title" }, "Scenario and data"),
    h(
      "p",
      { class: "howto" },
      `Scenario ${report.scenario}, seed ${report.seed}, ${report.clock || "unknown"} clock, bentpipe ${report.version || "of unknown version"}. The same scenario, seed and version give the same numbers under the virtual clock.`,
    ),
    h(
      "div",
      { class: "controls left" },
      report.runs.length > 0 &&
        button("Save results as JSON", () =>
          download(
            fileName(report.scenario, "results.json"),
            "application/json",
            resultsJson(report),
          ),
        ),
      report.runs.length > 0 &&
        button("Save runs as CSV", () =>
          download(fileName(report.scenario, "runs.csv"), "text/csv", runsCsv(report)),
        ),
      report.source &&
        button("Save scenario as TOML", () =>
          download(fileName(`${report.scenario}.toml`), "application/toml", report.source),
        ),
    ),
    report.source &&
      h(
        "details",
        { class: "card" },
        h("summary", {}, "The scenario as resolved"),
        h("pre", { tabindex: 0, role: "region", "aria-label": "Scenario as TOML" }, report.source),
      ),
  );
}
