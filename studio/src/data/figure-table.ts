import type { FlowId } from "./flows.ts";
import { type Group, groupsAt } from "./groups.ts";
import { type Metric, metricOf } from "./metrics.ts";
import { type Point, pointKey } from "./points.ts";
import type { Explanation, Report } from "./report.types.ts";
import { PARTS } from "./time-budget.ts";

/** A table of texts and numbers, with its heads. */
export interface FigureTable {
  heads: string[];
  rows: (string | number | null)[][];
}

/** The explanation of a group; undefined without one. */
const explanationAt = (report: Report, flow: FlowId, g: Group): Explanation | undefined =>
  report.explanations?.find(
    (e) =>
      e.flow === flow.name &&
      e.variant === g.variant &&
      e.visit === g.visit &&
      pointKey(e.point) === pointKey(g.point),
  );

/** What a figure is of: a line per variant and point; with `parts`, those of the time too. */
export function figureTable(
  report: Report,
  flow: FlowId,
  metric: Metric,
  points: Point[],
  parts: boolean,
): FigureTable {
  const keys = report.sweep.map((s) => s.key);
  const groups = points.flatMap((p) => groupsAt(report, p, flow, metric.key));
  const budgets = groups.map((g) => (parts ? explanationAt(report, flow, g)?.parts : undefined));
  const used = PARTS.filter((part) => budgets.some((b) => (b?.[part.name] ?? 0) > 0));
  const { label, unit } = metricOf(metric.key);
  return {
    heads: [
      ...keys,
      "variant",
      "n",
      `${label}${unit && unit !== "fraction" ? ` (${unit})` : ""}, median`,
      "95 % CI low",
      "95 % CI high",
      ...used.map((part) => `${part.label} (s)`),
    ],
    rows: groups.map((g, i) => [
      ...keys.map((key) => g.point[key] ?? null),
      g.variant,
      g.n,
      g.median,
      g.summary?.ci95_low ?? null,
      g.summary?.ci95_high ?? null,
      ...used.map((part) => budgets[i]?.[part.name] ?? 0),
    ]),
  };
}

/** A number as tables of papers have it: four digits that count. */
const brief = (x: string | number | null): string =>
  typeof x === "number" ? String(Number(x.toPrecision(4))) : (x ?? "");

/** Columns that have something in some row. */
function filled({ heads, rows }: FigureTable): FigureTable {
  const kept = heads.map((_, i) => rows.some((row) => row[i] !== null && row[i] !== ""));
  const of = <T>(list: T[]): T[] => list.filter((_, i) => kept[i]);
  return { heads: of(heads), rows: rows.map(of) };
}

/** A table in Markdown, with its caption below. */
export function markdown(table: FigureTable, caption: string): string {
  const { heads, rows } = filled(table);
  const safe = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
  const line = (cells: string[]): string => `| ${cells.map(safe).join(" | ")} |\n`;
  const numeric = heads.map((_, i) => rows.every((row) => typeof row[i] !== "string"));
  return (
    line(heads) +
    line(numeric.map((n) => (n ? "---:" : "---"))) +
    rows.map((row) => line(row.map(brief))).join("") +
    `\n${caption}\n`
  );
}

/** A table in LaTeX (package booktabs), with its caption. */
export function latex(table: FigureTable, caption: string): string {
  const { heads, rows } = filled(table);
  const special: Record<string, string> = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
  };
  const safe = (text: string): string =>
    text.replace(/[\\&%$#_{}~^]/g, (c) => special[c] ?? `\\${c}`).replaceAll("\n", " ");
  const line = (cells: string[]): string => `  ${cells.map(safe).join(" & ")} \\\\\n`;
  const columns = heads.map((_, i) => (rows.every((r) => typeof r[i] !== "string") ? "r" : "l"));
  return (
    `\\begin{table}\n\\caption{${safe(caption)}}\n` +
    `\\begin{tabular}{${columns.join("")}}\n\\toprule\n${line(heads)}\\midrule\n` +
    `${rows.map((row) => line(row.map(brief))).join("")}\\bottomrule\n` +
    "\\end{tabular}\n\\end{table}\n"
  );
}
