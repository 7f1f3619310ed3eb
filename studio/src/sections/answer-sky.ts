import type { Comparison } from "../answer/comparison.ts";
import { runsAt } from "../data/groups.ts";
import { pointKey } from "../data/points.ts";
import type { Report, Trace } from "../data/report.types.ts";
import { constellationOf, Routes } from "../data/routes.ts";
import type { SeriesSource } from "../data/series-cache.ts";
import { ms, plural } from "../format/numbers.ts";
import { variantColour } from "../format/palette.ts";
import { h, onWidth } from "../page/dom.ts";
import { drawDisc } from "../sky/disc.ts";
import { LIGHT_KM_PER_MS, SkyModel } from "../sky/model.ts";

/** Height of the picture in CSS pixels. */
const HEIGHT = 250;

/** The trace that the picture is of: of the baseline at the point shown, else the first. */
function traceOf(report: Report, { base }: Comparison): Trace | undefined {
  const { variant, point } = base.group;
  const skies = report.traces.filter((t) => constellationOf(report, t));
  const same = (t: Trace): boolean =>
    t.variant === variant && pointKey(t.point) === pointKey(point);
  return skies.find(same) ?? skies[0];
}

/** The route over the Earth in the middle of a flow; null without a constellation. */
export function skyFigure(c: Comparison, source: SeriesSource | null): HTMLElement | null {
  const trace = traceOf(c.report, c);
  const sky = constellationOf(c.report, trace);
  if (!trace || !sky || !source) return null;
  const canvas = h("canvas", { role: "img" });
  const stage = h("div", { class: "disc", style: `height: ${HEIGHT}px` }, canvas);
  const words = h("p", { class: "howto" });
  const routes = Routes.of(trace);
  const run = runsAt(c.report, trace.variant, trace.point).find((r) => r.run === trace.run);
  const flow = run?.flows.find((f) => f.name === c.flow.name);
  const name = routes.flows.includes(c.flow.name) ? c.flow.name : (routes.flows[0] ?? "");
  const time = (flow?.start_s ?? 0) + (flow?.completion_s ?? 0) / 2;
  void source.get().then(
    ({ blob }) => {
      const model = new SkyModel(sky, blob);
      model.at(time);
      const nodes = routes.at(name, time)?.nodes ?? [];
      const ends = [nodes[0], nodes.at(-1)].filter((n) => n !== undefined);
      const km = model.lengthKm(nodes);
      const changes = routes.changesOf(name).length;
      const hops = plural(nodes.filter((n) => n < model.satellites).length, "satellite");
      words.textContent =
        nodes.length > 1
          ? `Halfway: ${hops}, ${ms(km / LIGHT_KM_PER_MS)} of light one way; ` +
            `${changes === 0 ? "no change" : plural(changes, "change")} of route in the run.`
          : "There is no route halfway.";
      canvas.setAttribute("aria-label", `The route over the Earth. ${words.textContent}`);
      onWidth(stage, (width) =>
        drawDisc(canvas, [width, HEIGHT], {
          land: globalThis.BentpipeGlobe?.land ?? [],
          xyz: model.xyz,
          satellites: model.satellites,
          routes: [{ nodes, colour: variantColour(c.base.group.index) }],
          names: ends.map((node) => ({ node, name: model.nameOf(node) })),
        }),
      );
    },
    () => {
      words.textContent = "The satellites could not be read.";
    },
  );
  return h(
    "figure",
    { class: "card across route" },
    h("figcaption", {}, h("h3", {}, "The route", h("small", {}, ` of ${trace.variant}`))),
    stage,
    words,
  );
}
