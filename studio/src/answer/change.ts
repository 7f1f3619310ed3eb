import { evenOf } from "../data/compared.ts";
import { groupsAt } from "../data/groups.ts";
import { type Point, pointKey, pointsOf } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { type Sweep, sweepOf } from "../data/sweep.ts";
import { changeWords, metricValue } from "../format/metric.ts";
import { significant } from "../format/numbers.ts";
import { type Comparison, failuresOf, isTime, type Row } from "./comparison.ts";
import { type Contrast, contrastOf, shownOf } from "./contrast.ts";
import { strongest } from "./sentence.ts";
import { capital, inSentence } from "./words.ts";

/** The sweep of a report, if it has several points. */
export function sweepIn(report: Report): Sweep | null {
  const points = pointsOf(report);
  return points.length > 1 ? sweepOf(report.sweep, points) : null;
}

/** The panel of a sweep that a point is in: the points along the axis, in its order. */
export const panelOf = (sweep: Sweep, point: Point): Sweep["panels"][number] | undefined =>
  sweep.panels.find((panel) => panel.points.some((p) => p && pointKey(p) === pointKey(point)));

/** A row's variant beside the baseline at another point. */
export function contrastAt(c: Comparison, variant: string, point: Point): Contrast | null {
  const groups = groupsAt(c.report, point, c.flow, c.metric.key);
  const [base, own] = [c.base.name, variant].map((v) => groups.find((g) => g.variant === v));
  return base && own ? contrastOf(base, own, c.metric) : null;
}

/** Some of a list: both ends, and what is in the middle. */
function some<T>(list: T[]): T[] {
  return list.length <= 3 ? list : [list[0]!, list[list.length >> 1]!, list.at(-1)!];
}

/** How the gain of a variant changes along the axis of the sweep. */
function alongAxis(c: Comparison, sweep: Sweep, row: Row): string | null {
  const panel = panelOf(sweep, c.point);
  const here = pointKey(c.point);
  const along = (panel?.points ?? []).flatMap((point, i) => {
    const contrast = point && contrastAt(c, row.name, point);
    return contrast && Number.isFinite(contrast.gain)
      ? [{ ...contrast, text: sweep.values[i]!.text, here: pointKey(point) === here }]
      : [];
  });
  if (along.length < 3 || along.length < sweep.values.length) return null;
  if (sweep.values.some((v) => v.number === null)) return null;
  const { compared } = c.metric;
  const better = along.every(({ gain }) => gain >= evenOf(compared));
  const longer = isTime(c.metric) && along.every(({ gain }) => gain <= 1);
  const said = (p: Contrast): number => (longer ? p.change : shownOf(p));
  const gains = along.map((p) => (better ? p.gain : said(p)));
  // Towards the end at which there is most to say.
  const grows = gains.every((g, i) => i === 0 || g >= gains[i - 1]!);
  const shrinks = gains.every((g, i) => i === 0 || g <= gains[i - 1]!);
  if (grows === shrinks) return null;
  const others = some(along.filter((p) => !p.here));
  const list = others
    .map((p) => `${changeWords(c.metric, said(p))} at ${p.text.replaceAll(" ", "\u00a0")}`)
    .join(", ");
  const plain = compared === "ratio" ? "The ratio" : "The difference";
  const what = better ? "The gain" : longer ? "The slowdown" : plain;
  return `${what} ${grows ? "grows" : "shrinks"} with the ${sweep.name}: ${list}.`;
}

/** The range of what a variant gains, or of its changes, over all points. */
function overAll(c: Comparison, row: Row): string | null {
  const ratio = c.metric.compared === "ratio";
  const time = isTime(c.metric);
  const all = pointsOf(c.report).flatMap((point) => {
    const contrast = contrastAt(c, row.name, point);
    return contrast && Number.isFinite(contrast.gain * contrast.change) ? contrast : [];
  });
  if (all.length < 2) return null;
  const longer = time && all.every(({ gain }) => gain <= 1);
  const said = all.map(({ gain, change }) => (time && !longer ? gain : change));
  const [low, high] = [Math.min(...said), Math.max(...said)].map((x) =>
    ratio ? significant(x) : changeWords(c.metric, x),
  );
  if (low === high) return `It is the same at all ${all.length} points.`;
  if (!ratio)
    return `Over ${all.length} points, the difference to ${c.base.name} is ${low} to ${high}.`;
  const range = `${low} to ${high} times`;
  const what = time ? `is ${range} as fast` : `is ${range} that of ${c.base.name}`;
  return `Over ${all.length} points, ${row.name} ${longer ? `takes ${range} as long` : what}.`;
}

/** The range of a single variant's medians over the points of a sweep. */
function ofPoints(c: Comparison): string | null {
  const known = c.rows.filter((row) => row.group.median !== null);
  if (known.length < 3) return null;
  const by = [...known].sort((a, b) => a.group.median! - b.group.median!);
  const [low, high] = [by[0]!, by.at(-1)!];
  // The answer has said so.
  if ([low, high].every((row) => row === c.base || row === strongest(c)[0])) return null;
  const at = (row: Row): string => `${metricValue(c.metric, row.group.median)} at ${row.name}`;
  const what = capital(inSentence(c.metric.label));
  return `${what} over ${known.length} points: ${at(low)} to ${at(high)}.`;
}

/** At how many points a variant fails. */
function failing(c: Comparison): string | null {
  const points = pointsOf(c.report);
  const row = c.rows.find((r) => failuresOf(r) > 0);
  if (!row || c.by === "point" || points.length < 2) return null;
  const failed = points.filter((point) =>
    groupsAt(c.report, point, c.flow, c.metric.key).some(
      (g) => g.variant === row.name && g.failed.length > 0,
    ),
  );
  const some = `${failed.length} of ${points.length} points`;
  return `${row.name} fails at ${failed.length === points.length ? "every point" : some}.`;
}

/** How a comparison changes over the sweep, in a sentence; null without a sweep. */
export function changeSentence(c: Comparison): string | null {
  if (c.rows.some((row) => failuresOf(row) > 0)) return failing(c);
  if (c.by === "point") return ofPoints(c);
  const sweep = sweepIn(c.report);
  const [first] = strongest(c);
  if (!sweep || !first || c.metric.better === "neither") return null;
  return alongAxis(c, sweep, first) ?? overAll(c, first);
}
