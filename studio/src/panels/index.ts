import type { PanelSpec } from "../charts/time/spec.ts";
import { causesOf } from "../data/time-budget.ts";
import { ackSize } from "./ack-size.ts";
import { capacity } from "./capacity.ts";
import { dataPerAck } from "./data-per-ack.ts";
import { flowControl } from "./flow-control.ts";
import { frames } from "./frames.ts";
import { goodput } from "./goodput.ts";
import { objects } from "./objects.ts";
import { otherSeriesOfFlow, otherSeriesOfFlows, otherSeriesOfLinks } from "./other-series.ts";
import { pacing } from "./pacing.ts";
import { packets } from "./packets.ts";
import {
  type FlowsView,
  type FlowView,
  type LinksView,
  marksOf,
  type Panel,
  pathChanges,
  type RunsView,
  routeChanges,
} from "./panel.ts";
import { player } from "./player.ts";
import { queue } from "./queue.ts";
import { responses } from "./responses.ts";
import { reverseRate } from "./reverse-rate.ts";
import { rtt } from "./rtt.ts";
import { sender } from "./sender.ts";
import { sequence } from "./sequence.ts";
import { throughput } from "./throughput.ts";
import { window } from "./window.ts";

/** All panels, in the order in which they stand on the page. A new panel is one line here. */
export const PANELS: readonly Panel[] = [
  objects,
  responses,
  frames,
  player,
  sequence,
  packets,
  goodput,
  window,
  rtt,
  pacing,
  flowControl,
  capacity,
  throughput,
  queue,
  sender,
  reverseRate,
  dataPerAck,
  ackSize,
];

const FLOW_SERIES = new Set(PANELS.flatMap((p) => p.flowSeries ?? []));
const LINK_SERIES = new Set(PANELS.flatMap((p) => p.linkSeries ?? []));

const filled = (panels: PanelSpec[]): PanelSpec[] =>
  panels.filter((p) => p.layers.length > 0 || p.waterfall);

const ofLinks = (view: LinksView): PanelSpec[] => [
  ...PANELS.flatMap((p) => p.ofLinks?.(view) ?? []),
  ...otherSeriesOfLinks(view, LINK_SERIES),
];

/** The plots of one flow and of its links, top to bottom. */
export const panelsOfFlow = (view: FlowView): PanelSpec[] => {
  const causes = causesOf(view.flow, view.cache);
  const panels = filled([
    ...PANELS.flatMap((p) => p.ofFlow?.(view) ?? []),
    ...otherSeriesOfFlow(view, FLOW_SERIES),
    ...ofLinks({ ...view, marks: marksOf(view) }),
  ]);
  return causes ? panels.map((p) => ({ ...p, causes })) : panels;
};

/** The plots of all flows of a run in one axis each, and of the links, top to bottom. */
export const panelsOfFlows = (view: FlowsView): PanelSpec[] =>
  filled([
    ...PANELS.flatMap((p) => p.ofFlows?.(view) ?? []),
    ...otherSeriesOfFlows(view, FLOW_SERIES),
    ...ofLinks({
      ...view,
      marks: [...routeChanges(view.trace, view.trace.flows), ...pathChanges(view.changes)],
    }),
  ]);

/** The plots of several runs drawn over each other, top to bottom. */
export const panelsOfRuns = (view: RunsView): PanelSpec[] =>
  filled(PANELS.flatMap((p) => p.ofRuns?.(view) ?? []));

/** When the last of some runs ended: the time of the last sample that its sender saw. */
export function endOf(panels: PanelSpec[]): number {
  const own = panels.filter((p) => p.id === "sender");
  const layers = (own.length > 0 ? own : panels).flatMap((p) => p.layers);
  return Math.max(0, ...layers.map(({ data }) => data.t.at(-1) ?? 0));
}
