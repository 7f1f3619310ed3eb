import type { Flow } from "../src/data/report.types.ts";
import { layers } from "./base.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { geoReport } from "./fixture.ts";

const ENDINGS = ["html", "css", "js", "woff2", "webp", "json", "mp4", "map"];

/** Objects of a page: requested one after the other, `step` seconds apart, or several at once. */
function page(n: number, step: number, together: number): Flow["objects"] {
  return Array.from({ length: n }, (_, i) => {
    const start_s = 1.3 + Math.floor(i / together) * step * together;
    return {
      name: `/assets/object-${String(i).padStart(3, "0")}.${ENDINGS[i % ENDINGS.length]!}?v=1`,
      bytes: 2_000 + 731 * i,
      start_s,
      completion_s: start_s + 0.65 + 0.01 * (i % 7),
    };
  });
}

/**
 * Visits of a page: over six connections with one object after the other, and over one with all at
 * once.
 */
export function pageReport(n = 40): Fixture {
  const { report } = geoReport({ repeats: 2, sizes: ["2 MB"], traces: false });
  const blob = new BlobWriter();
  report.variants = ["h1", "h2"];
  report.variant_settings = [];
  report.runs = report.runs.filter((r) => r.variant === "tcp-cubic" || r.variant === "quic-1rtt");
  report.summary = [];
  report.published = [];
  for (const run of report.runs) {
    const first = run.variant === "tcp-cubic";
    run.variant = first ? "h1" : "h2";
    Object.assign(run.flows[0]!, {
      transport: "tcp",
      connections: first ? 6 : 1,
      start_s: 20,
      objects: page(n, 0.25, first ? 1 : n),
      reverse_bytes: layers({
        ip: 16_380,
        tcp: 16_380,
        tcp_options: 9876,
        tcp_payload: 33_136,
        total: 75_772,
      }),
      pep_buffer_max_bytes: first ? null : 252_558,
      pep_acks_dropped: first ? null : 12,
    });
  }
  // Asked for first, though it stands last in the results; and one that never came.
  const { objects } = report.runs[0]!.flows[0]!;
  objects.push(objects.shift()!);
  objects[3]!.completion_s = null;
  const t = Array.from({ length: 50 }, (_, i) => 20 + i * 0.2);
  const up = t.map((_, i) => i * 40_000);
  report.traces = report.variants.map((variant) => ({
    variant,
    point: {},
    run: 0,
    flows: [
      {
        name: "download",
        visit: 1,
        start_s: 20,
        marks: [{ t_s: 21.3, label: "handshake complete" }],
        phases: [],
        series: {
          sent: blob.add({ t, v: up }, "bytes"),
          received: blob.add({ t, v: up }, "bytes"),
          cwnd: blob.add({ t, v: up }, "bytes"),
          smoothed_rtt: blob.add({ t, v: up.map(() => 650) }, "ms"),
        },
      },
    ],
    links: [
      {
        name: "geo forward",
        rate_mbps: 50,
        queue_limit_bytes: null,
        series: { throughput: blob.add({ t, v: up.map(() => 9) }, "Mbps") },
      },
    ],
  }));
  return { report, blob: blob.bytes() };
}
