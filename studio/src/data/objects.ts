import type { PanelSpec } from "../charts/time/chart.ts";
import { bytes, count, seconds } from "../format/numbers.ts";
import { variantColour } from "../format/palette.ts";
import type { PanelBase } from "../panels/links.ts";
import type { Flow, TraceFlow } from "./schema.ts";

/** Kinds of objects by the ending of the name, each with its place among the colours. */
const KINDS: { name: string; index: number; endings: string[] }[] = [
  { name: "document", index: 0, endings: ["html", "htm", "xhtml"] },
  { name: "style", index: 3, endings: ["css"] },
  { name: "script", index: 4, endings: ["js", "mjs", "wasm"] },
  { name: "font", index: 6, endings: ["woff2", "woff", "ttf", "otf"] },
  { name: "image", index: 2, endings: ["webp", "avif", "png", "jpg", "jpeg", "gif", "svg", "ico"] },
  { name: "media", index: 7, endings: ["mp4", "webm", "m4s", "mp3", "m4a"] },
  { name: "data", index: 1, endings: ["json", "xml", "csv", "bin"] },
];
const OTHER = { name: "other", index: 5 };

/** Objects in a waterfall that is worth drawing. */
const SEVERAL = 2;

/** Highest row, and height of the whole beyond which rows get thinner: first down to a stroke, then below. CSS pixels. */
const ROW = 18;
const TALL = 720;
const STROKE = 1.2;
const TALLEST = 900;
/** What a plot's height holds besides: its time axis. */
const AXIS = 36;

/** One object: a row of the waterfall. Times are the run's; the end is null where it never came. */
export interface Row {
  name: string;
  bytes: number;
  from: number;
  to: number | null;
  kind: Kind;
}

/** Objects of one kind: how they are coloured, and whether they are shown. */
export interface Kind {
  name: string;
  objects: number;
  bytes: number;
  colour: () => string;
  shown: boolean;
}

/** The objects of one visit, in the order in which they were asked for. */
export interface Waterfall {
  rows: Row[];
  kinds: Kind[];
}

/** Objects in the order in which they were asked for; those asked for together stay in their order. */
export function inOrderOfStart(objects: Flow["objects"]): Flow["objects"] {
  return [...objects].sort((a, b) => a.start_s - b.start_s);
}

/** What kind of object a name stands for: by its ending, whatever query follows. */
export function kindOfName(name: string): string {
  return kindEntry(name).name;
}

function kindEntry(name: string): { name: string; index: number } {
  const ending = /\.([a-z0-9]+)(?:[?#].*)?$/i.exec(name)?.[1]?.toLowerCase();
  return KINDS.find((k) => ending !== undefined && k.endings.includes(ending)) ?? OTHER;
}

/** The waterfall of a visit that began at `start` in the run's time; null where it had one object. */
export function waterfallOf(objects: Flow["objects"], start: number): Waterfall | null {
  if (objects.length < SEVERAL) return null;
  const kinds = new Map<string, Kind>();
  const rows = inOrderOfStart(objects).map((o): Row => {
    const { name, index } = kindEntry(o.name);
    let kind = kinds.get(name);
    if (!kind)
      kinds.set(
        name,
        (kind = { name, objects: 0, bytes: 0, colour: () => variantColour(index), shown: true }),
      );
    kind.objects += 1;
    kind.bytes += o.bytes;
    return {
      name: o.name,
      bytes: o.bytes,
      from: start + o.start_s,
      to: o.completion_s === null ? null : start + o.completion_s,
      kind,
    };
  });
  const order = [...KINDS, OTHER].map((k) => k.name);
  return {
    rows,
    kinds: [...kinds.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name)),
  };
}

/** First and last instant of a waterfall, in the run's time. */
export function reachOf({ rows }: Waterfall): [number, number] {
  let last = -Infinity;
  for (const r of rows) last = Math.max(last, r.to ?? r.from);
  return [rows[0]!.from, last];
}

/** How far a visit was at a time: objects done, and objects asked for and not done. */
export function progressAt({ rows }: Waterfall, time: number): { done: number; open: number } {
  let done = 0;
  let open = 0;
  for (const { from, to } of rows) {
    if (to !== null && to <= time) done++;
    else if (from <= time) open++;
  }
  return { done, open };
}

/** That in words. */
export function progressText(w: Waterfall, time: number): string {
  const { done, open } = progressAt(w, time);
  return `${count(done)} of ${count(w.rows.length)} done, ${count(open)} under way`;
}

/** An object in words: size, from when to when, how long; times count from `t0`. */
export function rowText(row: Row, t0: number): string {
  const from = seconds(row.from - t0);
  const when =
    row.to === null
      ? `from ${from}, not done`
      : `${from} to ${seconds(row.to - t0)}, took ${seconds(row.to - row.from)}`;
  return `${row.name}: ${bytes(row.bytes)}, ${when}`;
}

/** What an object is called where there is little room: what follows the last slash, if anything does. */
export function shortRowName(name: string): string {
  const path = name.replace(/[?#].*$/, "");
  return path.slice(path.lastIndexOf("/") + 1) || name;
}

/** Height that `n` rows take, in CSS pixels. */
export function heightOf(n: number): number {
  return Math.max(2 * ROW, Math.min(ROW * n, Math.max(TALL, Math.min(TALLEST, STROKE * n))));
}

/** The plot with the objects of one visit; none where there was only one. */
export function waterfallPanel(flow: Flow | undefined, trace: TraceFlow): PanelSpec[] {
  const waterfall = flow ? waterfallOf(flow.objects, trace.start_s) : null;
  if (!waterfall) return [];
  const marks = trace.marks.map((m) => ({ t: m.t_s, label: m.label })).sort((a, b) => a.t - b.t);
  const base: PanelBase = {
    references: [],
    marks,
    phases: null,
    labels: marks.length > 0,
    zero: true,
    height: heightOf(waterfall.rows.length) + AXIS,
  };
  return [
    {
      ...base,
      id: "objects",
      title: "Objects",
      unit: "",
      layers: [],
      waterfall,
      howto:
        "Each bar is an object, from when it was asked for until it was complete, in the order of asking; point at one for its size and times. A bar as short as a round trip was all waiting and hardly any data. A staircase is a client that waits before it asks for more: for a free connection, or for the object that names the next ones. Bars that begin together and end one after the other share one connection. The list of objects above has the same numbers.",
    },
  ];
}
