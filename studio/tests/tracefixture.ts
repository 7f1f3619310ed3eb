import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import type { RequestDocument, TracePage } from "../src/data/trace.types.ts";
import { BlobWriter } from "./blobwriter.ts";
import { PLACEHOLDER } from "./embed.ts";

/** A title as a hostile file could have it. */
export const HOSTILE = "</script><script>document.title = 'taken'</script><img src=x>";

const COMPLETION = 6;

/** The series of a download at its sender, with a loss. */
function series(blob: BlobWriter): TracePage["series"]["series"] {
  const n = 600;
  const t = Float64Array.from({ length: n }, (_, i) => (COMPLETION * i) / n);
  const sent = Float32Array.from(t, (_, i) => (i + 1) * 6000);
  const bins = Float64Array.from({ length: 60 }, (_, i) => i / 10);
  const share = (from: number, to: number): Float32Array =>
    Float32Array.from(bins, (at) => (at >= from && at < to ? 100 : 0));
  return {
    sent: blob.add({ t, v: sent }, "B"),
    acked: blob.add({ t: t.map((at) => at + 0.5), v: sent }, "B"),
    lost: blob.add({ t: [2, 3], v: [sent[200]!, sent[300]!] }, "B"),
    rtt: blob.add({ t, v: Float32Array.from(t, () => 500) }, "ms"),
    "time_budget.flow_control_s": blob.add({ t: bins, v: share(1, 5) }, "%"),
    "time_budget.serialisation_s": blob.add({ t: bins, v: share(5, 6) }, "%"),
    "time_budget.handshake_s": blob.add({ t: bins, v: share(0, 1) }, "%"),
  };
}

const request = (number: number): RequestDocument => ({
  number,
  stream: 4 * number,
  asked_s: number / 2,
  first_byte_s: number / 2 + 0.5,
  last_byte_s: number / 2 + 1.5,
  bytes: 10_000 * ((number * 7) % 5),
  cause: "flow_control_s",
  cause_s: 0.4,
});

/** The page of a download that flow control held up, as the command writes it. */
export function tracePage(): string {
  const blob = new BlobWriter();
  const budget = { handshake_s: 1, flow_control_s: 4, serialisation_s: 1 };
  const page: TracePage = {
    file: "server.sqlog",
    title: HOSTILE,
    version: "0.4.0",
    protocol: "QUIC",
    sender: "server",
    receiver: "client",
    answer:
      "Flow control took 4.00 s of 6.00 s: the client's stream window of 131 kB holds 4 % of " +
      "the path's 3.28 MB",
    is_encrypted: false,
    requests: 8,
    series: { name: "recorded", visit: 1, start_s: 0, marks: [], phases: [], series: series(blob) },
    trace: {
      bytes: 3_600_000,
      direction: "download",
      recorded_by: "sender",
      both_ends: null,
      path: {
        rtt_ms: 500,
        rate_mbps: 52,
        rate_is_least: true,
        proven_rate_mbps: 20,
        queue_ms: 12,
        queue_is_full: false,
        loss: 0.001,
      },
      losses: { packets: 2, at_a_full_queue: 0, episodes: 2 },
      pauses: { sender_s: 0, receiver_s: 0 },
      flow_control: null,
      transfers: ["recorded", "bentpipe"].map((variant, i) => ({
        variant,
        point: {},
        flow: "main",
        visit: 1,
        runs: 1,
        metric: "completion_s",
        value: i === 0 ? 6 : 3,
        completion_s: i === 0 ? 6 : 3,
        time_budget: i === 0 ? budget : { handshake_s: 1, serialisation_s: 2 },
        causes: ["flow_control_s"],
        packets_lost: { channel: 0, queue: 0, policer: 0, routing: 0 },
        text: "took 6.00 s: 4.00 s flow control",
      })),
      requests: Array.from({ length: 8 }, (_, i) => request(i + 1)),
      request: null,
      remedies: [
        {
          cause: "flow_control_s",
          setting: "the flow control of a stream (`initial_max_stream_data`)",
          where: "client",
          value: "6.60 MB",
          saves_s: 3.2,
          saves_up_to_s: null,
        },
      ],
      prediction: { low_s: 2.6, high_s: 3.4 },
      prediction_text: "Bentpipe would take 2.60 to 3.40 s (`--rate` says how fast it is)",
      notes: ["the file has no keys"],
      connections: [],
    },
  };
  const built = fileURLToPath(new URL("../dist/trace.html", import.meta.url));
  const json = JSON.stringify(page).replaceAll("</", "<\\/");
  const packed = Buffer.from(deflateSync(blob.bytes())).toString("base64");
  const data =
    `<script type="application/json" id="bentpipe-report">${json}</script>` +
    `<script type="application/octet-stream;base64" id="bentpipe-traces">${packed}</script>`;
  return readFileSync(built, "utf8").replace(PLACEHOLDER, () => data);
}
