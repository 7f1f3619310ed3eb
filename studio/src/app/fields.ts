/** The keys that have a slider, with the range that people change them in. */
import type { PathSummary } from "../data/report.types.ts";
import { type Ends, quantity, written } from "./quantity.ts";
import { asQuantity, type Kind, type Measured, measured } from "./units.ts";

/** A key with a slider. */
export interface Field {
  key: string;
  label: string;
  /** The value while the text has no such key, on a path of which nothing is known. */
  usual: string;
  /** Ends of the slider, with units. */
  ends: [least: string, most: string];
  /** The value that the path has then. */
  ofPath?: (path: PathSummary) => string | undefined;
  whole?: boolean;
  /**
   * What the field says while the text has no such key, if the slider has no place for it: it is at
   * its left end.
   */
  absent?: string;
}

/** What a pattern finds in the words for a direction of the only hop. */
const word =
  (direction: "forward" | "return", pattern: RegExp) =>
  ({ hops }: PathSummary): string | undefined =>
    hops.length === 1 ? pattern.exec(hops[0]![direction])?.[1] : undefined;
const RATE = /([\d.]+ [kMG]?bps)/;

/** All of them, in their order. */
export const FIELDS: readonly Field[] = [
  {
    key: "path.rtt",
    label: "Round-trip time",
    usual: "600 ms",
    ends: ["5 ms", "2 s"],
    ofPath: ({ rtt_ms }) => (rtt_ms > 0 ? `${Number(rtt_ms.toPrecision(4))} ms` : undefined),
  },
  {
    key: "path.forward.rate",
    label: "Rate to the client",
    usual: "50 Mbps",
    ends: ["500 kbps", "1 Gbps"],
    ofPath: word("forward", RATE),
  },
  {
    key: "path.return.rate",
    label: "Rate to the server",
    usual: "10 Mbps",
    ends: ["100 kbps", "200 Mbps"],
    ofPath: word("return", RATE),
  },
  {
    key: "path.forward.queue",
    label: "Queue to the client",
    usual: "1 BDP",
    ends: ["0.05 BDP", "8 BDP"],
    ofPath: word("forward", /queue ([^,]+)/),
  },
  {
    key: "path.forward.loss",
    label: "Loss to the client",
    usual: "0.00001",
    ends: ["0.00001", "0.1"],
    absent: "none",
  },
  { key: "workload.download", label: "Download", usual: "2 MB", ends: ["10 kB", "200 MB"] },
  { key: "workload.upload", label: "Upload", usual: "2 MB", ends: ["10 kB", "200 MB"] },
  {
    key: "repeat",
    label: "Runs of each variant",
    usual: "1",
    ends: ["1", "100"],
    whole: true,
  },
];

/** What the ends of a slider are, and how its values are written. */
export interface SliderScale {
  ends: Ends;
  words: [least: string, most: string];
  /** What the values measure; null: they have a unit that only this scenario knows. */
  kind: Kind | null;
  unit: string;
}

/** The range around a value with a unit of its own: up to this factor of it. */
const SPAN = 10;

/** The scale of a field whose text is this; null if it is no number above zero. */
export function scaleOf(field: Field, text: string): SliderScale | null {
  const [own, read] = [measured(text), quantity(text)];
  if (!read || read.value <= 0) return null;
  const [least, most] = field.ends.map(measured) as [Measured, Measured];
  if (own?.kind === least.kind) {
    // A value that lies beyond is an end.
    const ends = {
      least: Math.min(least.value, own.value),
      most: Math.max(most.value, own.value),
    };
    const words = [ends.least, ends.most].map((value) =>
      written(asQuantity({ kind: own.kind, value })),
    );
    return { ends, words: words as [string, string], kind: own.kind, unit: "" };
  }
  const { value, unit } = read;
  const ends = { least: value / SPAN, most: value * SPAN };
  const words = [ends.least, ends.most].map((end) =>
    `${Number(end.toPrecision(2))} ${unit}`.trim(),
  );
  return { ends, words: words as [string, string], kind: null, unit };
}
