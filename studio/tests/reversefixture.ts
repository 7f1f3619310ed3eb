import type {
  Distribution,
  Flow,
  ReverseBytes,
  SeriesRef,
  Trace,
} from "../src/data/report.types.ts";
import { layers } from "./base.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { geoReport } from "./fixture.ts";
import { modelFlow, random, type Samples } from "./flowmodel.ts";
import { summarise } from "./summarise.ts";

/** How a variant acknowledges. */
interface Policy {
  variant: string;
  /** Data packets to an ACK. */
  every: number;
}

export const POLICIES: Policy[] = [
  { variant: "tcp-cubic", every: 2 },
  { variant: "quic 1:2", every: 2 },
  { variant: "quic 1:10", every: 10 },
  { variant: "quic auto", every: 32 },
];

/** Times at which each `every`th sample of a series stands. */
function each(s: Samples, every: number): Samples {
  const keep = <T>(list: T[]): T[] =>
    list.filter((_, i) => i % every === every - 1 || i === list.length - 1);
  return { t: keep(s.t), v: keep(s.v) };
}

/** The distribution of sizes. */
function distribution(sizes: number[]): Distribution {
  const sorted = [...sizes].sort((a, b) => a - b);
  const at = (p: number): number => sorted[Math.max(0, Math.ceil(sorted.length * p) - 1)]!;
  const counts: Record<string, number> = {};
  for (const size of sorted) counts[size] = (counts[size] ?? 0) + 1;
  return { n: sorted.length, min: at(0), median: at(0.5), p99: at(0.99), max: at(1), counts };
}

/** Options of the report on return links. */
export interface ReverseOptions {
  policies?: Policy[];
  /** The rate of the return link. */
  returnMbps?: number;
  /** Seconds that flow control held the sender up at a stretch. */
  blocked?: number;
  /** Terminals that share the return link, whose capacity is allocated. */
  terminals?: string[];
  bytes?: number;
}

/** Downloads of 10 MB over 8.5/1.5 Mbps and 630 ms, with several ACK policies. */
export function reverseReport({
  policies = POLICIES,
  returnMbps = 1.5,
  blocked = 0,
  terminals = [],
  bytes = 10e6,
}: ReverseOptions = {}): Fixture {
  const { report } = geoReport({ repeats: 1, sizes: ["10 MB"], traces: false });
  const model = report.runs[0]!;
  const blob = new BlobWriter();
  const runs: typeof report.runs = [];
  const traces: Trace[] = [];
  policies.forEach(({ variant, every }, index) => {
    const tcp = variant.startsWith("tcp");
    const start = index * 0.1;
    const o = modelFlow({
      bytes,
      rateMbps: 8.5,
      rttMs: 630,
      queueBytes: 700e3,
      handshakes: tcp ? 2 : 1,
      paced: !tcp,
      ssthresh: Infinity,
      jump: 0,
      loss: 0.0001,
      random: random(11 + index),
    });
    const draw = random(50 + index);
    const acked = each(o.series.acked!, Math.max(1, every / 2));
    const sizes = acked.t.map(() => (draw() < 0.8 ? 5 : 5 + Math.floor(draw() * draw() * 40)) * 1);
    const n = acked.t.length;
    const own: Partial<ReverseBytes> = tcp
      ? { ip: 20 * n, udp: 0, quic: 0, tcp: 20 * n, tcp_options: 14 * n, tcp_payload: 900 }
      : {
          ip: 20 * n,
          udp: 8 * n,
          quic_header: 11 * n,
          ack: sizes.reduce((a, b) => a + b, 0),
          flow_control: 260,
          other: 1900,
          padding: 2400,
          tag: 16 * n,
        };
    const total = Object.values(own).reduce((a, b) => a + b, 0);
    if (!tcp) own.quic = total - own.ip! - own.udp!;
    const flow: Flow = {
      ...model.flows[0]!,
      transport: tcp ? "tcp" : "quic",
      bytes,
      start_s: start,
      first_byte_s: o.first_byte_s,
      completion_s: o.completion_s,
      goodput_mbps: (bytes * 8) / o.completion_s / 1e6,
      packets_sent: o.sent,
      bytes_sent: o.sent * 1378,
      flow_control_blocked_s: blocked * 2,
      flow_control_blocked_longest_s: blocked,
      reverse_packets: n,
      reverse_packets_lost: 0,
      reverse_bytes: layers({ ...own, total }),
      reverse_overhead_percent: (100 * total) / (o.sent * 1378),
      reverse_acks: n,
      reverse_acks_only: n - 3,
      data_per_ack: o.sent / n,
      ack_frame_bytes: tcp ? null : distribution(sizes),
      ack_option_bytes: tcp ? distribution(sizes.map((s) => (s > 5 ? 24 : 12))) : null,
    };
    runs.push({
      variant,
      point: {},
      run: 0,
      fairness: null,
      flows: [flow],
      links: [{ ...model.links[0]! }, { ...model.links[1]!, name: "geo/return", utilisation: 0.2 }],
    });
    const later = ({ t, v }: Samples): Samples => ({ t: t.map((x) => x + start), v });
    const add = (s: Samples, unit: string): SeriesRef => blob.add(later(s), unit);
    const bins = (rate: (acks: number, frames: number) => number): Samples => {
      const t = Array.from({ length: Math.ceil(o.completion_s / 0.1) + 8 }, (_, i) => i * 0.1);
      const counts = (times: number[], shift: number): number[] => {
        const n = t.map(() => 0);
        for (const x of times) n[Math.floor((x + shift) / 0.1)]! += 1;
        return n;
      };
      const [acks, frames] = [counts(acked.t, -0.315), counts(o.series.sent!.t, 0.315)];
      return { t, v: t.map((_, i) => rate(acks[i]!, frames[i]!)) };
    };
    const perAck = bins((acks, data) => (acks > 0 ? data / acks : NaN));
    const kept = perAck.v.flatMap((v, i) => (Number.isNaN(v) ? [] : [i]));
    const consumed = o.series.received!;
    const window = blocked > 0 ? 500e3 : 1.25e6 * 8;
    const limit = {
      t: [0, ...each(consumed, 40).t],
      v: [window, ...each(consumed, 40).v.map((v) => v + window)],
    };
    traces.push({
      variant,
      point: {},
      run: 0,
      flows: [
        {
          name: flow.name,
          visit: 1,
          start_s: start,
          marks: o.marks.map((m) => ({ ...m, t_s: m.t_s + start })),
          phases: [],
          series: {
            sent: add(o.series.sent!, "bytes"),
            acked: add(acked, "bytes"),
            received: add(consumed, "bytes"),
            cwnd: add(o.series.cwnd!, "bytes"),
            bytes_in_flight: add(o.series.bytes_in_flight!, "bytes"),
            packet_number_sent: add(
              { t: o.series.sent!.t, v: o.series.sent!.t.map((_, i) => i) },
              "packets",
            ),
            packet_number_acked: add(
              { t: acked.t, v: acked.v.map((v) => Math.floor(v / 1350)) },
              "packets",
            ),
            reverse_rate: add(
              bins((acks) => (acks * (total / n) * 8) / 100),
              "kbps",
            ),
            data_per_ack: add(
              { t: kept.map((i) => perAck.t[i]!), v: kept.map((i) => perAck.v[i]!) },
              "packets",
            ),
            ...(tcp
              ? {}
              : {
                  ack_frame_bytes: add({ t: acked.t, v: sizes }, "bytes"),
                  flow_control_limit: add(limit, "bytes"),
                  consumed: add(consumed, "bytes"),
                  flow_control_limit_at_sender: add(
                    { t: limit.t.map((t) => t + 0.315), v: limit.v },
                    "bytes",
                  ),
                }),
          },
        },
      ],
      links: [
        {
          name: "geo/forward",
          rate_mbps: 8.5,
          queue_limit_bytes: 700e3,
          series: { throughput: add(o.link.throughput, "Mbps"), queue: add(o.link.queue, "bytes") },
        },
        {
          name: "geo/return",
          rate_mbps: returnMbps,
          queue_limit_bytes: 100e3,
          series: { throughput: add(o.link.returned, "Mbps") },
        },
        ...terminals.map((terminal, k) => {
          const t = Array.from(
            { length: Math.ceil(o.completion_s / 0.0265) },
            (_, i) => i * 0.0265,
          );
          const asked = t.map((x) => (returnMbps / 2) * (1 + Math.sin(x / 2 + k)));
          const given = t.map((_, i) =>
            Math.min(asked[Math.max(0, i - 24)]!, returnMbps / terminals.length),
          );
          return {
            name: `geo/return#${terminal}`,
            rate_mbps: null,
            queue_limit_bytes: null,
            series: {
              requested: add({ t, v: asked }, "Mbps"),
              allocated: add({ t, v: given }, "Mbps"),
              used: add({ t, v: given.map((g) => g * (0.7 + 0.3 * draw())) }, "Mbps"),
            },
          };
        }),
      ],
    });
  });
  return {
    report: {
      ...report,
      title: "How often to acknowledge",
      variants: policies.map((p) => p.variant),
      variant_settings: [],
      runs,
      summary: summarise(runs),
      expectations: [],
      published: [],
      traces,
    },
    blob: blob.bytes(),
  };
}
