/** Recomputes the numbers in the sentences of an answer from the results alone. */
import { explanationOf, failuresOf, type Row } from "../src/answer/comparison.ts";
import type { Answer } from "../src/answer/index.ts";
import { plain } from "../src/answer/words.ts";
import { type Point, pointsOf, valueWords } from "../src/data/points.ts";
import type { Report } from "../src/data/report.types.ts";
import { TIME_PARTS } from "../src/data/time-parts.generated.ts";

/** Half a unit of the third digit, and what rounding twice adds. */
const ROUNDED = 0.0056;

const near = (said: number, right: number): boolean =>
  Math.abs(said - right) <= ROUNDED * Math.abs(right) + 1e-9;

const same = (a: Point, b: Point): boolean =>
  Object.keys({ ...a, ...b }).every((key) => a[key] === b[key]);

/** A quantity in its base unit: seconds, Mbps, per cent; plain numbers as they are. */
function quantity(text: string): number {
  const long = /^(?:(\d+) d )?(\d\d):(\d\d):(\d\d)$/.exec(text.replaceAll("\u00a0", " ").trim());
  if (long) {
    const [days = 0, hours = 0, minutes = 0, rest = 0] = long.slice(1).map((n) => Number(n ?? 0));
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest;
  }
  const m = /^([−-]?[\d.\u202f]+)\s*(\D*)$/.exec(text.replaceAll("\u00a0", " ").trim());
  if (!m) throw new Error(`no quantity: ${text}`);
  const value = Number(m[1]!.replaceAll("\u202f", "").replace("−", "-"));
  const scale: Record<string, number> = {
    ...{ ms: 1e-3, kB: 1e3, MB: 1e6, GB: 1e9, "%": 0.01 },
    ...{ kbps: 1e-3, Gbps: 1e3 },
  };
  return value * (scale[m[2]!] ?? 1);
}

/** The median of a metric in the summary, in the unit of `quantity`. */
function medianOf(report: Report, row: Row, point: Point, metric: string, flow: string): number {
  const { variant, visit } = row.group;
  const all = report.summary.filter(
    (s) => s.variant === variant && s.metric === metric && same(s.point, point),
  );
  // Metrics of all flows together have no flow and no visit; users together have visits.
  const own = all.find((s) => s.visit === visit && s.flow === flow);
  const found = (own ?? all.find((s) => s.flow === "all"))?.median;
  if (found === undefined || found === null) throw new Error(`no ${metric} of ${variant}`);
  if (metric.endsWith("_ms")) return found / 1000;
  return /_percent/.test(metric) ? found / 100 : found;
}

/** Rows that a list of names stands for: "a", "a and b", "a and 3 others". */
function named(rows: Row[], text: string): Row[] {
  const first = text.replace(/ and \d+ others$/, "");
  const known = [...rows].sort((a, b) => b.name.length - a.name.length);
  let rest = first;
  const found: Row[] = [];
  while (rest !== "") {
    const row = known.find(
      ({ name }) => rest.startsWith(name) && /^(, | and |$)/.test(rest.slice(name.length)),
    );
    if (!row) throw new Error(`who is ${rest}?`);
    found.push(row);
    rest = rest.slice(row.name.length).replace(/^(, | and )/, "");
  }
  return found;
}

const list = (text: string): string[] => text.split(/, | and /);

/** Who, and from what to what it changed: of scores, shares and counts. */
const CHANGE = /^(.+?) (lowers?|raises?) .+? to (.+), from (.+?) with (.+)\.$/u;

/** What is wrong with a sentence of a change: who, from what, to what. */
function changedTo(a: Answer, m: RegExpExecArray): string[] {
  const c = a.comparison!;
  const [, who, does, values, before, against] = m as unknown as string[];
  const rows = named(c.rows, who!);
  const of = (row: Row): number =>
    medianOf(c.report, row, row.group.point, c.metric.key, c.flow.name);
  const faults = against === c.base.name ? [] : [`against ${against}`];
  if (!near(quantity(before!), of(c.base))) faults.push(`${before} is not ${of(c.base)}`);
  for (const v of list(values!).map(quantity))
    if (!rows.some((row) => near(v, of(row)))) faults.push(`${v} is no median of ${who}`);
  if (does!.startsWith("raise") !== of(rows[0]!) > of(c.base)) faults.push(`${who} ${does}`);
  return faults;
}

/** Who, what, by how much, the values, and that of the baseline with its name. */
const DIFFERENCE = new RegExp(
  [
    "^(.+?) (?:makes?|lowers?|raises?) (.+?) (?:take )?",
    "([\\d.\\u202f]+ times as (?:fast|long)|by [\\d.]+\\s%|[\\d.]+-fold|from nothing)",
    "(?: on average)?: (.+) instead of (.+?) with (.+)\\.$",
  ].join(""),
  "u",
);

/** What is wrong with a sentence of a difference: who, by how much, which values. */
function difference(a: Answer, text: string): string[] {
  const c = a.comparison!;
  const to = CHANGE.exec(text);
  if (to) return changedTo(a, to);
  const m = DIFFERENCE.exec(text);
  if (!m) return [`unknown form: ${text}`];
  const rows = named(c.rows, m[1]!);
  const of = (row: Row): number =>
    medianOf(c.report, row, row.group.point, c.metric.key, c.flow.name);
  const [base, first] = [of(c.base), of(rows[0]!)];
  const faults: string[] = [];
  const [, , , by, values, before, against] = m as unknown as string[];
  if (against !== c.base.name) faults.push(`against ${against}`);
  if (!near(quantity(before!), base)) faults.push(`${before} is not ${base}`);
  const said = list(values!).map(quantity);
  for (const v of said)
    if (!rows.some((row) => near(v, of(row)))) faults.push(`${v} is no median of ${m[1]}`);
  const number = Number(/[\d.]+/.exec(by!)?.[0]);
  const ratio = first / base;
  const expected = by!.includes("fast")
    ? base / first
    : by!.includes("long") || by!.includes("fold")
      ? ratio
      : by!.startsWith("by")
        ? 100 * Math.abs(ratio - 1)
        : Number.NaN;
  // The change of a value that is rounded itself.
  if (by !== "from nothing" && !near(number, expected)) faults.push(`${by} is not ${expected}`);
  // Not in the name: `long-path` is one.
  const up = /raises?|long|fold|nothing/.test(text.slice(m[1]!.length, text.indexOf(":")));
  if (up !== ratio > 1) faults.push(`${first} against ${base} is not what "${text}" says`);
  return faults;
}

/** What is wrong with an answer's first sentence. */
function sentence(a: Answer): string[] {
  const c = a.comparison!;
  const text = plain(a.sentence);
  if (c.rows.some((row) => failuresOf(row) > 0)) {
    const runs = (row: Row) =>
      c.report.runs.filter(
        (r) => r.variant === row.group.variant && same(r.point, row.group.point),
      );
    const done = (row: Row): number =>
      runs(row)
        .flatMap((r) => r.flows)
        .filter((f) => f.name === c.flow.name && f.visit === row.group.visit && f.completed).length;
    const never = /^(.+?) never completes?/.exec(text)?.[1];
    if (!never) return [];
    return named(c.rows, never)
      .filter((row) => done(row) > 0)
      .map((row) => `${row.name} completes`);
  }
  const of = (row: Row): number =>
    medianOf(c.report, row, row.group.point, c.metric.key, c.flow.name);
  if (text.startsWith("No difference")) {
    const values = list(/(?:takes|is) (.+)\.$/.exec(text)![1]!);
    if (/^\d+ values$/.test(values[0]!)) return [];
    // Of transfers that never completed there is no value.
    const known = c.rows.filter((row) => row.group.median !== null);
    return values
      .map(quantity)
      .filter((v) => !known.some((row) => near(v, of(row))))
      .map((v) => `${v}`);
  }
  const share = /receives ([\d.]+\s%) of what all/u.exec(text)?.[1];
  if (share) return c.rows.some((row) => near(quantity(share), of(row))) ? [] : [`share ${share}`];
  const single = /^(?!.* instead of ).*(?:takes|is) (.+)\.$/.exec(text)?.[1];
  if (single) return near(quantity(single), of(c.base)) ? [] : [`${single} is not ${of(c.base)}`];
  return difference(a, text);
}

/** What is wrong with the sentence that says why. */
function reason(a: Answer, text: string): string[] {
  const c = a.comparison!;
  const base = explanationOf(c, c.base);
  const other = c.rows.find((row) => text.startsWith(`With ${row.name},`));
  const strongest = /^(.+?) (?:makes?|lowers?|raises?)/.exec(plain(a.sentence))?.[1];
  const row = other ?? (strongest ? named(c.rows, strongest)[0] : undefined);
  const own = row && explanationOf(c, row);
  if (!base || !own) return [`no explanation for: ${text}`];
  const faults: string[] = [];
  const total = /^Of the (.+?) (saved|added)/.exec(text);
  if (total && !near(quantity(total[1]!), Math.abs(base.completion_s - own.completion_s)))
    faults.push(`${total[1]} is not the difference`);
  for (const [, time, how, words] of text.matchAll(
    /([\d.]+\s(?:ms|s)) (is|less|more)(?: goes)?(?: to)? ([^,.]+?)(?= and [\d.]+\s|, but|[,.]|$)/gu,
  )) {
    const called = words!.replace(/^(the|a) /, "").replace(/^sending/, "time to send");
    const part = TIME_PARTS.find((p) => p.words === called);
    if (!part) return [`unknown part: ${words}`];
    const change = (own.parts[part.name] ?? 0) - (base.parts[part.name] ?? 0);
    if (!near(quantity(time!), Math.abs(change))) faults.push(`${time} ${words} is not ${change}`);
    if (how !== "is" && (how === "more") !== change > 0) faults.push(`${words} is not ${how}`);
  }
  return faults;
}

/** What is wrong with a sentence of one cause: its time and the whole time with both. */
function cause(a: Answer, text: string): string[] {
  const c = a.comparison!;
  const m = /^(.+): (.+?) of (.+?) with (.+), ([\d.]+\s(?:ms|s)) with (.+)\.$/u.exec(text)!;
  const [, words, first, whole, base, second, other] = m as unknown as string[];
  const part = TIME_PARTS.find((p) => p.words.toLowerCase() === words!.toLowerCase());
  if (!part) return [`unknown part: ${words}`];
  const [from, to] = [base, other].map((name) => {
    const row = c.rows.find((r) => r.name === name);
    return row && explanationOf(c, row);
  });
  if (!from || !to) return [`no explanation for: ${text}`];
  const right: [string, number][] = [
    [first!, from.parts[part.name] ?? 0],
    [whole!, from.completion_s],
    [second!, to.parts[part.name] ?? 0],
  ];
  return right.flatMap(([said, v]) => (near(quantity(said), v) ? [] : `${said} is not ${v}`));
}

/** The medians of the first row's variant over those of the baseline, at each point. */
function gains(a: Answer): { point: Point; gain: number; ratio: number }[] {
  const c = a.comparison!;
  const name = named(c.rows, /^(.+?) (?:makes?|lowers?|raises?)/.exec(plain(a.sentence))![1]!)[0]!;
  return pointsOf(c.report).flatMap((point) => {
    try {
      const [base, own] = [c.base, name].map((row) =>
        medianOf(c.report, row, point, c.metric.key, c.flow.name),
      );
      const ratio = own! / base!;
      return [{ point, gain: c.metric.better === "lower" ? 1 / ratio : ratio, ratio }];
    } catch {
      return [];
    }
  });
}

/** What is wrong with a sentence about the sweep. */
function change(a: Answer, text: string): string[] {
  const all = gains(a);
  const over = /^Over (\d+) points, .+ (?:is|takes) ([\d.]+) to ([\d.]+) times( as fast)?/.exec(
    text,
  );
  if (over) {
    const values = all.map((g) => (over[4] ? g.gain : g.ratio));
    const right: [string, number][] = [
      [over[1]!, values.length],
      [over[2]!, Math.min(...values)],
      [over[3]!, Math.max(...values)],
    ];
    return right
      .filter(([said, v]) => !near(Number(said), v))
      .map(([said, v]) => `${said} is not ${v}`);
  }
  const faults: string[] = [];
  for (const [, gain, where] of text.matchAll(/([\d.]+)× at ([^,]+?)(?=, [\d.]+×|\.$)/g)) {
    const there = all.filter(({ point }) =>
      Object.values(point).some((v) => valueWords(v) === where!.replaceAll("\u00a0", " ")),
    );
    const said = ({ gain, ratio }: (typeof all)[number]): number =>
      text.startsWith("The slowdown") ? ratio : gain;
    if (!there.some((g) => near(Number(gain), said(g)))) faults.push(`${gain}× at ${where}`);
  }
  return faults;
}

/** What is wrong with the sentences of an answer; empty if all numbers are those of the results. */
export function faultsOf(a: Answer): string[] {
  const c = a.comparison;
  if (!c) return [];
  const faults = sentence(a);
  for (const text of a.more) {
    if (/^(‘.+?’): .*\1/u.test(text)) faults.push(`says twice whom it is about: ${text}`);
    if (/^(Of the|With .+?, [\d.]+\s(ms|s) (less|more))/u.test(text))
      faults.push(...reason(a, text));
    else if (/^(Over \d+ points, |The (gain|ratio|slowdown) )/.test(text))
      faults.push(...change(a, text));
    else if (/^[^‘.]+: .+ of .+ with .+, [\d.]+\s(ms|s) with /u.test(text))
      faults.push(...cause(a, text));
  }
  return faults.map((fault) => `${c.report.scenario}: ${fault} (${plain(a.sentence)})`);
}
