import { SERIES_OF_PARTS } from "./names.ts";
import { lowerBound, type Pyramid, sampleAt } from "./pyramid.ts";
import type { FlowSeries } from "./report.types.ts";
import type { SeriesCache } from "./series-cache.ts";
import { TIME_PARTS } from "./time-parts.generated.ts";

/** A part of a completion time, with its colours. */
export interface TimePart {
  name: string;
  label: string;
  /** What it is called in a sentence. */
  words: string;
  /** The same as the object of a sentence: what time goes to. */
  said: string;
  /** True if every transfer needs it: not a cause of slowness. */
  needed: boolean;
  about: string;
  colour: [light: string, dark: string];
}

/**
 * What every transfer needs is grey; causes are places on one warm ramp, so that no cause has the
 * colour of a variant. Causes that often stand beside each other are far apart on it.
 */
const COLOURS: Record<(typeof TIME_PARTS)[number]["name"], [light: string, dark: string]> = {
  handshake_s: ["#a9b3bf", "#6d7986"],
  request_s: ["#c8cfd7", "#525d69"],
  serialisation_s: ["#8ba0b5", "#47617a"],
  headers_s: ["#dde2e8", "#38424d"],
  lost_packets_s: ["#7a2417", "#a34358"],
  duplicates_s: ["#f2b336", "#f3bc55"],
  other_flows_s: ["#a3381e", "#bc4d44"],
  capacity_s: ["#e3822a", "#ea8c3e"],
  outage_s: ["#471310", "#86437a"],
  path_change_s: ["#e78d25", "#ec973d"],
  slow_start_s: ["#f0a31c", "#f0ad3c"],
  congestion_window_s: ["#d86e2a", "#e2793f"],
  pacing_s: ["#f6d375", "#fadc93"],
  flow_control_s: ["#cc5b29", "#d9683f"],
  // Pauses of the application are no fault of the path: near the background.
  application_s: ["#f7e3a6", "#8f8560"],
  address_validation_s: ["#ec9821", "#eea23d"],
  loss_detection_s: ["#8e2e1b", "#af484e"],
  timeout_s: ["#c05025", "#d05e3f"],
  return_link_s: ["#b44422", "#c7553f"],
  held_acks_s: ["#611c14", "#954369"],
  proxy_s: ["#f4c653", "#f6cd72"],
  unattributed_s: ["#f6db8d", "#fce6ab"],
};

/** Parts whose words need an article there, or others. */
const SAID: Record<string, string> = {
  handshake_s: "the handshake",
  serialisation_s: "sending the data",
  path_change_s: "a longer path",
  congestion_window_s: "the congestion window",
};

/** All parts, in the order in which bars and legends show them. */
export const PARTS: readonly TimePart[] = TIME_PARTS.map((part) => ({
  ...part,
  said: SAID[part.name] ?? part.words,
  colour: COLOURS[part.name],
}));

/** A part and its share of some time, from 0 to 1. */
export interface Share {
  part: TimePart;
  share: number;
}

/** What the time of a visit was spent on, over time: shares in per cent, in bins. */
export interface Causes {
  parts: { part: TimePart; data: Pyramid }[];
  /** Beginnings of the bins, in the run's time. */
  t: Float64Array;
  /** End of the last bin. */
  end: number;
}

/** A piece of the time axis, in pixels, on which most of the time was spent on one part. */
export interface CauseBand {
  from: number;
  to: number;
  part: TimePart;
}

/** What the time of a visit was spent on; null if that was not recorded. */
export function causesOf(flow: FlowSeries, cache: SeriesCache): Causes | null {
  const parts = PARTS.flatMap((part) => {
    const data = cache.get(flow.series[SERIES_OF_PARTS + part.name]);
    return data ? [{ part, data }] : [];
  });
  if (parts.length === 0) return null;
  // All parts have the same bins, unless the page has downsampled series.
  const { t } = parts.reduce((a, b) => (b.data.n > a.data.n ? b : a)).data;
  const n = t.length;
  return { parts, t, end: t[n - 1]! + (n > 1 ? t[1]! - t[0]! : 1e-3) };
}

/** The shares at a time, largest first; empty outside of the visit. */
export function sharesAt({ parts, t, end }: Causes, time: number): Share[] {
  if (time < t[0]! || time >= end) return [];
  return parts
    .flatMap(({ part, data }) => {
      const value = data.v[sampleAt(data, time)] ?? 0;
      return value > 0 ? [{ part, share: value / 100 }] : [];
    })
    .sort((a, b) => b.share - a.share);
}

/** The parts of a strip with at least this share of the visit are in its legend. */
const SEEN = 0.002;

/** The parts that a visit spent time on, in their order. */
export function partsIn({ parts, t }: Causes): TimePart[] {
  return parts
    .filter(({ data }) => data.v.reduce((sum, v) => sum + v, 0) / 100 >= SEEN * t.length)
    .map(({ part }) => part);
}

/**
 * The part on which most time was spent, for each of `width` pixels of [x0, x1]; neighbours with
 * the same part are one band.
 */
export function causeBands(causes: Causes, x0: number, x1: number, width: number): CauseBand[] {
  const { parts, t, end } = causes;
  const out: CauseBand[] = [];
  if (!(x1 > x0) || width < 1) return out;
  const scale = (x1 - x0) / width;
  const first = Math.max(0, Math.floor((t[0]! - x0) / scale));
  const last = Math.min(width, Math.ceil((end - x0) / scale));
  const binAt = (time: number): number => Math.max(0, lowerBound(t, time + 1e-12) - 1);
  let sums = new Float64Array(parts.length);
  let [known, from, to] = [-1, -1, -1];
  for (let x = first; x < last; x++) {
    const a = binAt(x0 + x * scale);
    const b = Math.max(a + 1, lowerBound(t, x0 + (x + 1) * scale - 1e-12));
    if (a !== from || b !== to) {
      sums = new Float64Array(parts.length);
      for (let i = a; i < Math.min(b, t.length); i++)
        parts.forEach(({ data }, k) => {
          sums[k]! += (data.n === t.length ? data.v[i] : data.v[sampleAt(data, t[i]!)]) ?? 0;
        });
      known = sums.reduce((best, sum, k) => (sum > (sums[best] ?? 0) ? k : best), -1);
      [from, to] = [a, b];
    }
    const part = parts[known]?.part;
    if (!part) continue;
    const before = out.at(-1);
    if (before?.part === part && before.to === x) before.to = x + 1;
    else out.push({ from: x, to: x + 1, part });
  }
  return out;
}
