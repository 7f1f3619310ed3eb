import type { Comparison } from "../answer/comparison.ts";
import { type Span, spanRows } from "../charts/static/span-rows.ts";
import { visitOf } from "../data/flows.ts";
import { runsAt } from "../data/groups.ts";
import { EXPERIENCES, experiencesOf, SIZE_CLASSES, slowdownsOf } from "../data/populations.ts";
import { quantile } from "../data/statistics.ts";
import { plural, significant } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

const factor = (x: number): string => `×\u00a0${significant(x)}`;

/**
 * Who gains: the slowdowns of the users by size of their transfers, all on one axis that begins at
 * zero: a mark at the median, a line to the 95th percentile. Null without users.
 */
export function usersPanel(c: Comparison): Child {
  const [name = ""] = c.flow.name.split("/", 1);
  const users = c.rows.flatMap(({ group }) => {
    const visit = visitOf(c.report, group.variant, { name, place: c.flow.place });
    if (visit === undefined) return [];
    const all = slowdownsOf(runsAt(c.report, group.variant, group.point), name, visit);
    return [{ group, all }];
  });
  const rows = SIZE_CLASSES.flatMap((size) => {
    let most = 0;
    const spans = users.flatMap(({ group, all }): Span[] => {
      const own = all
        .flatMap((u) => (u.size === size.name && u.slowdown !== null ? [u.slowdown] : []))
        .sort((a, b) => a - b);
      if (own.length === 0) return [];
      most = Math.max(most, own.length);
      const [middle, high] = [quantile(own, 0.5), quantile(own, 0.95)];
      const words = `median ${factor(middle)}, 95 % within ${factor(high)}`;
      return [{ index: group.index, middle, high, words: `${group.variant}: ${words}` }];
    });
    return spans.length > 0 ? [{ name: size.label, below: plural(most, "user"), spans }] : [];
  });
  if (rows.length === 0) return experiencePanel(c);
  return h(
    "figure",
    { class: "card across", "data-cause": "" },
    h("figcaption", {}, h("h3", {}, "Who pays", h("small", {}, ` slowdown of ${name} by size`))),
    spanRows(rows, (v) => `${significant(v, 2)}×`),
    h(
      "p",
      { class: "howto" },
      "Completion time over the least possible: mark at the median, line to the 95th percentile.",
    ),
  );
}

/**
 * How calls or adaptive video of the users went: a mark at the median, a line to the 5th percentile
 * of what should be high and to the 95th of what should be low. Null of transfers.
 */
function experiencePanel(c: Comparison): Child {
  const { name } = c.flow;
  const figures = EXPERIENCES.flatMap((of) => {
    let [most, none] = [0, 0];
    const spans = c.rows.flatMap(({ name: row, group }): Span[] => {
      const visit = visitOf(c.report, group.variant, c.flow);
      if (visit === undefined) return [];
      const runs = runsAt(c.report, group.variant, group.point);
      const { values: own, without } = experiencesOf(runs, name, visit, of);
      if (own.length === 0) return [];
      most = Math.max(most, own.length + without);
      none = Math.max(none, without);
      const [middle, bad] = [quantile(own, 0.5), quantile(own, of.low ? 0.05 : 0.95)];
      const [from, to] = of.low ? [bad, middle] : [middle, bad];
      const value = (v: number): string => `${significant(v)}${of.unit && ` ${of.unit}`}`;
      const words = `median ${value(middle)}, 95 % ${of.low ? "above" : "within"} ${value(bad)}`;
      const missing = without > 0 ? `, ${plural(without, "user")} without a value` : "";
      return [{ index: group.index, middle: from, high: to, words: `${row}: ${words}${missing}` }];
    });
    const below = plural(most, "user") + (none > 0 ? `, ${none} without a value` : "");
    const row = { name: of.label, below, spans };
    return spans.length > 0 ? [spanRows([row], (v) => `${significant(v, 2)} ${of.unit}`)] : [];
  });
  if (figures.length === 0) return null;
  return h(
    "figure",
    { class: "card across", "data-cause": "" },
    h("figcaption", {}, h("h3", {}, "Users", h("small", {}, ` of ${name}`))),
    figures,
    h(
      "p",
      { class: "howto" },
      "From the median to what 95 % of users reach; the mark is at the lower end. In the order " +
        "of the bars.",
    ),
  );
}
