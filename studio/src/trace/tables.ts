import type { ConnectionDocument, RequestDocument, TracePage } from "../data/trace.types.ts";
import { bytes, count, NONE, significant } from "../format/numbers.ts";
import { partColour } from "../format/palette.ts";
import { type Child, h } from "../page/dom.ts";
import { type SortColumn, sortableTable } from "./sortable.ts";
import { partNamed, time } from "./words.ts";

const s = (x: number): string => significant(x);

/** A cause with its colour. */
function causeCell(name: string | null, took: number | null): Child {
  const part = partNamed(name);
  if (!part) return NONE;
  return h(
    "span",
    { class: "nowrap", title: part.about },
    h("i", { class: "block", style: `background: ${partColour(part)}` }),
    ` ${part.label}`,
    took !== null && h("span", { class: "quiet-text" }, ` ${time(took)}`),
  );
}

const begin = (r: RequestDocument): number => r.asked_s ?? r.first_byte_s;

const REQUESTS: SortColumn<RequestDocument>[] = [
  { head: "Request", numeric: true, cell: (r) => count(r.number), key: (r) => r.number },
  {
    head: "Stream",
    numeric: true,
    cell: (r) => (r.stream === null ? NONE : String(r.stream)),
    key: (r) => r.stream ?? NaN,
  },
  { head: "Start, s", numeric: true, cell: (r) => s(begin(r)), key: begin },
  {
    head: "Wait, s",
    numeric: true,
    cell: (r) => s(r.first_byte_s - begin(r)),
    key: (r) => r.first_byte_s - begin(r),
  },
  {
    head: "Transfer, s",
    numeric: true,
    cell: (r) => s(r.last_byte_s - r.first_byte_s),
    key: (r) => r.last_byte_s - r.first_byte_s,
  },
  { head: "Size", numeric: true, cell: (r) => bytes(r.bytes), key: (r) => r.bytes },
  {
    head: "Held up most by",
    cell: (r) => causeCell(r.cause, r.cause_s),
    key: (r) => partNamed(r.cause)?.label ?? "~",
  },
];

const sizeOf = (c: ConnectionDocument): number => c.bytes_to_client + c.bytes_to_server;

const CONNECTIONS: SortColumn<ConnectionDocument>[] = [
  { head: "Connection", numeric: true, cell: (c) => count(c.number), key: (c) => c.number },
  { head: "", cell: (c) => c.protocol, key: (c) => c.protocol },
  {
    head: "Client and server",
    cell: (c) => [c.client, c.server].filter(Boolean).join(" – ") || c.title || NONE,
    key: (c) => `${c.client} ${c.server} ${c.title}`,
  },
  { head: "Start, s", numeric: true, cell: (c) => s(c.start_s), key: (c) => c.start_s },
  {
    head: "Took, s",
    numeric: true,
    cell: (c) => (c.completion_s === null ? NONE : s(c.completion_s)),
    key: (c) => c.completion_s ?? NaN,
  },
  { head: "Size", numeric: true, cell: (c) => bytes(sizeOf(c)), key: sizeOf },
  {
    head: "Held up most by",
    cell: (c) => (c.not_explained ? h("small", {}, c.not_explained) : causeCell(c.cause, null)),
    key: (c) => partNamed(c.cause)?.label ?? "~",
  },
];

function section(id: string, title: string, note: Child, table: HTMLElement): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("div", { class: "section-head" }, h("h2", { id: `${id}-title` }, title)),
    note && h("p", { class: "howto below-head" }, note),
    table,
  );
}

/** The requests of a connection; null without any. */
export function requestsSection({ trace, requests: all }: TracePage): HTMLElement | null {
  const { requests } = trace;
  if (requests.length === 0) return null;
  const columns = requests.some((r) => r.stream !== null)
    ? REQUESTS
    : REQUESTS.filter((c) => c.head !== "Stream");
  const cut =
    all > requests.length &&
    `The first ${count(requests.length)} of ${count(all)}; --json has all. `;
  const note = [cut, "Times count from the connection's first packet in the file."];
  return section("requests", "Requests", note, sortableTable("Requests", columns, requests));
}

/** The connections of a file; null if it has one. */
export function connectionsSection({ trace, file }: TracePage): HTMLElement | null {
  if (trace.connections.length < 2) return null;
  const note = `bentpipe explain ${file} --connection N explains another one.`;
  const table = sortableTable("Connections", CONNECTIONS, trace.connections);
  return section("connections", "Connections of the file", note, table);
}
