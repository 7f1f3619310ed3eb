import type { Flow } from "../../data/report.types.ts";
import { bytes, count, seconds } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";

/** Kinds of objects by file extension, each with the index of its colour. */
const KINDS: { name: string; index: number; endings: string[] }[] = [
  { name: "document", index: 0, endings: ["html", "htm", "xhtml"] },
  { name: "style", index: 3, endings: ["css"] },
  { name: "script", index: 4, endings: ["js", "mjs", "wasm"] },
  { name: "font", index: 6, endings: ["woff2", "woff", "ttf", "otf"] },
  {
    name: "image",
    index: 2,
    endings: ["webp", "avif", "png", "jpg", "jpeg", "gif", "svg", "ico"],
  },
  { name: "media", index: 7, endings: ["mp4", "webm", "m4s", "mp3", "m4a"] },
  { name: "data", index: 1, endings: ["json", "xml", "csv", "bin"] },
  { name: "other", index: 5, endings: [] },
];

/** Objects that a waterfall needs to be worth drawing. */
const SEVERAL = 2;

/**
 * Height of a row, and heights of the whole plot beyond which rows get thinner: first down to a
 * stroke, then below. CSS pixels.
 */
const ROW = 18;
const TALL = 720;
const STROKE = 1.2;
const TALLEST = 900;

/** One object as a row. Times are the run's; the end is null if the object never completed. */
export interface Row {
  name: string;
  bytes: number;
  from: number;
  to: number | null;
  kind: Kind;
}

/** Objects of one kind: their colour, and whether they are shown. */
export interface Kind {
  name: string;
  objects: number;
  bytes: number;
  colour: () => string;
  shown: boolean;
}

/** The objects of one visit, in the order of their requests. */
export interface Waterfall {
  rows: Row[];
  kinds: Kind[];
}

/** Objects in the order of their requests; objects requested together keep their order. */
export function inOrderOfStart(objects: Flow["objects"]): Flow["objects"] {
  return [...objects].sort((a, b) => a.start_s - b.start_s);
}

/** The place in `KINDS` of an object's name, by its file extension without any query. */
function kindIndex(name: string): number {
  const ending = /\.([a-z0-9]+)(?:[?#].*)?$/i.exec(name)?.[1]?.toLowerCase();
  const found = KINDS.findIndex((k) => ending !== undefined && k.endings.includes(ending));
  return found < 0 ? KINDS.length - 1 : found;
}

/** The place in `KINDS` of an object: a page knows what its objects are. */
function placeOf({ kind, name }: Flow["objects"][number]): number {
  const known = KINDS.findIndex((k) => k.name === kind);
  return known < 0 ? kindIndex(name) : known;
}

/** The kind of an object by its name. */
export function kindOfName(name: string): string {
  return KINDS[kindIndex(name)]!.name;
}

/** The waterfall of a visit that began at `start` in the run's time; null for a single object. */
export function waterfallOf(objects: Flow["objects"], start: number): Waterfall | null {
  if (objects.length < SEVERAL) return null;
  const kinds = KINDS.map(({ name, index }): Kind => {
    return { name, objects: 0, bytes: 0, colour: () => variantColour(index), shown: true };
  });
  const rows = inOrderOfStart(objects).map((o): Row => {
    const kind = kinds[placeOf(o)]!;
    kind.objects += 1;
    kind.bytes += o.bytes;
    const to = o.completion_s === null ? null : start + o.completion_s;
    return { name: o.name, bytes: o.bytes, from: start + o.start_s, to, kind };
  });
  return { rows, kinds: kinds.filter((k) => k.objects > 0) };
}

/** First and last instant of a waterfall, in the run's time. */
export function reachOf({ rows }: Waterfall): [number, number] {
  let last = -Infinity;
  for (const r of rows) last = Math.max(last, r.to ?? r.from);
  return [rows[0]!.from, last];
}

/** Progress of a visit at a time: objects that are complete, and objects being received. */
export function progressAt({ rows }: Waterfall, time: number): { done: number; open: number } {
  let done = 0;
  let open = 0;
  for (const { from, to } of rows) {
    if (to !== null && to <= time) done++;
    else if (from <= time) open++;
  }
  return { done, open };
}

/** Progress of a visit at a time, in words. */
export function progressText(w: Waterfall, time: number): string {
  const { done, open } = progressAt(w, time);
  return `${count(done)} of ${count(w.rows.length)} complete, ${count(open)} in progress`;
}

/** An object in words: size, start, end and duration; times count from `t0`. */
export function rowText(row: Row, t0: number): string {
  const from = seconds(row.from - t0);
  const when =
    row.to === null
      ? `from ${from}, never completed`
      : `${from} to ${seconds(row.to - t0)}, took ${seconds(row.to - row.from)}`;
  return `${row.name}: ${bytes(row.bytes)}, ${when}`;
}

/** A short name of an object: what follows the last slash, if anything does. */
export function shortRowName(name: string): string {
  const path = name.replace(/[?#].*$/, "");
  return path.slice(path.lastIndexOf("/") + 1) || name;
}

/** Height of `n` rows in CSS pixels. */
export function heightOf(n: number): number {
  return Math.max(2 * ROW, Math.min(ROW * n, Math.max(TALL, Math.min(TALLEST, STROKE * n))));
}
