import type { Point } from "../src/data/points.ts";
import type { Run, Summary } from "../src/data/report.types.ts";

const METRICS = ["completion_s", "goodput_mbps", "first_byte_s", "handshake_s"] as const;

/** Statistics over the runs, as the laboratory writes them. */
export function summarise(runs: Run[]): Summary[] {
  const groups = new Map<
    string,
    {
      variant: string;
      point: Point;
      flow: string;
      visit: number;
      metric: (typeof METRICS)[number];
      values: number[];
    }
  >();
  for (const run of runs) {
    for (const f of run.flows) {
      for (const metric of METRICS) {
        const key = JSON.stringify([run.variant, run.point, f.name, f.visit, metric]);
        const g = groups.get(key) ?? {
          variant: run.variant,
          point: run.point,
          flow: f.name,
          visit: f.visit,
          metric,
          values: [],
        };
        groups.set(key, g);
        const value = f[metric];
        if (value !== null) g.values.push(value);
      }
    }
  }
  return [...groups.values()].map(({ values, ...rest }) => {
    const x = values.sort((a, b) => a - b);
    const n = x.length;
    const q = (p: number): number => {
      const at = (n - 1) * p;
      return x[Math.floor(at)]! + (x[Math.ceil(at)]! - x[Math.floor(at)]!) * (at % 1);
    };
    if (n === 0)
      return {
        ...rest,
        n,
        median: null,
        p5: null,
        p95: null,
        mean: null,
        ci95_low: null,
        ci95_high: null,
      };
    const mean = x.reduce((a, b) => a + b, 0) / n;
    if (n === 1)
      return {
        ...rest,
        n,
        median: x[0]!,
        p5: null,
        p95: null,
        mean,
        ci95_low: null,
        ci95_high: null,
      };
    const half = (1.2 * (q(0.75) - q(0.25))) / Math.sqrt(n);
    return {
      ...rest,
      n,
      median: q(0.5),
      p5: q(0.05),
      p95: q(0.95),
      mean,
      ci95_low: q(0.5) - half,
      ci95_high: q(0.5) + half,
    };
  });
}
