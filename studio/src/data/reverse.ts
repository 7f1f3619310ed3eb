import { type ByteLayer, isSplit, partsOf } from "./byte-layers.ts";
import { type FlowId, visitOf } from "./flows.ts";
import { flowIn } from "./groups.ts";
import { isTerminal } from "./links.ts";
import { flowMetric, isAckCounted, METRIC } from "./metrics.ts";
import { FORWARD_LINK, RETURN_LINK, SERIES } from "./names.ts";
import type { Point } from "./points.ts";
import { pointKey } from "./points.ts";
import type { Flow, Report, Run, Trace } from "./report.types.ts";
import { mean } from "./statistics.ts";

/** Share of the link's rate from which reverse traffic is worth a look; our choice. */
const MUCH = 0.2;
/** Ratio from which variants differ in how often they acknowledge; our choice. */
const APART = 1.5;

/** The reverse traffic of one variant at one point. Means over runs, so that layers add up. */
export interface ReverseTraffic {
  variant: string;
  index: number;
  runs: number;
  /** Bytes of a run by layer, and their sum. */
  parts: { layer: ByteLayer; bytes: number }[];
  total: number;
  /** Data packets per packet with an ACK; null if not counted. */
  dataPerAck: number | null;
  /** Mean rate during the flow in kbps; null if no run completed. */
  rate: number | null;
  /** That rate as a fraction of the link's; null if the link's rate is unknown. */
  share: number | null;
  /** Reverse bytes as a fraction of the bytes sent with the data; null if not counted. */
  overhead: number | null;
  /** Sizes of ACK frames, or of the options of TCP's pure ACKs, ascending, with their counts. */
  sizes: [bytes: number, frames: number][];
  sizesOf: "frames" | "options";
}

/** What a run was measured with: its trace, and the direction of its data. */
export interface ReversePath {
  trace: Trace;
  /** True if data goes to the server, so that ACKs travel the forward links. */
  upload: boolean;
}

/**
 * The rate of the slowest link that ACKs of a run cross, in kbps; null if one of these links has no
 * constant rate.
 */
export function reverseCapacity({ trace, upload }: ReversePath): number | null {
  const crossed = trace.links.filter((l) => l.name.endsWith(upload ? FORWARD_LINK : RETURN_LINK));
  const rates = crossed.map((l) => l.rate_mbps);
  return rates.length > 0 && rates.every((r) => r !== null) ? Math.min(...rates) * 1000 : null;
}

/** True if a report has reverse traffic by layer or over time. */
export function hasReverseTraffic(report: Report): boolean {
  const counted = (f: Flow): boolean => isAckCounted(f) || isSplit(f.reverse_bytes);
  return (
    report.runs.some((r) => r.flows.some(counted)) ||
    report.traces.some((t) => t.flows.some((f) => f.series[SERIES.reverseRate] !== undefined))
  );
}

/** Distribution of a flow's ACK sizes. */
const ackSizes = (f: Flow): Record<string, number> =>
  (f.ack_frame_bytes ?? f.ack_option_bytes)?.counts ?? {};

/** The reverse traffic of all variants at a point, for one flow; variants without any left out. */
export function reverseTraffic(report: Report, point: Point, flow: FlowId): ReverseTraffic[] {
  const at = pointKey(point);
  return report.variants.flatMap((variant, index): ReverseTraffic[] => {
    const visit = visitOf(report, variant, flow);
    if (visit === undefined) return [];
    const mine = (of: Run | Trace): boolean => of.variant === variant && pointKey(of.point) === at;
    const flows = report.runs
      .filter(mine)
      .flatMap((run) => flowIn(run, { name: flow.name, visit }) ?? []);
    if (flows.length === 0) return [];
    const layers = flows.flatMap((f) => partsOf(f.reverse_bytes));
    const parts = [...new Set(layers.map((p) => p.layer))].map((layer) => ({
      layer,
      bytes: layers.reduce((sum, p) => sum + (p.layer === layer ? p.bytes : 0), 0) / flows.length,
    }));
    const total = parts.reduce((sum, p) => sum + p.bytes, 0);
    if (total === 0) return [];
    const bytes = (f: Flow): number => f.reverse_bytes.total;
    const rate = mean(
      flows.map((f) => (f.completion_s ? (bytes(f) * 8) / f.completion_s / 1000 : null)),
    );
    const trace = report.traces.find(mine);
    const upload = flows[0]!.direction === "upload";
    const capacity = trace ? reverseCapacity({ trace, upload }) : null;
    const sizes = new Map<number, number>();
    for (const [size, n] of flows.flatMap((f) => Object.entries(ackSizes(f))))
      sizes.set(Number(size), (sizes.get(Number(size)) ?? 0) + n);
    return [
      {
        variant,
        index,
        runs: flows.length,
        parts,
        total,
        dataPerAck: mean(flows.map((f) => flowMetric(f, METRIC.dataPerAck))),
        rate,
        share: rate !== null && capacity !== null && capacity > 0 ? rate / capacity : null,
        overhead: mean(flows.map((f) => (f.bytes_sent > 0 ? bytes(f) / f.bytes_sent : null))),
        sizes: [...sizes].sort(([a], [b]) => a - b),
        sizesOf: flows.some((f) => f.ack_frame_bytes) ? "frames" : "options",
      },
    ];
  });
}

/**
 * True if the reverse traffic is worth a look: it takes much of its link, variants acknowledge
 * differently, or its capacity is allocated.
 */
export function isNoteworthy(report: Report, all: ReverseTraffic[]): boolean {
  const ratios = all.flatMap((s) => s.dataPerAck ?? []).filter((r) => r > 0);
  return (
    all.some((s) => s.share !== null && s.share >= MUCH) ||
    Math.max(...ratios) >= APART * Math.min(...ratios) ||
    report.traces.some((t) => t.links.some(isTerminal))
  );
}
