import { assertReport, isObject } from "./check.ts";
import { type Point, pointsOf } from "./points.ts";
import type { ConstellationView, Report, Trace } from "./report.types.ts";

/** The text of an embedded data element; null if the page has no data. */
export function embedded(id: string): string | null {
  const text = document.getElementById(id)?.textContent;
  return text?.trim() ? text : null;
}

/** The axes of a sweep with these points, in the order of their appearance. */
function axesOf(points: Point[]): Report["sweep"] {
  const keys = [...new Set(points.flatMap((p) => Object.keys(p)))];
  return keys.map((key) => ({
    key,
    values: [...new Set(points.flatMap((p) => p[key] ?? []))],
    numbers: [],
    unit: null,
  }));
}

/** What a `results.json` lacks of a report: everything that a run directory has in other files. */
const LACKING: Omit<
  Report,
  "scenario" | "seed" | "clock" | "version" | "runs" | "summary" | "expectations"
> = {
  title: "",
  description: null,
  commit: null,
  headline: null,
  headlines: [],
  path_changes: false,
  complete: true,
  runs_planned: 0,
  runs_done: 0,
  variants: [],
  variant_settings: [],
  sweep: [],
  path: null,
  published: [],
  notes: [],
  files: [],
  engine: "",
  source: "",
  traces: [],
};

/** Throws if a trace refers to a constellation, a satellite or a station that does not exist. */
function assertReferences(trace: Trace, constellations: ConstellationView[]): void {
  const { constellation: index } = trace;
  if (index === undefined || index === null) return;
  const over = constellations[index];
  if (!over) throw new Error(`constellation ${index} does not exist`);
  const nodes = over.satellites.names.length + over.stations.length;
  const unknown = trace.routes?.flatMap((r) => r.nodes).find((node) => node >= nodes);
  if (unknown !== undefined)
    throw new Error(`node ${unknown} does not exist: constellation ${index} has ${nodes}`);
}

/**
 * The report in a parsed JSON document: one that is embedded in the page, or a `results.json`,
 * whose variants and sweep are read from its runs. Throws an error if the document does not fit the
 * report's schema.
 */
export function readReport(document: unknown): Report {
  if (!isObject(document) || !Array.isArray(document.runs))
    throw new Error("this is not a results document: it has no list of runs");
  const bare = !("variants" in document);
  const report: unknown = bare ? { ...LACKING, ...document } : document;
  assertReport(report);
  const constellations = report.constellations ?? [];
  for (const { satellites, isls } of constellations) {
    const n = satellites.names.length;
    if (satellites.shell.length !== n) throw new Error(`not every satellite of ${n} has a shell`);
    const unknown = isls.flat().find((node) => node >= n);
    if (unknown !== undefined)
      throw new Error(`satellite ${unknown} does not exist: there are ${n}`);
  }
  for (const trace of report.traces) assertReferences(trace, constellations);
  if (!bare) return report;
  const variants = [...new Set([...report.runs, ...report.summary].map((r) => r.variant))];
  const sweep = axesOf(pointsOf(report));
  return { ...report, title: report.scenario, variants, sweep };
}
