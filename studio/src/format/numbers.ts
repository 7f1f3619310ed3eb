/** What stands for a value that does not exist. */
export const NONE = "–";

/** A number with `digits` significant digits at most, never in exponent form for everyday sizes. */
export function significant(x: number, digits = 3): string {
  if (!Number.isFinite(x)) return NONE;
  if (x === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(x)));
  if (magnitude >= 15 || magnitude < -6) return x.toExponential(digits - 1);
  const decimals = Math.max(0, digits - 1 - magnitude);
  const text = x.toFixed(Math.min(decimals, 12));
  return grouped(text.startsWith("-0") && Number(text) === 0 ? text.slice(1) : text);
}

/** A number with four significant digits and no zeros at its end, or as it is when it has fewer. */
export function shortest(x: number): string {
  return Number.isFinite(x)
    ? significant(Number(x.toPrecision(4)), 4)
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "")
    : NONE;
}

/** Thousands set apart by thin spaces from 10 000 up. */
function grouped(text: string): string {
  const [whole = "", rest] = text.split(".");
  const sign = whole.startsWith("-") ? "−" : "";
  const digits = whole.replace("-", "");
  const spaced = digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
  return sign + spaced + (rest === undefined ? "" : `.${rest}`);
}

/** A count as people write it: 12 345. */
export function count(x: number): string {
  return Number.isFinite(x) ? grouped(String(Math.round(x))) : NONE;
}

/** Unit and divisor that suit values up to `max` (decimal units, as on the link). */
export interface Scale {
  unit: string;
  divisor: number;
}

/** Scale of bytes. */
export function byteScale(max: number): Scale {
  for (const [unit, divisor] of [
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
  ] as const)
    if (max >= divisor) return { unit, divisor };
  return { unit: "B", divisor: 1 };
}

/** Scale of rates given in Mbps. */
export function rateScale(maxMbps: number): Scale {
  if (maxMbps >= 1000) return { unit: "Gbps", divisor: 1000 };
  if (maxMbps >= 1 || maxMbps === 0) return { unit: "Mbps", divisor: 1 };
  return { unit: "kbps", divisor: 1e-3 };
}

/** Unit and divisor of a plot's axis that reaches up to `max`. */
export function plotScale(unit: string, max: number): Scale {
  switch (unit) {
    case "bytes":
    case "B":
      return byteScale(max);
    case "Mbps":
      return rateScale(max);
    case "kbps": {
      const { unit: better, divisor } = rateScale(max / 1000);
      return { unit: better, divisor: divisor * 1000 };
    }
    default:
      return { unit, divisor: 1 };
  }
}

/** Bytes with a suitable unit: 4.06 MB. */
export function bytes(x: number): string {
  const s = byteScale(Math.abs(x));
  return `${significant(x / s.divisor)}\u00a0${s.unit}`;
}

/** Milliseconds as such below ten seconds, else seconds. */
export function ms(x: number): string {
  return Math.abs(x) < 10_000
    ? `${significant(x, x < 1 ? 2 : 3).replace(/\.0+$/, "")}\u00a0ms`
    : `${significant(x / 1000)}\u00a0s`;
}

/** A value with the unit of its plot. */
export function unitValue(unit: string, v: number): string {
  switch (unit) {
    case "bytes":
    case "B":
      return bytes(v);
    case "Mbps":
    case "kbps": {
      const s = plotScale(unit, Math.abs(v));
      return `${significant(v / s.divisor)}\u00a0${s.unit}`;
    }
    case "ms":
      return ms(v);
    case "packets":
      // A number that may be a packet's, or an average of counts.
      return Number.isInteger(v) ? count(v) : significant(v);
    default:
      return unit ? `${significant(v)}\u00a0${unit}` : significant(v);
  }
}

/** Seconds with three significant digits, milliseconds below a tenth. */
export function seconds(x: number): string {
  return Math.abs(x) < 0.1 && x !== 0
    ? `${significant(x * 1000)}\u00a0ms`
    : `${significant(x)}\u00a0s`;
}

/** A share of one as per cent. */
export function percent(x: number): string {
  return `${significant(x * 100)}\u00a0%`;
}

/** How a metric is named, scaled and judged. */
export interface Metric {
  key: string;
  label: string;
  /** Unit of the stored values. */
  unit: string;
  /** Which direction is the good one, where there is one. */
  better: "lower" | "higher" | null;
}

const LABELS: Record<string, string> = {
  share: "Share of the first flow",
  jain: "Jain's index",
  share_ratio: "Ratio of shares",
  aggregate_mbps: "Goodput of all flows",
  bottleneck_utilisation: "Bottleneck utilisation",
  bottleneck_queue_ms: "Queue of the bottleneck",
  convergence_s: "Convergence time",
  completion_s: "Completion time",
  goodput_mbps: "Goodput",
  first_byte_s: "Time to first byte",
  handshake_s: "Handshake time",
  flow_control_blocked_s: "Time blocked by flow control",
  flow_control_blocked_longest_s: "Longest time blocked by flow control",
  data_per_ack: "Data packets to an ACK",
  bytes_sent: "Bytes with the data",
  return_overhead_percent: "Return overhead",
  return_acks: "Return packets that acknowledge",
  return_acks_only: "Return packets that only acknowledge",
  ack_frame_min_bytes: "Smallest ACK frame",
  ack_frame_median_bytes: "Median ACK frame",
  ack_frame_p99_bytes: "ACK frame, 99th percentile",
  ack_frame_max_bytes: "Largest ACK frame",
  packets_sent: "Packets sent",
  packets_lost_policer: "Packets dropped by a policer",
  packets_lost_queue: "Packets dropped by a queue",
  packets_lost_random: "Packets lost at random",
  packets_lost_route: "Packets lost with their way",
  packets_declared_lost: "Packets declared lost",
  return_packets: "Packets on the return link",
  return_bytes: "Return bytes",
  "return_bytes.total": "Return bytes",
  "return_bytes.ip": "Return bytes, IP headers",
  "return_bytes.udp": "Return bytes, UDP headers",
  "return_bytes.quic": "Return bytes, QUIC",
  "return_bytes.quic_header": "Return bytes, QUIC headers",
  "return_bytes.ack": "Return bytes, ACK frames",
  "return_bytes.credit": "Return bytes, credit",
  "return_bytes.other": "Return bytes, other frames",
  "return_bytes.padding": "Return bytes, padding",
  "return_bytes.tag": "Return bytes, tags",
  "return_bytes.tcp": "Return bytes, TCP headers",
  "return_bytes.tcp_options": "Return bytes, TCP options",
  "return_bytes.tcp_payload": "Return bytes, TCP payload",
  pep_held_bytes: "Most held by the proxy",
  pep_acks_dropped: "ACKs held back by the filter",
  rtt_min_ms: "Smallest RTT",
  rtt_mean_ms: "Mean RTT",
  rtt_p99_ms: "RTT, 99th percentile",
};

/** Metrics without a unit in their names: in per cent, or parts of one that read as per cent. */
const OTHER_UNITS: Record<string, string> = {
  share: "%",
  share_ratio: "%",
  bottleneck_utilisation: "of one",
};
/** Metrics of which more is better, whatever their unit. */
const MORE = new Set([
  "goodput_mbps",
  "aggregate_mbps",
  "jain",
  "share_ratio",
  "bottleneck_utilisation",
]);

/** Looks a metric up; unknown names are made readable and take their unit from the ending. */
export function metricOf(key: string): Metric {
  const unit = Object.hasOwn(OTHER_UNITS, key)
    ? OTHER_UNITS[key]!
    : /_percent(\.|$)/.test(key)
      ? "%"
      : key.endsWith("_s")
        ? "s"
        : key.endsWith("_ms")
          ? "ms"
          : key.endsWith("_mbps")
            ? "Mbps"
            : /(^|_)bytes(_|$|\.)/.test(key)
              ? "B"
              : "";
  const words = key
    .replace(/_(s|ms|mbps)$|_percent(?=\.|$)/, "")
    .replaceAll("_", " ")
    .replaceAll(".", " ");
  const label = Object.hasOwn(LABELS, key)
    ? LABELS[key]!
    : words.charAt(0).toUpperCase() + words.slice(1);
  const better = MORE.has(key)
    ? "higher"
    : unit === "s" || unit === "ms" || /lost/.test(key)
      ? "lower"
      : null;
  return { key, label, unit, better };
}

/** A value of a metric with its unit. */
export function metricValue(m: Metric, x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  if (m.unit === "s") return seconds(x);
  if (m.unit === "ms") return ms(x);
  if (m.unit === "B") return bytes(x);
  if (m.unit === "%") return percent(x / 100);
  if (m.unit === "of one") return percent(x);
  if (m.unit === "Mbps") return `${significant(x)}\u00a0Mbps`;
  return Number.isInteger(x) ? count(x) : significant(x);
}

/** Unit and divisor for values of a metric up to `max`, where they share an axis or a column. */
export function metricScale(m: Metric, max: number): Scale {
  if (m.unit === "B") return byteScale(max);
  if (m.unit === "of one") return { unit: "%", divisor: 0.01 };
  if (m.unit === "Mbps") return rateScale(max);
  if (m.unit === "s" && max < 0.1) return { unit: "ms", divisor: 1e-3 };
  if (m.unit === "ms" && max >= 10_000) return { unit: "s", divisor: 1000 };
  return { unit: m.unit, divisor: 1 };
}

/** A value without its unit, for places that name the unit once. */
export function plainValue(
  x: number | null | undefined,
  scale: Scale = { unit: "", divisor: 1 },
): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
  const value = x / scale.divisor;
  return Number.isInteger(value) && Math.abs(value) >= 1000 ? count(value) : significant(value);
}

/** An interval in words, or as per cent of its middle where both ends read the same: 6.20 to 6.24, ± 0.03 %. */
export function interval(
  low: number | null | undefined,
  high: number | null | undefined,
  scale?: Scale,
): string {
  if (low === null || low === undefined || high === null || high === undefined) return NONE;
  const [a, b] = [plainValue(low, scale), plainValue(high, scale)];
  if (a !== b) return `${a} to ${b}`;
  const half = (high - low) / Math.abs(high + low);
  return low === high || !Number.isFinite(half)
    ? "always the same"
    : `±\u00a0${half < 1e-5 ? "0.001" : significant(half * 100, 1)}\u00a0%`;
}

/** Decimals that neighbouring ticks `step` apart need: one more for steps of 2.5. */
export function stepDecimals(step: number): number {
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const last = step * 10 ** decimals;
  return Math.abs(last - Math.round(last)) > 1e-6 ? decimals + 1 : decimals;
}

/** Round tick positions inside [lo, hi], about `target` of them. */
export function ticks(lo: number, hi: number, target: number): number[] {
  if (!(hi > lo)) return [lo];
  const raw = (hi - lo) / Math.max(1, target);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10) * power;
  const out: number[] = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++)
    out.push(k * step + 0);
  return out;
}

/** Labels of ticks, all with the same number of decimals. */
export function tickLabels(values: number[]): string[] {
  let decimals = 0;
  if (values.length > 1) decimals = stepDecimals(values[1]! - values[0]!);
  else if (values.length === 1 && !Number.isInteger(values[0]!)) return [significant(values[0]!)];
  return values.map((v) => grouped((Math.abs(v) < 1e-12 ? 0 : v).toFixed(decimals)));
}
