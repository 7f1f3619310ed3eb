import { endsOf } from "../data/ends.ts";
import type { Report } from "../data/report.types.ts";
import { bytes, ms, plural, rounded } from "../format/numbers.ts";
import { type Child, h, withCode } from "../page/dom.ts";
import { versionOf } from "./parts.ts";
import { reportPath, sweptInPath } from "./path.ts";
import { settingsWords, variantSettings } from "./variants.ts";

/** A line that opens into what it sums up. */
function strip(name: string, line: Child, after: Child, inside: Child): HTMLElement {
  return h(
    "details",
    { class: "strip-line" },
    h(
      "summary",
      {},
      h("b", {}, name),
      h("span", { class: "line" }, line),
      h("span", { class: "after" }, after),
    ),
    inside,
  );
}

function pathStrip(report: Report): Child {
  const { path } = report;
  if (!path) return null;
  const [client, server] = endsOf(report);
  // Of many hops, rates and delays: the rest is below.
  const most = path.hops.length > 2 ? 2 : Infinity;
  // A queue in BDPs is known as such; one in ms would be read as a delay.
  const brief = (text: string): string =>
    rounded(text)
      .split(", ")
      .slice(0, most)
      .join(" · ")
      .replace(/ · queue (?=\S+ BDP)/, " · ");
  const hops = path.hops.map((hop) => [
    path.hops.length > 1 && h("i", {}, hop.name),
    h("span", {}, h("span", { class: "arrow forward" }, "◂ "), brief(hop.forward)),
    path.hops.length === 1 &&
      h("span", {}, h("span", { class: "arrow return" }, "▸ "), brief(hop.return)),
  ]);
  const line =
    path.hops.length > 0 ? [h("span", {}, client), hops, h("span", {}, server)] : path.name;
  const after = [
    Number.isFinite(path.rtt_ms) && ["RTT ", h("b", {}, ms(path.rtt_ms))],
    Number.isFinite(path.bdp_bytes) && [" BDP ", h("b", {}, bytes(path.bdp_bytes))],
    sweptInPath(report).length > 0 && " at the first point",
  ];
  return strip("Path", line, after, reportPath(report, path));
}

function settingsStrip(report: Report): Child {
  const words = settingsWords(report);
  if (words === null) return null;
  const { seed, clock } = report;
  const after = `seed ${seed} · ${clock} clock · ${versionOf(report)}`;
  return strip(words.name, words.line, after, variantSettings(report));
}

/** The number of runs, and of what they are made up. */
export function runsInWords(report: Report): string {
  const points = report.sweep.map((s) => s.values.length).filter((n) => n > 1);
  const n = points.reduce((a, b) => a * b, 1);
  const repeats = new Set(report.runs.map((r) => r.run)).size;
  const parts = [
    report.variants.length > 1 && plural(report.variants.length, "variant"),
    n > 1 && plural(n, "point"),
    repeats > 0 && plural(repeats, "run"),
  ];
  return parts.filter(Boolean).join(" × ");
}

function aboutStrip(report: Report): Child {
  const text = report.description?.trim().replace(/\s+/g, " ");
  if (!text) return null;
  const runs = plural(report.runs.length, "run");
  return strip(
    "About",
    h("span", {}, withCode(text)),
    report.runs.length > 0 && runs,
    h("p", { class: "lead" }, withCode(text)),
  );
}

/** The path, the settings and the purpose of the scenario, in a line each. */
export function strips(report: Report): HTMLElement {
  return h(
    "div",
    { class: "card strips" },
    pathStrip(report),
    settingsStrip(report),
    aboutStrip(report),
  );
}
