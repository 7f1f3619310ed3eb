import type { Point } from "../src/data/points.ts";
import type { Report, Run } from "../src/data/report.types.ts";
import { sweepAxis } from "./base.ts";
import type { Fixture } from "./blobwriter.ts";
import { geoReport } from "./fixture.ts";
import { random } from "./flowmodel.ts";
import { summarise } from "./summarise.ts";

/** A report over any sweep, without time series; completion times follow from the swept values. */
export function sweepReport(
  sweep: Report["sweep"],
  variants: string[],
  repeats: number,
  time: (point: Point, variant: number) => number,
): Fixture {
  const { report } = geoReport({ repeats: 1, sizes: ["2 MB"], traces: false });
  const model = report.runs[0]!;
  const points = sweep.reduce<Point[]>(
    (list, { key, values }) => list.flatMap((p) => values.map((v) => ({ ...p, [key]: v }))),
    [{}],
  );
  const draw = random(5);
  const runs: Run[] = points.flatMap((point) =>
    variants.flatMap((variant, v) =>
      Array.from({ length: repeats }, (_, run) => {
        const completion_s = time(point, v) * (1 + 0.04 * draw());
        return {
          ...model,
          variant,
          point,
          run,
          flows: [
            { ...model.flows[0]!, name: "main", completion_s, goodput_mbps: 16 / completion_s },
          ],
        };
      }),
    ),
  );
  const traces: Report["traces"] = [];
  return {
    report: {
      ...report,
      variants,
      variant_settings: [],
      sweep,
      runs,
      summary: summarise(runs),
      published: [],
      expectations: [],
      traces,
    },
    blob: null,
  };
}

/** Losses by round trips, as a table of a paper has them. */
export function lossReport(variants = ["cubic", "newreno"], repeats = 1): Fixture {
  const sweep = [
    sweepAxis("path.rtt", ["100 ms", "150 ms", "200 ms", "300 ms", "450 ms", "650 ms"]),
    sweepAxis("path.forward.loss", ["0 %", "0.01 %", "0.05 %", "0.1 %", "0.5 %"]),
  ];
  return sweepReport(
    sweep,
    variants,
    repeats,
    (p, v) =>
      10 +
      (parseFloat(p["path.rtt"]!) / 5) *
        (0.1 + Math.sqrt(parseFloat(p["path.forward.loss"]!))) *
        (1 + v / 10),
  );
}

/**
 * A resumed handshake against a full one: the first reported visit is the second there. With
 * `second`, both have another visit.
 */
export function resumedReport(second = false): Fixture {
  const { report } = sweepReport([], ["1rtt", "0rtt"], 6, (_, v) => 6.2 - v * 0.7);
  for (const run of report.runs) {
    const f = run.flows[0]!;
    f.visit = run.variant === "0rtt" ? 2 : 1;
    if (second) run.flows.push({ ...f, visit: f.visit + 1, completion_s: f.completion_s! * 0.8 });
  }
  report.summary = summarise(report.runs);
  return { report, blob: null };
}

/** Runs that were given up, some of one variant and all of another. */
export function failedReport(): Fixture {
  const { report } = sweepReport([], ["cubic", "newreno"], 5, (_, v) => 6 + v);
  for (const run of report.runs) {
    if (run.variant === "cubic" && run.run > 1) continue;
    Object.assign(run.flows[0]!, {
      completed: false,
      completion_s: null,
      goodput_mbps: null,
      error: "given up after 45 s",
    });
  }
  report.complete = false;
  report.notes = ["2 traces were left out."];
  report.summary = summarise(report.runs);
  return { report, blob: null };
}

/**
 * Goodput by the rate of the return link, for eight ACK policies: a slow link limits those that
 * send many ACKs.
 */
export function policySweep(): Fixture {
  const sweep = [
    sweepAxis("path.return.rate", [
      "10 kbps",
      "25 kbps",
      "50 kbps",
      "100 kbps",
      "250 kbps",
      "500 kbps",
      "1 Mbps",
      "1.5 Mbps",
      "3 Mbps",
    ]),
  ];
  const packets: Record<string, number> = {
    "1:2": 2,
    "1:10": 10,
    "1:32": 32,
    "1:64": 64,
    "rtt/4": 300,
    "rtt/8": 150,
    "rtt/16": 75,
    auto: 400,
  };
  const kbps = (rate: string): number => parseFloat(rate) * (rate.endsWith("kbps") ? 1 : 1000);
  return sweepReport(
    sweep,
    Object.keys(packets),
    3,
    (p, v) =>
      16 /
      Math.min(40 - v, (kbps(p["path.return.rate"]!) * 20 * Object.values(packets)[v]!) / 1000),
  );
}

/** Forty variants, of four controllers in ten settings, at twelve points, with five runs each. */
export function wideReport(): Fixture {
  const controllers = ["cubic", "newreno", "bbr3", "hybla"];
  const policies = Array.from({ length: 10 }, (_, i) => `1:${2 ** i}`);
  const pairs = controllers.flatMap((c) => policies.map((p) => [c, p] as const));
  const names = pairs.map(([c, p]) => `${c}-${p.replace(":", "to")}`);
  const rates = ["10", "20", "50", "100", "200", "500", "1000", "2000", "5000", "10000"];
  const values = [...rates, "20000", "50000"].map((r) => `${r} kbps`);
  const fixture = sweepReport([sweepAxis("path.return.rate", values)], names, 5, (point, v) => {
    const kbps = Number(point["path.return.rate"]!.split(" ")[0]);
    const acks = 2 ** (v % 10);
    return 5 + Math.floor(v / 10) * 0.3 + 400 / (kbps * acks) + acks / 100;
  });
  const { report } = fixture;
  report.variant_keys = pairs.map(([congestion, ack]) => ({
    "transport.congestion": congestion,
    "transport.ack": ack,
  }));
  return fixture;
}
