import { pathView } from "../charts/static/path-drawing.ts";
import { endsOf } from "../data/ends.ts";
import type { PathSummary, Report } from "../data/report.types.ts";

/** Swept keys of the path, whose values hold for the first point only. */
export const sweptInPath = (report: Report): string[] =>
  report.sweep.filter((s) => s.key.startsWith("path.") && s.values.length > 1).map((s) => s.key);

/** The path of a report between its ends, as a drawing. */
export const reportPath = (report: Report, path: PathSummary): HTMLElement =>
  pathView(path, sweptInPath(report), endsOf(report), (report.constellations ?? []).length > 0);
