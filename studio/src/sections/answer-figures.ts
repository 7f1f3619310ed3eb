import { contrastAt, panelOf, sweepIn } from "../answer/change.ts";
import {
  addsUp,
  type Comparison,
  explanationOf,
  failuresOf,
  isTime,
  type Row,
} from "../answer/comparison.ts";
import { ABOVE_EFFECTS, type Contrast, effectOf, shownOf } from "../answer/contrast.ts";
import { differences } from "../answer/differs.ts";
import type { Answer } from "../answer/index.ts";
import { type BarRow, barRows, causeLegend } from "../charts/static/bar-rows.ts";
import { type Line, ratioLines } from "../charts/static/ratio-lines.ts";
import { evenOf } from "../data/compared.ts";
import { groupsAt } from "../data/groups.ts";
import { intervalWords } from "../data/interval.ts";
import { isOfPopulation, type Metric } from "../data/metrics.ts";
import { pointKey, pointLabel } from "../data/points.ts";
import type { Explanation, Report } from "../data/report.types.ts";
import type { SeriesSource } from "../data/series-cache.ts";
import {
  changeWords,
  metricScale,
  metricValue,
  plainValue,
  signed,
  times,
} from "../format/metric.ts";
import { clock, plural } from "../format/numbers.ts";
import { button, type Child, h, onPhone, replace } from "../page/dom.ts";
import type { Store } from "../page/state.ts";
import { changesFigure } from "./answer-changes.ts";
import { delaysPanel } from "./answer-delays.ts";
import { latencyPanel } from "./answer-latency.ts";
import { pairFigures } from "./answer-pairs.ts";
import { skyFigure } from "./answer-sky.ts";
import { usersPanel } from "./answer-users.ts";

/** Most rows of the main figure, on a phone too; more are folded. */
const MOST_ROWS = 6;
const MOST_ON_PHONE = 3;

const mostRows = (): number => (onPhone() ? MOST_ON_PHONE : MOST_ROWS);

/** What the figures need. */
export interface FigureOptions {
  report: Report;
  store: Store;
  answer: Answer;
  metric: Metric;
  source: SeriesSource | null;
  choose: (variant: string, point: string, run: number) => void;
  controls: Child;
}

/** The rows that are shown: all, or the baseline and those that differ most, in their order. */
function shownRows(c: Comparison): Row[] {
  const most = mostRows();
  if (c.rows.length <= most) return c.rows;
  const strong = (row: Row): number =>
    failuresOf(row) > 0 ? ABOVE_EFFECTS : effectOf(row.contrast);
  const others = c.rows.filter((row) => row !== c.base).sort((a, b) => strong(b) - strong(a));
  const picked = new Set([c.base, ...others.slice(0, most - 1)]);
  return c.rows.filter((row) => picked.has(row));
}

/** A row beside the baseline: "4.2× as fast", "+7 %", "+2.54". */
function relative(metric: Metric, { by, gain, change }: Contrast): string {
  if (isTime(metric)) return gain >= 1 ? `${times(gain)} as fast` : `${times(change)} as long`;
  if (by !== "ratio" || change >= 2) return changeWords(metric, change);
  const percents = 100 * (change - 1);
  return `${signed(percents, Math.abs(percents) < 1 ? 1 : 3)}\u00a0%`;
}

/** What stands below a row's value: how it compares, and its runs. */
function below(c: Comparison, row: Row): Child {
  const { group, contrast } = row;
  const { interval } = group;
  const scale = interval && metricScale(c.metric, interval.high);
  const ends = interval && [interval.low, interval.high].map((v) => plainValue(v, scale!));
  const range = ends ? (ends[0] === ends[1] ? ends[0]! : `${ends[0]}–${ends[1]}`) : "";
  const runs = range
    ? h("span", { title: interval!.words }, range)
    : group.n > 1
      ? plural(group.n, "run")
      : "1 run";
  if (row === c.base) return ["baseline · ", runs];
  if (!contrast || !Number.isFinite(contrast.change)) return runs;
  const judged = contrast.apart && c.metric.better !== "neither";
  const side = judged ? (contrast.better ? "better" : "worse") : "";
  return [h("span", { class: side }, relative(c.metric, contrast)), " · ", runs];
}

function failureOf(row: Row): string | null {
  const n = failuresOf(row);
  if (n === 0 || row.group.median !== null) return null;
  const why = row.group.failed[0]?.error;
  const times = row.group.values.length > 1 ? ` in ${n} runs` : "";
  return `did not complete${times}${why ? `: ${why}` : ""}`;
}

/** Rows of the main figure. */
function rowsOf(c: Comparison, rows: Row[]): BarRow[] {
  const differ = c.by === "variant" ? differences(c.report) : [];
  return rows.map((row) => {
    const { group } = row;
    const failed = failuresOf(row);
    const some = failed > 0 && group.median !== null;
    const long = isTime(c.metric) && c.metric.unit === "s" ? clock(group.median ?? 0) : "";
    return {
      name: row.name,
      index: c.by === "variant" ? group.index : null,
      differs:
        c.by === "point" || differ[group.index] === row.name ? "" : (differ[group.index] ?? ""),
      measured: group.median,
      value: failed > 0 && group.median === null ? "✗" : metricValue(c.metric, group.median),
      below: [
        long && `${long} · `,
        some
          ? h("span", { class: "worse" }, `${failed} of ${group.values.length} failed`)
          : below(c, row),
      ],
      of: explanationOf(c, row),
      published: group.published,
      failure: failureOf(row),
    };
  });
}

/** The main figure: where the time of each row went, or what was measured and its causes. */
function mainFigure({ answer, controls }: FigureOptions): HTMLElement {
  const c = answer.comparison!;
  const shown = shownRows(c);
  const time = addsUp(c);
  const stage = h("div", { class: "bar-stage" });
  const foot = h("div", { class: "budgets-foot" });
  const draw = (rows: Row[]): void => {
    const bars = rowsOf(c, rows);
    const explained = bars.flatMap((b): Explanation[] => (b.of ? [b.of] : []));
    stage.replaceChildren(
      ...(explained.length > 0 ? [causeLegend(explained, time)] : []),
      barRows(bars, { metric: c.metric, time }),
    );
    const rest = c.rows.length - rows.length;
    replace(
      foot,
      rest > 0 &&
        button(`Show all ${c.rows.length}`, () => draw(c.rows), { class: "quiet-button" }),
      rest > 0 && h("small", { class: "howto" }, "The baseline and those that differ most."),
      explained.length > 0 && inWords(c),
    );
  };
  draw(shown);
  const explained = c.rows.some((row) => explanationOf(c, row));
  const title = isTime(c.metric) && explained ? "Where the time went" : c.metric.label;
  const also = !isTime(c.metric) && explained ? " and where the time went" : "";
  return h(
    "figure",
    {
      class: "card budgets",
      "data-first": "result",
      "data-cause": explained ? "" : null,
      "data-point": c.by === "variant" ? pointKey(c.point) : null,
      "data-intervals": intervalWords(c.rows.map((row) => row.group.interval)) || null,
    },
    h(
      "figcaption",
      {},
      h(
        "h3",
        {},
        title,
        also && h("small", {}, also),
        // On paper, nothing else says which point it is.
        c.by === "variant" && h("small", { class: "print-only" }, ` ${pointLabel(c.point)}`),
      ),
      h("div", { class: "controls" }, controls),
    ),
    stage,
    foot,
  );
}

/** The sentences of the budgets, folded. */
function inWords(c: Comparison): Child {
  const lines = c.rows.flatMap((row) => {
    const of = explanationOf(c, row);
    return of ? [h("li", {}, h("b", {}, row.name), ` ${of.text}.`)] : [];
  });
  return h(
    "details",
    { class: "in-words" },
    h("summary", {}, "In words"),
    h("ul", {}, lines),
    h(
      "p",
      { class: "howto" },
      "Parts add up to the completion time of the median run. Grey: what every transfer needs on " +
        "this path. Coloured: time in which the slowest link carried no new data of this flow, " +
        "by cause.",
    ),
  );
}

/** The sweep: each variant as a ratio to the baseline, or its values. */
function sweepFigure({ store, answer }: FigureOptions): Child {
  const c = answer.comparison!;
  const sweep = sweepIn(c.report);
  if (!sweep || (c.by === "point" && c.rows.length <= MOST_ROWS)) return null;
  const panel = panelOf(sweep, c.point);
  if (!panel || panel.points.filter(Boolean).length < 2) return null;
  const beside = store.state.across === "ratio" && c.by === "variant";
  const { compared } = c.metric;
  const even = evenOf(compared);
  const at = panel.points.map((p) => (p ? groupsAt(c.report, p, c.flow, c.metric.key) : []));
  const indices = [...new Set(at.flat().map((g) => g.index))].sort((a, b) => a - b);
  const lines = indices.map((index): Line => {
    const name = c.report.variants[index]!;
    const own = at.map((groups) => groups.find((g) => g.index === index));
    const values = own.map((g, i) => {
      if (!g || g.median === null) return null;
      if (!beside) return g.median;
      if (name === c.base.name) return even;
      const contrast = contrastAt(c, name, panel.points[i]!);
      return contrast && shownOf(contrast);
    });
    const words = own.map((g, i) => {
      const value = metricValue(c.metric, g?.median);
      const change = beside && values[i] !== null ? `${changeWords(c.metric, values[i]!)}, ` : "";
      return `${name}, ${sweep.values[i]!.text}: ${change}${value}`;
    });
    return { name, index, values, words };
  });
  if (lines.every((l) => l.values.every((v) => v === null))) return null;
  const largest = Math.max(0, ...at.flat().map((g) => g.median ?? 0));
  const scale = metricScale(c.metric, largest);
  const mode = (value: "ratio" | "value", text: string): HTMLElement =>
    button(text, () => store.set({ across: value }), {
      "aria-pressed": String(store.state.across === value),
    });
  const ratio = isTime(c.metric) ? "times as fast as" : "times as good as";
  const better = c.metric.better === "neither" ? "ratio to" : ratio;
  const points = compared === "points" ? " in percentage points" : "";
  const what = beside
    ? compared === "ratio"
      ? `${better} ${c.base.name}`
      : `${c.metric.label}: difference to ${c.base.name}${points}`
    : `${c.metric.label}${scale.unit ? `, ${scale.unit}` : ""}`;
  return h(
    "figure",
    { class: "card across" },
    h(
      "figcaption",
      {},
      h("h3", {}, "Across the sweep"),
      c.by === "variant" &&
        h(
          "div",
          { class: "segments", role: "group", "aria-label": "Values" },
          mode("ratio", compared === "ratio" ? "× baseline" : "± baseline"),
          mode("value", scale.unit || "value"),
        ),
    ),
    h("p", { class: "axis-title" }, [what, panel.label].filter(Boolean).join(" · ")),
    ratioLines(lines, {
      sweep,
      scale,
      even: beside ? compared : null,
      label: `${c.metric.label} across the sweep`,
      shown: panel.points.findIndex((p) => p && pointKey(p) === pointKey(c.point)),
      choose: (i) => {
        const point = panel.points[i];
        if (point) store.set({ point: pointKey(point) });
      },
    }),
  );
}

/** The figures of the first screen. */
export function figures(o: FigureOptions): HTMLElement {
  const c = o.answer.comparison;
  if (!c) return h("div", { class: "figures pairs" }, pairFigures(o));
  const users = isOfPopulation(c.metric.key);
  const beside = users
    ? usersPanel(c)
    : (delaysPanel(c) ??
      latencyPanel(c) ??
      sweepFigure(o) ??
      skyFigure(c, o.source) ??
      changesFigure(c, o.source));
  return h("div", { class: beside ? "figures two" : "figures" }, mainFigure(o), beside);
}
