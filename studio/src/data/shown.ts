import type { Report } from "./report.types.ts";

/** A report of which some variants are shown, and the whole of it. */
interface Part {
  whole: Report;
  shown: ReadonlySet<string>;
}

const parts = new WeakMap<Report, Part>();

/** A report whose groups are those of some variants. Indices, and so colours, stay. */
export function partOf(whole: Report, shown: ReadonlySet<string>): Report {
  const part = { ...whole };
  parts.set(part, { whole, shown });
  return part;
}

/** The report with all variants. */
export const wholeOf = (report: Report): Report => parts.get(report)?.whole ?? report;

/** True if a variant is among those shown. */
export const isShown = (report: Report, variant: string): boolean =>
  parts.get(report)?.shown.has(variant) ?? true;
