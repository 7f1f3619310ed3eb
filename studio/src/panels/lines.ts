import type { Layer } from "../charts/time/spec.ts";
import type { Pyramid } from "../data/pyramid.ts";
import { variantColour, variantDash } from "../format/palette.ts";
import {
  type ComparedRun,
  type FlowsView,
  flowName,
  type LinksView,
  type RunsView,
} from "./panel.ts";

/** A line per flow of one series, each in its colour. */
export function perFlow(
  { trace: { flows }, cache }: FlowsView,
  key: string,
  title: string,
  more: Partial<Layer> & { of?: (data: Pyramid) => Pyramid } = {},
): Layer[] {
  const { of, ...rest } = more;
  return flows.flatMap((f, i): Layer[] => {
    const data = cache.get(f.series[key]);
    if (!data) return [];
    const name = flowName(flows, f);
    const layer = line(i, name, `${title} of ${name}`, of ? of(data) : data);
    return [{ ...layer, ...rest }];
  });
}

/** A line per link of one series. Many links have dashes too, as colours repeat. */
export function perLink(
  { links: { links, brief, many }, cache }: LinksView,
  key: string,
  title: string,
  more: Partial<Layer> = {},
): Layer[] {
  return links.flatMap((l, i): Layer[] => {
    const data = cache.get(l.series[key]);
    if (!data) return [];
    const { dash, width: _, ...layer } = line(i, brief(l.name), `${title} ${l.name}`, data);
    const dashed = many && more.style !== "rug" ? { dash: dash ?? [] } : {};
    return [{ ...layer, ...dashed, ...more }];
  });
}

/** A line per run of one series, with times that count from the flow's first packet. */
export function perRun(
  { runs, cache }: RunsView,
  key: string,
  title: string,
  more: (run: ComparedRun) => Partial<Layer> = () => ({}),
): Layer[] {
  return runs.flatMap((run): Layer[] => {
    const data = cache.get(run.flow.series[key]);
    if (!data) return [];
    const moved = fromStart(data, run.flow.start_s);
    return [{ ...line(run.index, run.name, `${title} ${run.name}`, moved), ...more(run) }];
  });
}

function line(index: number, name: string, title: string, data: Pyramid): Layer {
  const colour = (): string => variantColour(index);
  return {
    name,
    title,
    style: "step",
    data,
    colour,
    dash: variantDash(index),
    width: 1.8,
    shown: true,
  };
}

/** Series already moved; a series belongs to one flow, which has one start. */
const moved = new WeakMap<Pyramid, Pyramid>();

/** A series with times that count from `start`. */
function fromStart(data: Pyramid, start: number): Pyramid {
  if (start === 0) return data;
  const known = moved.get(data);
  if (known) return known;
  const made = { ...data, t: data.t.map((t) => t - start) };
  moved.set(data, made);
  return made;
}
