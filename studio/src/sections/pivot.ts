import { baselineOf } from "../answer/comparison.ts";
import { type Contrast, contrastOf, intervalOfChange } from "../answer/contrast.ts";
import { swatch } from "../charts/static/marks.ts";
import { isApart } from "../data/compared.ts";
import type { FlowId } from "../data/flows.ts";
import { type Group, groupsAt } from "../data/groups.ts";
import type { Metric } from "../data/metrics.ts";
import { keyLabel, type Point, pointLabel, pointsOf, valueWords } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { inOrder, sweepOf } from "../data/sweep.ts";
import { metricScale, plainValue, signed } from "../format/metric.ts";
import { NONE, type Scale } from "../format/numbers.ts";
import { button, type Child, h } from "../page/dom.ts";
import type { Store } from "../page/state.ts";
import { found, picked } from "./chosen.ts";

/** One row: a variant, with its group and how it compares at each point. */
interface Line {
  index: number;
  name: string;
  shown: boolean;
  cells: (Group | undefined)[];
  /** At how many points it is the best, or as good. */
  best: number;
}

/** What a table has at one point. */
interface Column {
  point: Point;
  base: Group | undefined;
  /** The best median of the variants shown; null without one, or if none is better. */
  best: number | null;
}

/** A pivot table: its rows in the order asked for, and its columns. */
export interface Pivot {
  lines: Line[];
  columns: Column[];
  baseline: string;
  scale: Scale;
  metric: Metric;
}

/** True if a median is the best of its column, or as good within what counts as a difference. */
const isBest = (g: Group | undefined, { best }: Column): boolean =>
  typeof g?.median === "number" && best !== null && !isApart(g.median, best);

/** Orders lines: "", the report's order; "name"; "best"; or a column, "-" before for the worst. */
function sorted(lines: Line[], sort: string, { better }: Metric): Line[] {
  const down = sort.startsWith("-");
  const key = down ? sort.slice(1) : sort;
  if (key === "") return lines;
  const value = (line: Line): number | null =>
    key === "best" ? -line.best : (line.cells[Number(key)]?.median ?? null);
  const sign = (better === "higher" && key !== "best" ? -1 : 1) * (down ? -1 : 1);
  return [...lines].sort((a, b) => {
    if (key === "name") return (down ? -1 : 1) * a.name.localeCompare(b.name, "en");
    const [x, y] = [value(a), value(b)];
    // What has no value stands at the end in either order.
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (x - y);
  });
}

/** Makes the table of the variants that a search finds. */
export function pivotOf(report: Report, store: Store, flow: FlowId, metric: Metric): Pivot {
  const { find, only, sort, baseline: chosen } = store.state;
  const all = pointsOf(report);
  const points = inOrder(sweepOf(report.sweep, all), all);
  const baseline = baselineOf(report, chosen);
  const at = points.map((p) => groupsAt(report, p, flow, metric.key));
  const some = picked(only);
  const lines = found(report, find).map((index): Line => {
    const cells = at.map((groups) => groups.find((g) => g.index === index));
    const name = report.variants[index]!;
    return { index, name, shown: some?.has(index) ?? true, cells, best: 0 };
  });
  const columns = points.map((point, i): Column => {
    const medians = lines.flatMap((l) => (l.shown && (l.cells[i]?.median ?? null)) || []);
    const { better } = metric;
    const none = better === "neither" || medians.length < 2;
    const best = none ? null : better === "lower" ? Math.min(...medians) : Math.max(...medians);
    return { point, base: at[i]!.find((g) => g.variant === baseline), best };
  });
  for (const line of lines)
    line.best = columns.filter((c, i) => line.shown && isBest(line.cells[i], c)).length;
  const largest = Math.max(0, ...lines.flatMap((l) => l.cells.map((g) => g?.median ?? 0)));
  const scale = metricScale(metric, largest);
  return { lines: sorted(lines, sort, metric), columns, baseline, scale, metric };
}

/**
 * A group beside the baseline: the interval of the difference if there is one, in per cent of the
 * baseline, in percentage points, or as it is.
 */
export function differenceWords(base: Group, g: Group, contrast: Contrast, m: Metric): string {
  const { by, change } = contrast;
  if (!Number.isFinite(change)) return "";
  const numbers = (intervalOfChange(base, g, by) ?? [change, change]).map((x) => {
    const value = by === "ratio" ? 100 * (x - 1) : m.unit === "fraction" ? 100 * x : x;
    return signed(value, by !== "difference" && Math.abs(value) < 10 ? 1 : 2);
  });
  const unit = { ratio: "\u00a0%", points: "\u00a0points", difference: "" }[by];
  return [...new Set(numbers)].join(" to ") + unit;
}

/** The table as an element: its heads sort, its names and boxes choose what figures show. */
export function pivotView(pivot: Pivot, store: Store): HTMLElement {
  const { lines, columns, baseline, scale, metric } = pivot;
  const { sort } = store.state;
  const keys = Object.keys(columns[0]?.point ?? {});
  // A single key stands in the caption, and only its values above the columns.
  const [only] = keys;
  const one = keys.length === 1 && only !== undefined;
  const labelOf = ({ point }: Column): string =>
    one ? valueWords(point[only] ?? NONE) : pointLabel(point, keys);
  const head = (key: string, words: Child, number = true): HTMLElement => {
    const now = sort === key ? "ascending" : sort === `-${key}` ? "descending" : null;
    const next = now === "ascending" ? `-${key}` : now === "descending" ? "" : key;
    const mark = now && h("i", { "aria-hidden": "true" }, now === "ascending" ? " ▲" : " ▼");
    const by = h("button", { type: "button", "data-key": `sort ${key}` }, words, mark);
    by.addEventListener("click", () => store.set({ sort: next }));
    return h("th", { scope: "col", class: number ? "num" : null, "aria-sort": now }, by);
  };
  const cell = (g: Group | undefined, c: Column, line: Line): HTMLElement => {
    if (!g) return h("td", { class: "num" }, NONE);
    const contrast = c.base && c.base !== g ? contrastOf(c.base, g, metric) : null;
    const judged = contrast?.apart && metric.better !== "neither";
    const side = judged ? (contrast.better ? "better" : "worse") : "";
    const best = line.shown && isBest(g, c);
    const failed = g.failed.length > 0 && `${g.failed.length} failed`;
    return h(
      "td",
      { class: best ? "num best" : "num", title: best ? "the best here" : null },
      h("span", { class: "strong" }, plainValue(g.median, scale)),
      h(
        "small",
        { class: failed ? "warn" : side },
        failed ||
          (contrast ? differenceWords(c.base!, g, contrast, metric) : c.base ? "baseline" : ""),
      ),
    );
  };
  const row = (line: Line): HTMLElement =>
    h(
      "tr",
      { class: line.shown ? null : "off" },
      h("th", { scope: "row" }, variantControls(line, store, pivot)),
      columns.map((c, i) => cell(line.cells[i], c, line)),
      h("td", { class: "num" }, line.best),
    );
  const bestOf = (c: Column, i: number): Child =>
    lines.filter((l) => l.shown && isBest(l.cells[i], c)).map((l) => l.name);
  const unit = scale.unit && `, ${scale.unit}`;
  return h(
    "table",
    { class: "pivot" },
    h(
      "caption",
      {},
      `${metric.label}${unit}${one ? `, by ${keyLabel(only, keys)}` : ""}: medians, and the 95 % `,
      `interval of the difference to ${baseline}`,
    ),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head("name", "Variant", false),
        columns.map((c, i) => head(String(i), labelOf(c))),
        head("best", "Best at"),
      ),
    ),
    h("tbody", {}, lines.map(row)),
    metric.better !== "neither" &&
      h(
        "tfoot",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "row" }, "Best"),
          columns.map((c, i) => {
            const names = bestOf(c, i) as string[];
            const more = names.length > 2 ? `, ${names.length - 1} more` : names.slice(1).join();
            return h("td", { class: "num", title: names.join(", ") || null }, [
              names[0] ?? NONE,
              names.length === 2 ? `, ${names[1]}` : names.length > 2 && more,
            ]);
          }),
          h("td", {}),
        ),
      ),
  );
}

/** A box that shows or hides a variant in all figures, and its name, which shows it alone. */
function variantControls(line: Line, store: Store, { lines, baseline }: Pivot): Child {
  const { only } = store.state;
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Show ${line.name}`,
    "data-key": `box ${line.index}`,
  });
  box.checked = line.shown;
  box.addEventListener("change", () => {
    const now = picked(only) ?? new Set(lines.map((l) => l.index));
    if (box.checked) now.add(line.index);
    else now.delete(line.index);
    store.set({ only: [...now].sort((a, b) => a - b).join() });
  });
  const alone = only === String(line.index);
  const name = button(line.name, () => store.set({ only: alone ? "" : String(line.index) }), {
    "aria-pressed": String(alone),
    "data-key": `name ${line.index}`,
    title: alone ? "Show all variants" : "Show only this variant, and the baseline",
  });
  return h(
    "span",
    { class: "variant" },
    box,
    swatch(line.index),
    name,
    line.name === baseline && h("small", {}, "baseline"),
  );
}

/** Goes to the control above or below in a table, of the same kind. */
export function stepRows(event: KeyboardEvent): void {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  const from = event.target;
  const key = from instanceof HTMLElement && from.dataset.key;
  if (!by || !key || !(event.currentTarget instanceof Element)) return;
  const kind = `tbody [data-key^="${key.split(" ")[0]} "]`;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(kind)];
  event.preventDefault();
  all[Math.max(0, all.indexOf(from as HTMLElement) + by)]?.focus();
}
