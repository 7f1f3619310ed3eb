import type { Point } from "../src/data/points.ts";
import type { Figure, Flow, Run, SeriesRef, Trace } from "../src/data/report.types.ts";
import { flowWith, layers, linkWith, reportWith, sweepAxis } from "./base.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { type FlowOutcome, modelFlow, random, type Samples } from "./flowmodel.ts";
import { summarise } from "./summarise.ts";

/** A flow's results from the model's outcome, scaled a little for repeats. */
function flowOf(o: FlowOutcome, bytes: number, variant: string, shift: number): Flow {
  const completion = o.completion_s + shift;
  return flowWith({
    name: "download",
    visit: variant.includes("0rtt") ? 2 : 1,
    transport: variant.startsWith("tcp") ? "tcp" : "quic",
    congestion: "cubic",
    direction: "download",
    bytes,
    completed: true,
    start_s: 0,
    handshake_s: o.handshake_s || null,
    first_byte_s: o.first_byte_s + shift * 0.3,
    completion_s: completion,
    goodput_mbps: (bytes * 8) / completion / 1e6,
    packets_sent: o.sent,
    packets_lost_queue: o.lostQueue,
    packets_lost_channel: o.lostRandom,
    packets_declared_lost: o.declared,
    flow_control_blocked_s: 0,
    reverse_packets: o.acks,
    reverse_packets_lost: 0,
    reverse_bytes: layers({
      ip: o.acks * 20,
      udp: o.acks * 8,
      quic: o.acks * 38,
      total: o.acks * 66,
    }),
    rtt_min_ms: 650.4,
    rtt_mean_ms: 702.18,
    rtt_p99_ms: 861.02,
    rtt_max_ms: 874.31,
    cwnd_max_bytes: 4_000_000,
    objects: [{ name: "/10MB.bin", bytes, start_s: 0, completion_s: completion }],
  });
}

/** Options of the realistic report. */
export interface GeoOptions {
  repeats?: number;
  sizes?: string[];
  traces?: boolean;
}

const VARIANTS = ["tcp-cubic", "quic-1rtt", "quic-0rtt", "quic-0rtt-careful"];

/** Downloads over a GEO path of 50/10 Mbps and 650 ms: what a reader will mostly see. */
export function geoReport({
  repeats = 20,
  sizes = ["2 MB", "10 MB", "30 MB"],
  traces = true,
}: GeoOptions = {}): Fixture {
  const blob = new BlobWriter();
  const runs: Run[] = [];
  const recorded: Trace[] = [];
  const bdp = (50e6 * 0.65) / 8;
  for (const size of sizes) {
    const bytes = parseFloat(size) * 1e6;
    const point: Point = sizes.length > 1 ? { "workload.download": size } : {};
    VARIANTS.forEach((variant, index) => {
      const o = modelFlow({
        bytes,
        rateMbps: 50,
        rttMs: 650,
        queueBytes: 1.3e6,
        handshakes: [2, 1, 0, 0][index]!,
        paced: index > 0,
        ssthresh: index === 2 ? bdp * 1.05 : Infinity,
        jump: index === 3 ? bdp * 0.8 : 0,
        loss: index === 1 ? 0.00012 : 0,
        random: random(7 + index),
      });
      const draw = random(100 + index + bytes);
      for (let run = 0; run < repeats; run++) {
        const shift =
          run === 0
            ? 0
            : (draw() + draw() + draw() - 1.3) * (0.12 + 0.07 * (3 - index)) +
              (draw() > 0.93 ? 0.65 : 0);
        const f = flowOf(o, bytes, variant, shift);
        f.visit = 1;
        runs.push({
          variant,
          point,
          run,
          flows: [f],
          fairness: null,
          links: [
            linkWith({
              name: "geo forward",
              packets: o.sent,
              bytes: o.sent * 1378,
              dropped_queue: o.lostQueue,
              dropped_channel: o.lostRandom,
              queue_max_bytes: 1.3e6,
              utilisation: Math.min(1, (bytes * 8) / 50e6 / f.completion_s!),
            }),
            linkWith({
              name: "geo return",
              packets: o.acks,
              bytes: o.acks * 66,
              queue_max_bytes: 900,
              utilisation: 0.012,
            }),
          ],
        });
      }
      if (!traces) return;
      const add = (s: Samples, unit: string): SeriesRef => blob.add(s, unit);
      const unit: Record<string, string> = { rtt: "ms", smoothed_rtt: "ms", pacing_rate: "Mbps" };
      recorded.push({
        variant,
        point,
        run: 0,
        flows: [
          {
            name: "download",
            visit: 1,
            start_s: 0,
            marks: o.marks,
            phases: o.phases,
            series: Object.fromEntries(
              Object.entries(o.series)
                .filter(([, s]) => s.t.length > 0)
                .map(([key, s]) => [key, add(s, unit[key] ?? "bytes")]),
            ),
          },
        ],
        links: [
          {
            name: "geo forward",
            rate_mbps: 50,
            queue_limit_bytes: 1.3e6,
            series: {
              throughput: add(o.link.throughput, "Mbps"),
              queue: add(o.link.queue, "bytes"),
              dropped_queue: add(o.link.dropped_queue, ""),
              ...(o.link.dropped_channel.t.length
                ? { dropped_channel: add(o.link.dropped_channel, "") }
                : {}),
            },
          },
          {
            name: "geo return",
            rate_mbps: 10,
            queue_limit_bytes: 250e3,
            series: { throughput: add(o.link.returned, "Mbps") },
          },
        ],
      });
    });
  }
  const objective: Record<string, number> = { "2 MB": 3, "10 MB": 5, "30 MB": 9 };
  const published: Figure[] = sizes.map((size) => ({
    label: "objective on the 50/10 use case",
    kind: "objective",
    metric: "completion_s",
    point: sizes.length > 1 ? { "workload.download": size } : {},
    value: objective[size] ?? 5,
    source: "QUIC and satellite: accelerating start-up",
  }));
  published.push({
    label: "0-RTT with saved parameters",
    kind: "measured",
    metric: "completion_s",
    variant: "quic-0rtt-careful",
    point: sizes.length > 1 ? { "workload.download": "10 MB" } : {},
    value: 4.1,
    source: "QUIC and satellite: accelerating start-up",
  });
  const report = reportWith({
    scenario: "geo-resume",
    title: "Resuming a download over a geostationary satellite",
    description:
      "How much a returning client gains over a GEO path when it skips the handshake and when " +
      "the server remembers the path: 0-RTT, and Careful Resume, against a plain QUIC and a " +
      "plain TCP download.",
    seed: 1,
    clock: "virtual",
    version: "0.4.0",
    source: [
      'name = "geo-resume"',
      "seed = 1",
      "repeat = 20",
      "",
      "[path]",
      'profile = "geo-50-10"',
      'forward = { rate = "50 Mbps", delay = "325 ms", queue = "1.3 MB" }',
      'return = { rate = "10 Mbps", delay = "325 ms", queue = "250 kB" }',
      "",
      "[workload]",
      'download = "10 MB"',
      "",
      "[[variant]]",
      'name = "quic-0rtt-careful"',
      'transport = "quic"',
      'congestion = "cubic"',
      'handshake = "0rtt"',
      'resume = "careful"',
      "",
      "[sweep]",
      '"workload.download" = ["2 MB", "10 MB", "30 MB"]',
      "",
    ].join("\n"),
    path: {
      name: "geo-50-10",
      hops: [
        {
          name: "GEO satellite",
          forward: "50 Mbps, 325 ms, queue 1.3 MB",
          return: "10 Mbps, 325 ms, queue 250 kB",
        },
      ],
      rtt_ms: 650,
      bdp_bytes: bdp,
      profile: "geo-50-10",
      source: "QUIC and satellite: accelerating start-up, use case 1",
    },
    commit: "0123456789ab",
    variants: VARIANTS,
    variant_settings: VARIANTS.map((name, i) => ({
      name,
      flows: [
        {
          flows: ["main"],
          transport: i === 0 ? "tcp" : "quic",
          congestion: "cubic",
          slow_start: i === 3 ? "careful-resume" : "hystart++",
          ack: i === 0 ? "stack" : "1:2",
          handshake: "1rtt",
          resume: "none",
          preset: null,
        },
      ],
    })),
    sweep: sizes.length > 1 ? [sweepAxis("workload.download", sizes)] : [],
    runs,
    summary: summarise(runs),
    expectations: [
      {
        text: "median completion_s of quic-0rtt-careful at 10 MB below 3.5 s",
        passed: false,
        measured: 3.83,
      },
      {
        text: "median completion_s of quic-0rtt-careful at 2 MB below 3 s (objective)",
        passed: true,
        measured: 1.97,
      },
      {
        text: "quic-0rtt takes at most 0.9 times quic-1rtt at 10 MB",
        passed: true,
        measured: 0.874,
      },
    ],
    published,
    traces: recorded,
  });
  return { report, blob: traces ? blob.bytes() : null };
}

/** A trace with `n` samples in each of its dense series. */
export function millionReport(n = 1_000_000): Fixture {
  const { report } = geoReport({ repeats: 3, sizes: ["10 MB"], traces: false });
  const blob = new BlobWriter();
  const draw = random(3);
  const end = 120;
  const t = new Float64Array(n);
  const v = (f: (i: number, t: number) => number): Float32Array =>
    Float32Array.from(t, (x, i) => f(i, x));
  for (let i = 0; i < n; i++) t[i] = (i / n) * end;
  const few = <T extends Float64Array | Float32Array>(x: T): T =>
    x.filter((_, i) => i % 997 === 0) as T;
  const position = v((i) => (i % 50 === 0 ? i - 800 : i) * 1350);
  const cwnd = v((_, x) => 4e6 + 2e6 * Math.abs(Math.sin(x / 5)) + 1e5 * draw());
  const series = {
    sent: blob.add({ t, v: position }, "bytes"),
    acked: blob.add({ t: t.map((x) => x + 0.65), v: v((i) => i * 1350) }, "bytes"),
    received: blob.add({ t: t.map((x) => x + 0.325), v: v((i) => i * 1350) }, "bytes"),
    lost: blob.add({ t: few(t), v: few(position) }, "bytes"),
    cwnd: blob.add({ t, v: cwnd }, "bytes"),
    bytes_in_flight: blob.add({ t, v: cwnd.map((x) => x * (0.75 + 0.25 * draw())) }, "bytes"),
    rtt: blob.add({ t, v: v(() => 650 + 120 * draw()) }, "ms"),
    smoothed_rtt: blob.add({ t, v: v((_, x) => 700 + 30 * Math.sin(x)) }, "ms"),
    pacing_rate: blob.add({ t, v: v(() => 50 + 5 * draw()) }, "Mbps"),
  };
  const link = {
    throughput: blob.add({ t, v: v(() => 45 + 5 * draw()) }, "Mbps"),
    queue: blob.add({ t, v: v((_, x) => 6e5 * (1 + Math.sin(3 * x)) + 1e5 * draw()) }, "bytes"),
  };
  const cycle = ["probe bw: down", "probe bw: cruise", "probe bw: refill", "probe bw: up"];
  const phases = Array.from({ length: 10_000 }, (_, i) => ({
    t_s: (i * end) / 10_000,
    label: i % 500 === 499 ? "probe rtt" : cycle[i % 4]!,
  }));
  report.traces = [
    {
      variant: "tcp-cubic",
      point: {},
      run: 0,
      flows: [{ name: "download", visit: 1, start_s: 0, series, marks: [], phases }],
      links: [{ name: "geo forward", rate_mbps: 50, queue_limit_bytes: 1.3e6, series: link }],
    },
  ];
  return { report, blob: blob.bytes() };
}

/** One run per variant, nothing random. */
export function singleReport(): Fixture {
  return geoReport({ repeats: 1, sizes: ["10 MB"] });
}

/** A report of two variants with the parts of their times. */
export function explained(): Fixture {
  const fixture = singleReport();
  const { report } = fixture;
  report.variants = report.variants.slice(0, 2);
  report.published = [];
  report.runs = report.runs.filter((run) => report.variants.includes(run.variant));
  report.summary = report.summary.filter((s) => report.variants.includes(s.variant));
  report.explanations = report.runs.map(({ variant, point, flows: [flow] }, i) => {
    flow!.completion_s = 8 / (i + 1);
    const parts = { handshake_s: 5 / (i + 1), slow_start_s: 3 / (i + 1) };
    const { name, visit } = flow!;
    const words = { text: "took a while", compared: null };
    return {
      variant,
      point,
      flow: name,
      visit,
      runs: 1,
      completion_s: 8 / (i + 1),
      parts,
      ...words,
    };
  });
  return fixture;
}
