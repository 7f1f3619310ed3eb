import type { FlowSeries, Report, SeriesRef } from "../src/data/report.types.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { geoReport } from "./fixture.ts";
import { type FlowModel, type FlowOutcome, modelFlow, random } from "./flowmodel.ts";

const UNITS: Record<string, string> = { rtt: "ms", smoothed_rtt: "ms", pacing_rate: "Mbps" };

function traceFlow(name: string, o: FlowOutcome, start_s: number, blob: BlobWriter): FlowSeries {
  const later = <T extends { t_s: number }>(list: T[]): T[] =>
    list.map((x) => ({ ...x, t_s: x.t_s + start_s }));
  const series = Object.entries(o.series).filter(([, s]) => s.t.length > 0);
  const add = ([key, s]: (typeof series)[number]): [string, SeriesRef] => [
    key,
    blob.add({ t: s.t.map((t) => t + start_s), v: s.v }, UNITS[key] ?? "bytes"),
  ];
  return {
    name,
    visit: 1,
    start_s,
    marks: later(o.marks),
    phases: later(o.phases),
    series: Object.fromEntries(series.map(add)),
  };
}

/**
 * Two flows in one run, each with its own phases: one that jumps too far and retreats, and one two
 * seconds later that probes the path and whose controller has an unknown phase.
 */
export function phaseReport(): Fixture {
  const report: Report = geoReport({ repeats: 1, sizes: ["30 MB"], traces: false }).report;
  const blob = new BlobWriter();
  const bdp = report.path!.bdp_bytes;
  const model: FlowModel = {
    bytes: 30e6,
    rateMbps: 50,
    rttMs: 650,
    queueBytes: 1.3e6,
    handshakes: 0,
    paced: true,
    ssthresh: Infinity,
    jump: bdp * 1.5,
    loss: 0,
    random: random(5),
  };
  const resumed = modelFlow(model);
  const probing = modelFlow({ ...model, bytes: 20e6, ssthresh: bdp, jump: 0 });
  const cycle = ["probe bw: down", "probe bw: cruise", "probe bw: refill", "probe bw: up"];
  probing.phases = [
    { t_s: 0.325, label: "startup" },
    { t_s: 3, label: "drain" },
    { t_s: 3.7, label: "a new phase" },
  ];
  for (let i = 0; i < 8; i++) probing.phases.push({ t_s: 4.4 + i * 0.3, label: cycle[i % 4]! });
  report.traces = [
    {
      variant: "quic-0rtt-careful",
      point: {},
      run: 0,
      flows: [traceFlow("resumed", resumed, 0, blob), traceFlow("probing", probing, 2, blob)],
      links: [
        {
          name: "geo forward",
          rate_mbps: 50,
          queue_limit_bytes: 1.3e6,
          series: { throughput: blob.add(resumed.link.throughput, "Mbps") },
        },
      ],
    },
  ];
  return { report, blob: blob.bytes() };
}
