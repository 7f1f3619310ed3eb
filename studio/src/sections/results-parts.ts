import { inSentence, listed } from "../answer/words.ts";
import { publishedMark } from "../charts/static/marks.ts";
import { isApart } from "../data/compared.ts";
import type { Group } from "../data/groups.ts";
import { METRIC, type Metric } from "../data/metrics.ts";
import { groupBy } from "../data/statistics.ts";
import { significant } from "../format/numbers.ts";
import { type Child, h, svg } from "../page/dom.ts";

/** Most variants that are named together as the best. */
const MOST_BEST = 3;

/**
 * The best variant, or those that are as good, and by how much it beats the worst; null if the
 * intervals of both overlap, or if too many are as good. Variants of which a run failed are not
 * compared, and named as such.
 */
export function headline(
  groups: Group[],
  m: Metric,
): { best: string; words: string; worst: string; after: string } | null {
  const whole = groups.filter((g) => g.failed.length === 0);
  const known = whole.flatMap((g) =>
    g.median !== null && g.median > 0 ? [{ ...g, median: g.median }] : [],
  );
  const comparable = m.better !== "neither" && m.compared === "ratio";
  if (known.length < 2 || !comparable) return null;
  const lower = m.better === "lower";
  known.sort((a, b) => (lower ? a.median - b.median : b.median - a.median));
  const [first, worst] = [known[0]!, known.at(-1)!];
  const over = (g: { median: number }): number =>
    lower ? g.median / first.median : first.median / g.median;
  const best = known.filter((g) => !isApart(g.median, first.median));
  const [near, far] = [first.interval, worst.interval];
  const apart = !near || !far || (lower ? near.high < far.low : near.low > far.high);
  if (!apart || best.includes(worst) || best.length > MOST_BEST) return null;
  const ratio = significant(over(worst));
  const names = listed(best.map((g) => g.variant));
  const failed = groups.filter((g) => g.failed.length > 0).map((g) => g.variant);
  const after = failed.length > 0 ? `; ${listed(failed)} did not always complete` : "";
  if (m.key === METRIC.completion)
    return { best: names, words: ` ${ratio} times as fast as `, worst: worst.variant, after };
  // The larger value is named first.
  const words = ` ${ratio} times the ${inSentence(m.label)} of `;
  return lower
    ? { best: worst.variant, words, worst: names, after }
    : { best: names, words, worst: worst.variant, after };
}

/** The legend of strip plots, with what occurs in them. */
export function legend(groups: Group[]): Child {
  const kinds = new Set(groups.flatMap((g) => g.published.map((p) => p.kind)));
  const box = { viewBox: "-12 -9 24 18", width: 24, height: 18, "aria-hidden": "true" };
  const item = (mark: Child, words: string): Child => h("span", {}, svg("svg", box, mark), words);
  const path = (className: string, d: string): Child =>
    svg("path", { class: className, d, stroke: className === "step" && "currentColor" });
  const line = (className: string, x: number, y: number): Child =>
    svg("line", { class: className, x1: -x, x2: x, y1: -y, y2: y });
  const many = groups.some((g) => g.n > 1);
  const failed = groups.some((g) => g.failed.length);
  const middle = svg("rect", { class: "box", x: -10, y: -6, width: 20, height: 12, rx: 2 });
  const one = many
    ? path("dots", "M-6,2h0M0,-3h0M6,3h0")
    : path("dot", "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z");
  return h(
    "div",
    { class: "legend-line" },
    item(one, "one run"),
    many && item(line("median", 0, 8), "median"),
    groups.some((g) => g.sorted.length >= 5) && item(middle, "middle half"),
    [...new Set(groups.flatMap((g) => g.interval?.words.replace(/ of \d+$/, "") ?? []))].map(
      (words) => item(line("whisker", 11, 0), words),
    ),
    many && item(path("step", "M-11,6H-3V-1H4V-6H11"), "share of runs"),
    failed && item(path("failed-runs", "M-4,-4l8,8m0,-8l-8,8"), "did not complete"),
    kinds.has("objective") && item(publishedMark("objective"), "published objective"),
    kinds.has("measured") && item(publishedMark("measured"), "published measurement"),
  );
}

/** Why runs did not complete, each reason once per variant. */
export function reasons(groups: Group[]): Child {
  const lines = groups.flatMap((g) =>
    [...groupBy(g.failed, (f) => f.error)].map(([error, failed]) => {
      const runs = failed.map((f) => f.run);
      const few = `run${runs.length > 1 ? "s" : ""} ${runs.join(", ")}`;
      const which = runs.length > 8 ? `${runs.length} runs` : few;
      return h("li", {}, h("b", {}, g.variant), `, ${which}: ${error || "did not complete"}`);
    }),
  );
  return lines.length > 0 && h("ul", { class: "failures" }, lines);
}

/** How to read strip plots; `single` if there is one run of each variant. */
export function howto(m: Metric, single: boolean): string {
  const side = m.better === "lower" ? "left" : "right";
  const better = m.better !== "neither" ? `; further ${side} is better` : "";
  return single
    ? `Each dot is the one run of its variant${better}.`
    : `Each dot is a run${better}. If the lines of two variants do not overlap, the difference ` +
        "is larger than chance. Steps show the share of runs at or below a value; below 100 %, " +
        "some never finished. Axes need not begin at zero. A click on a dot opens its run, if it " +
        "was recorded.";
}
