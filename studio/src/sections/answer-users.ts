import type { Comparison } from "../answer/comparison.ts";
import { axisEnd } from "../charts/static/bar-rows.ts";
import { swatch } from "../charts/static/marks.ts";
import { visitOf } from "../data/flows.ts";
import { runsAt } from "../data/groups.ts";
import { SIZE_CLASSES, slowdownsOf } from "../data/populations.ts";
import { quantile } from "../data/statistics.ts";
import { significant } from "../format/numbers.ts";
import { variantColour } from "../format/palette.ts";
import { ticks } from "../format/ticks.ts";
import { type Child, h } from "../page/dom.ts";

/** The slowdowns of the users of one size, of one variant. */
interface Users {
  index: number;
  name: string;
  n: number;
  median: number;
  p95: number;
}

/**
 * Who gains: the slowdowns of the users by size of their transfers, all on one axis that begins at
 * zero: a mark at the median, a line to the 95th percentile. Null without users.
 */
export function usersPanel(c: Comparison): Child {
  const [name = ""] = c.flow.name.split("/", 1);
  const classes = SIZE_CLASSES.flatMap((size) => {
    const users = c.rows.flatMap(({ group }): Users[] => {
      const visit = visitOf(c.report, group.variant, { name, place: c.flow.place });
      if (visit === undefined) return [];
      const own = slowdownsOf(runsAt(c.report, group.variant, group.point), name, visit)
        .flatMap((u) => (u.size === size.name && u.slowdown !== null ? [u.slowdown] : []))
        .sort((a, b) => a - b);
      if (own.length === 0) return [];
      const [median, p95] = [quantile(own, 0.5), quantile(own, 0.95)];
      return [{ index: group.index, name: group.variant, n: own.length, median, p95 }];
    });
    return users.length > 0 ? [{ size, users }] : [];
  });
  if (classes.length === 0) return null;
  const most = axisEnd(classes.flatMap(({ users }) => users.map((u) => u.p95)));
  const at = (v: number): string => `${((100 * v) / most).toFixed(2)}%`;
  const mark = (u: Users): Child => {
    const [median, p95] = [u.median, u.p95].map((x) => `×\u00a0${significant(x)}`);
    const words = `${u.name}: median ${median}, 95 % within ${p95}, ${u.n} users`;
    const place = `left: ${at(u.median)}; width: ${at(u.p95 - u.median)}`;
    return h(
      "div",
      { class: "user-line", role: "img", "aria-label": words, title: words },
      h("i", { style: `${place}; background: ${variantColour(u.index)}` }),
      h("span", { style: `left: ${at(u.median)}` }, swatch(u.index)),
    );
  };
  const steps = ticks(0, most, 5);
  return h(
    "figure",
    { class: "card across users", "data-cause": "" },
    h(
      "figcaption",
      {},
      h("h3", {}, "Who pays", h("small", {}, ` slowdown of ${name} by size of the transfer`)),
    ),
    h(
      "div",
      { class: "user-rows" },
      classes.map(({ size, users }) => [
        h(
          "div",
          { class: "user-size" },
          h("b", {}, size.label),
          h("small", {}, `${Math.max(...users.map((u) => u.n))} users`),
        ),
        h(
          "div",
          { class: "user-cell" },
          steps.map((v) => h("i", { class: "tick-line", style: `left: ${at(v)}` })),
          users.map(mark),
        ),
      ]),
      h("span", {}),
      h(
        "div",
        { class: "bar-axis" },
        steps.map((v) => h("span", { style: `left: ${at(v)}` }, `${significant(v, 2)}×`)),
      ),
    ),
    h(
      "p",
      { class: "howto" },
      "Completion time over the least possible on the idle path: a mark at the median, a line " +
        "to the 95th percentile.",
    ),
  );
}
