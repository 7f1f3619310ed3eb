import type { Point } from "../src/data/points.ts";
import type { Flow, Report, Run, Summary } from "../src/data/report.types.ts";
import { fairnessWith, sweepAxis } from "./base.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { geoReport } from "./fixture.ts";
import { random } from "./flowmodel.ts";

export const CONTROLLERS = [
  "newreno",
  "geo-reno",
  "cubic",
  "vegas",
  "hybla",
  "copa",
  "bbr1",
  "bbr3",
];
/** How hard each one pushes, out of thin air. */
const PUSH = [1, 1.4, 1.5, 0.25, 2.2, 0.6, 2.8, 1.7];

/**
 * Every controller against every other over two paths, as `bentpipe matrix` writes it: flows of a
 * set duration, and statistics of all flows.
 */
export function matrixReport(names = CONTROLLERS, paths = ["leo", "geo"]): Fixture {
  const { report: base } = geoReport({ repeats: 1, sizes: ["2 MB"], traces: false });
  const model = base.runs[0]!.flows[0]!;
  const draw = random(17);
  const blob = new BlobWriter();
  const runs: Run[] = [];
  const summary: Summary[] = [];
  for (const path of paths) {
    names.forEach((a, i) => {
      names.forEach((b, j) => {
        const point: Point = {
          "flow.near.congestion": a,
          "flow.far.congestion": b,
          "path.profile": path,
        };
        const [x, y] = [
          PUSH[i % 8]! * (path === "leo" ? 1.35 : 1) * (0.92 + 0.16 * draw()),
          PUSH[j % 8]!,
        ];
        const sum = 9.2 + 0.6 * draw();
        const share = x / (x + y);
        const goodput = [sum * share, sum * (1 - share)] as const;
        const flow = (name: string, k: 0 | 1, congestion: string): Flow => ({
          ...model,
          name,
          transport: "tcp",
          congestion,
          bytes: 0,
          completed: true,
          completion_s: null,
          handshake_s: null,
          first_byte_s: null,
          goodput_mbps: goodput[k],
          objects: [],
        });
        const ping: Flow = { ...flow("ping", 0, "none"), transport: "ping", goodput_mbps: null };
        const jain = 1 / (2 * (share ** 2 + (1 - share) ** 2));
        const fairness = fairnessWith({
          from_s: 20,
          to_s: 120,
          jain_index: jain,
          min_max_ratio: Math.min(share, 1 - share) / Math.max(share, 1 - share),
          bottleneck: "ground link",
          bottleneck_utilisation: 0.9 + 0.09 * draw(),
          bottleneck_queue_ms: 20 + 60 * draw(),
          convergence_s: jain > 0.8 ? 10 + 40 * draw() : null,
          aggregate_goodput_mbps: sum,
        });
        runs.push({
          variant: "tcp",
          point,
          run: 0,
          flows: [flow("near", 0, a), flow("far", 1, b), ping],
          links: [],
          fairness,
        });
        const line = (of: string, metric: string, value: number | null): Summary => ({
          variant: "tcp",
          point,
          flow: of,
          visit: 1,
          metric,
          n: value === null ? 0 : 1,
          median: value,
          p5: null,
          p95: null,
          mean: value,
          ci95_low: null,
          ci95_high: null,
        });
        summary.push(
          line("near", "goodput_mbps", goodput[0]),
          line("far", "goodput_mbps", goodput[1]),
          line("all", "jain_index", jain),
          line("all", "min_max_ratio", fairness.min_max_ratio),
          line("all", "aggregate_goodput_mbps", sum),
          line("all", "bottleneck_utilisation", fairness.bottleneck_utilisation),
          line("all", "bottleneck_queue_ms", fairness.bottleneck_queue_ms),
          line("all", "convergence_s", fairness.convergence_s),
        );
      });
    });
  }
  const series = { cwnd: blob.add({ t: [0, 40, 80, 120], v: [1e4, 8e4, 4e4, 9e4] }, "bytes") };
  const recorded = [runs[1]!, runs[names.length]!];
  const report: Report = {
    ...base,
    scenario: "matrix",
    title: "Every controller against every other",
    description: "Two flows share one bottleneck, each with every controller.",
    variants: ["tcp"],
    variant_settings: [],
    sweep: [
      sweepAxis("path.profile", paths),
      sweepAxis("flow.near.congestion", names),
      sweepAxis("flow.far.congestion", names),
    ],
    runs,
    summary,
    published: [],
    expectations: [],
    traces: recorded.map(({ variant, point, run, flows }) => ({
      variant,
      point,
      run,
      links: [],
      flows: flows
        .slice(0, 2)
        .map(({ name }) => ({ name, visit: 1, start_s: 0, marks: [], phases: [], series })),
    })),
  };
  return { report, blob: blob.bytes() };
}
