import { isApart } from "../data/compared.ts";
import { flowLabel, flowsOf } from "../data/flows.ts";
import { isShared, METRIC } from "../data/metrics.ts";
import { groupBy } from "../data/statistics.ts";
import { metricValue } from "../format/metric.ts";
import { percent, plural, significant } from "../format/numbers.ts";
import { type Comparison, failuresOf, flowOf, isTime, type Row } from "./comparison.ts";
import { effectOf } from "./contrast.ts";
import { capital, listed, type Sentence, taskOf, theMetric } from "./words.ts";

/** Most rows that a sentence names. */
const MOST_NAMED = 3;

/** What the flow of a comparison transfers: "a 2 MB download", "the transfers of `ours`". */
function taskIn(c: Comparison): string {
  if (c.metric.key !== METRIC.meanCompletion) return taskOf(flowOf(c, c.base, c.flow.name));
  const [name, size] = c.flow.name.split("/", 2) as [string, string?];
  const users = name === "all" ? "all users" : `‘${name}’`;
  const { visit } = c.base.group;
  const later = c.report.summary.some((row) => row.flow === c.flow.name && row.visit !== visit);
  if (later && !size) return `visit ${visit} of ${users}`;
  const whose = later ? `visit ${visit} of ${users}` : users;
  return size ? `the transfers ${size} of ${whose}` : `the transfers of ${whose}`;
}

/** The medians of some rows, each once. */
const valuesOf = ({ metric }: Comparison, rows: Row[]): string[] => [
  ...new Set(rows.map(({ group }) => metricValue(metric, group.median))),
];

/** Rows with the strongest effect, and those as strong within what counts as no difference. */
export function strongest(c: Comparison): Row[] {
  const by = (row: Row): number => effectOf(row.contrast);
  const most = c.rows.reduce<Row | null>((a, b) => (by(b) > (a ? by(a) : 0) ? b : a), null);
  if (!most?.contrast) return [];
  const { median } = most.group;
  const alike = c.rows.filter((row) => row.contrast?.apart && !isApart(row.group.median!, median!));
  return alike.sort((a, b) => by(b) - by(a));
}

/** How a median changed: "by 12 %", "2.3-fold". */
const changed = (ratio: number): string =>
  !Number.isFinite(ratio)
    ? "from nothing"
    : ratio >= 2
      ? `${significant(ratio)}-fold`
      : `by ${percent(Math.abs(1 - ratio))}`;

/** The names of some rows; of many, the first one's and the number of the others. */
const few = (rows: Row[]): string =>
  rows.length > MOST_NAMED
    ? `${rows[0]!.name} and ${rows.length - 1} others`
    : listed(rows.map((row) => row.name));

/** The sentence of a difference. */
function difference(c: Comparison, rows: Row[]): Sentence {
  const [first] = rows;
  const { change, gain, better } = first!.contrast!;
  const several = rows.length > 1;
  const names = few(rows);
  const verb = (one: string, many: string): string => (several ? many : one);
  const own = listed(valuesOf(c, rows.length > MOST_NAMED ? rows.slice(0, 1) : rows));
  const before = metricValue(c.metric, c.base.group.median);
  const values = `${own} instead of ${before}`;
  const against = ` with ${c.base.name}`;
  const side = c.metric.better === "neither" ? "plain" : better ? "better" : "worse";
  if (isTime(c.metric)) {
    const mean = c.metric.key === METRIC.meanCompletion ? " on average" : "";
    const made: Sentence = better
      ? [{ strong: `${significant(gain)} times as fast`, side }]
      : ["take ", { strong: `${significant(change)} times as long`, side }];
    const makes = `${names} ${verb("makes", "make")} ${taskIn(c)} `;
    return [makes, ...made, `${mean}: ${values}${against}.`];
  }
  const does =
    first!.group.median! < c.base.group.median! ? verb("lowers", "lower") : verb("raises", "raise");
  const what = `${names} ${does} ${theMetric(c.metric)} `;
  if (c.metric.compared !== "ratio")
    return [what, { strong: `to ${own}`, side }, `, from ${before}${against}.`];
  return [what, { strong: changed(change), side }, `: ${values}${against}.`];
}

/** The sentence of a flow's share of what competing flows receive. */
function share(c: Comparison, rows: Row[]): Sentence {
  const { metric, flow, base } = c;
  const of = (row: Row): string => metricValue(metric, row.group.median);
  const [first] = rows;
  const whole = " of what all flows receive together";
  if (!first) return [`${flow.name} receives `, { strong: of(base), side: "plain" }, `${whole}.`];
  return [
    `With ${few(rows)}, ${flow.name} receives `,
    { strong: of(first), side: "plain" },
    `${whole}, instead of ${of(base)} with ${base.name}.`,
  ];
}

/** The sentence of rows of which some did not complete. */
function failure(c: Comparison): Sentence {
  const failing = c.rows.filter((row) => failuresOf(row) > 0);
  const all = failing.filter((row) => failuresOf(row) === row.group.values.length);
  const some = failing.filter((row) => !all.includes(row));
  const task = taskIn(c);
  const out: Sentence = [];
  for (const [error, rows] of groupBy(all, (row) => row.group.failed[0]!.error)) {
    const names = listed(
      rows.map((r) => r.name),
      MOST_NAMED,
    );
    const strong = `never ${rows.length > 1 ? "complete" : "completes"} ${task}`;
    const why = error ? `: ${error}. ` : ". ";
    out.push(`${names} `, { strong, side: "worse" }, why);
  }
  for (const row of some.slice(0, MOST_NAMED)) {
    const n = row.group.values.length;
    const strong = `does not complete ${task} in ${failuresOf(row)} of ${plural(n, "run")}`;
    out.push(`${row.name} `, { strong, side: "worse" }, ". ");
  }
  const whole = c.rows.filter((row) => !failing.includes(row) && row.group.median !== null);
  const better = c.metric.better === "higher" ? -1 : 1;
  whole.sort((a, b) => better * (a.group.median! - b.group.median!));
  const [best] = whole;
  if (best) {
    const value = metricValue(c.metric, best.group.median);
    out.push(
      isTime(c.metric)
        ? `${best.name} takes ${value}.`
        : `${best.name} has ${theMetric(c.metric).replace(/^the /, "")} ${value}.`,
    );
  }
  return out;
}

/** The sentence of rows between which there is no difference. */
function tie(c: Comparison): Sentence {
  const known = c.rows.filter((row) => row.group.median !== null);
  const what = c.by === "point" ? "point" : "variant";
  const names = listed(
    known.map((row) => row.name),
    MOST_NAMED,
    what,
  );
  const chance = known.some((row) => row.contrast?.chance);
  const values = listed(valuesOf(c, known), MOST_NAMED + 1, "value");
  const measured = isTime(c.metric) ? taskIn(c) : theMetric(c.metric);
  const strong = chance ? "No difference larger than chance" : "No difference of a per cent";
  const took = `: ${measured} ${isTime(c.metric) ? "takes" : "is"} ${values}.`;
  return [{ strong, side: "plain" }, ` between ${names}${took}`];
}

/** The sentence of a single row. */
function single(c: Comparison): Sentence {
  const strong = metricValue(c.metric, c.base.group.median);
  const what = isTime(c.metric) ? `${taskIn(c)} takes ` : `${theMetric(c.metric)} is `;
  // Of one flow among several, it says which.
  const several = flowsOf(c.report).length > 1 && !isShared(c.metric.key) && c.flow.name !== "all";
  const begin = several ? `‘${flowLabel(c.report, c.flow)}’: ${what}` : capital(what);
  return [begin, { strong, side: "plain" }, "."];
}

/** The sentence that answers a comparison. */
export function answerSentence(c: Comparison): Sentence {
  if (c.rows.some((row) => failuresOf(row) > 0)) return failure(c);
  const rows = strongest(c);
  if (c.metric.key === METRIC.flowShare && (rows.length > 0 || c.rows.length === 1))
    return share(c, rows);
  if (rows.length > 0) return difference(c, rows);
  return c.rows.length > 1 ? tie(c) : single(c);
}
