import { SETTINGS, settingWords } from "../answer/differs.ts";
import { capital } from "../answer/words.ts";
import { swatch } from "../charts/static/marks.ts";
import type { FlowSettings, Report, VariantSettings } from "../data/report.types.ts";
import { NONE } from "../format/numbers.ts";
import { type Child, h } from "../page/dom.ts";

/** Settings in the order of their columns. */
const COLUMNS: [key: Exclude<keyof FlowSettings, "flows">, words: string][] = [
  ["transport", "transport"],
  ["congestion", "congestion control"],
  ["slow_start", "slow start"],
  ["ack", "ACK policy"],
  ["handshake", "handshake"],
  ["resume", "resume"],
  ["preset", "preset"],
];

/** A flow's settings in words, such as "quic, congestion control cubic". */
function inWords(flow: FlowSettings): string {
  const [, ...others] = COLUMNS;
  const rest = others.flatMap(([key, words]) =>
    flow[key] === null ? [] : `${words} ${flow[key]}`,
  );
  return [flow.transport, ...rest].join(", ");
}

/** Most names of flows in a cell. */
const MOST_NAMES = 3;

/** Names of flows, shortened if they are many. */
function names(flows: readonly string[]): string {
  const first = flows.slice(0, MOST_NAMES).join(", ");
  return flows.length > MOST_NAMES ? `${first} and ${flows.length - MOST_NAMES} more` : first;
}

/** True if some values of the settings are swept, so that they hold for the first point only. */
const isSwept = (report: Report): boolean =>
  report.sweep.some(({ key }) => COLUMNS.some(([name]) => key.split(".").at(-1) === name));

/** What all variants have alike, in a line, and what to call it; null without settings. */
export function settingsWords(report: Report): { name: string; line: string } | null {
  const flows = report.variant_settings.flatMap((v) => v.flows);
  const controlled = flows.filter((f) => f.congestion !== null);
  const all = controlled.length > 0 ? controlled : flows;
  if (all.length === 0) return null;
  const alike = SETTINGS.filter(([key]) => all.every((f) => f[key] === all[0]![key]));
  const words = alike.flatMap(([key, before]) => {
    const value = all[0]![key];
    return value === null ? [] : [settingWords(before, value)];
  });
  const several = report.variants.length > 1;
  const line = words.join(" · ") || "the variants differ in all of their settings";
  return { name: several ? "Same in all" : "Settings", line };
}

/** The settings of the variants: a line if all have the same, a table if they differ. */
export function variantSettings(report: Report): Child {
  const all: VariantSettings[] = report.variant_settings.filter((v) => v.flows.length > 0);
  if (all.length === 0) return null;
  const swept = isSwept(report) ? " at the first point of the sweep" : "";
  const same = (a: FlowSettings, b: FlowSettings): boolean =>
    COLUMNS.every(([key]) => a[key] === b[key]);
  const isCommon = (flow: FlowSettings): boolean =>
    all.every((v) => v.flows.some((f) => same(f, flow)));
  const differ = all.filter((v) => !v.flows.every(isCommon)).length;
  // Flows that all have stand above the table, if each variant has others.
  const common = differ === 0 || differ === all.length ? all[0]!.flows.filter(isCommon) : [];
  const own = all.map(({ name, flows }) => ({
    name,
    flows: common.length > 0 ? flows.filter((f) => !isCommon(f)) : flows,
  }));
  if (differ === 0) {
    const many = all.length > 2 ? `All ${all.length} variants` : "Both variants";
    const who = all.length > 1 ? many : "Flows";
    const words = common.map(inWords).join("; ");
    return h("p", { class: "settings-line" }, h("b", {}, `${who}${swept}: `), words);
  }
  const shown = COLUMNS.filter(([key]) => own.some((v) => v.flows.some((f) => f[key] !== null)));
  const namesFlows = own.some((v) => v.flows.length > 1);
  const heads = [
    "Variant",
    ...(namesFlows ? ["Flow"] : []),
    ...shown.map(([, words]) => capital(words)),
  ];
  const row = (variant: VariantSettings, flow: FlowSettings, i: number): HTMLElement =>
    h(
      "tr",
      { class: i === 0 ? "first" : null },
      i === 0 &&
        h(
          "th",
          { scope: "row", rowspan: variant.flows.length },
          swatch(Math.max(0, report.variants.indexOf(variant.name))),
          " ",
          variant.name,
        ),
      namesFlows && h("td", {}, names(flow.flows)),
      shown.map(([key]) => h("td", {}, flow[key] ?? NONE)),
    );
  return h(
    "div",
    { class: "card settings" },
    h(
      "h3",
      {},
      "Variants",
      swept && h("small", {}, swept),
      common.length > 0 && h("small", {}, ` each also has ${common.map(inWords).join("; ")}`),
    ),
    h(
      "div",
      { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "Settings of variants" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((t) => h("th", { scope: "col" }, t)),
          ),
        ),
        h(
          "tbody",
          {},
          own.flatMap((v) => v.flows.map((f, i) => row(v, f, i))),
        ),
      ),
    ),
  );
}
