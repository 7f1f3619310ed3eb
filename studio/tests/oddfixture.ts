import { sweepAxis } from "./base.ts";
import { BlobWriter, type Fixture } from "./blobwriter.ts";
import { geoReport } from "./fixture.ts";
import { summarise } from "./summarise.ts";

/** Series missing, unknown, broken; hops, objects and flows of several kinds. */
export function oddReport(): Fixture {
  const { report } = geoReport({ repeats: 4, sizes: ["2 MB"], traces: false });
  const blob = new BlobWriter();
  const t = [0, 1, 2, 3, 4];
  report.path!.hops.unshift({
    name: "home Wi-Fi",
    forward: "200 Mbps, 2 ms",
    return: "200 Mbps, 2 ms",
  });
  report.path!.hops.push({
    name: "terrestrial",
    forward: "1 Gbps, 10 ms",
    return: "1 Gbps, 10 ms",
  });
  report.runs[0]!.flows[0]!.completion_s = null;
  report.runs[0]!.flows[0]!.completed = false;
  report.runs[1]!.flows[0]!.objects = [
    { name: "/index.html", bytes: 40_000, start_s: 0, completion_s: 0.8 },
    { name: "/style.css", bytes: 120_000, start_s: 0.8, completion_s: 1.6 },
    { name: "/late.js", bytes: 9_000, start_s: 1.5, completion_s: null },
  ];
  report.traces = [
    {
      variant: "tcp-cubic",
      point: {},
      run: 1,
      flows: [
        {
          name: "download",
          visit: 1,
          start_s: 60,
          marks: [],
          phases: [],
          series: {
            cwnd: blob.add({ t: t.map((x) => x + 60), v: [1e4, 2e4, 4e4, 8e4, 16e4] }, "bytes"),
            temperature: blob.add({ t: t.map((x) => x + 60), v: [1, 3, 2, 5, 4] }, "K"),
            rtt: { offset: 1 << 24, n: 9, unit: "ms" },
          },
        },
      ],
      links: [
        {
          name: "isl 1",
          rate_mbps: null,
          queue_limit_bytes: null,
          series: { delay: blob.add({ t: [60, 63, 61, 62], v: [20, 23, 21, 22] }, "ms") },
        },
      ],
    },
    {
      variant: "quic-1rtt",
      point: {},
      run: 0,
      flows: [{ name: "download", visit: 1, start_s: 0, marks: [], phases: [], series: {} }],
      links: [],
    },
  ];
  report.summary = [];
  return { report, blob: blob.bytes() };
}

/** Every text in it tries to become markup or to end its script element. */
export function hostileReport(): Fixture {
  const evil = (n: number): string =>
    `</script><img src=x onerror="window.owned=${n}"><b>x</b><!--`;
  const { report } = geoReport({ repeats: 2, sizes: ["2 MB"], traces: false });
  const blob = new BlobWriter();
  const name = evil(1);
  for (const run of report.runs) {
    if (run.variant === "tcp-cubic") run.variant = name;
    run.point = { "__proto__.x": evil(2) };
    run.flows[0]!.name = evil(3);
    run.flows[0]!.objects = [
      { name: evil(12), bytes: 1, start_s: 0, completion_s: 1 },
      { name: evil(13), bytes: 1, start_s: 0, completion_s: 1 },
    ];
  }
  report.variants[0] = name;
  report.sweep = [sweepAxis("__proto__.x", [evil(2)])];
  report.summary = summarise(report.runs);
  report.title = evil(4);
  report.description = evil(5);
  report.scenario = evil(6);
  report.source = evil(7);
  report.version = evil(8);
  report.path!.hops[0] = { name: evil(9), forward: evil(9), return: evil(9) };
  report.expectations[0]!.text = evil(10);
  report.published = [
    {
      label: evil(11),
      kind: "measured",
      metric: "completion_s",
      point: {},
      value: 2,
      source: evil(11),
    },
  ];
  report.traces = [
    {
      variant: name,
      point: report.runs[0]!.point,
      run: 0,
      flows: [
        {
          name: evil(3),
          visit: 1,
          start_s: 0,
          marks: [{ t_s: 1, label: evil(14) }],
          phases: [{ t_s: 0, label: evil(18) }],
          series: {
            cwnd: blob.add({ t: [0, 1, 2], v: [1, 2, 3] }, "bytes"),
            [evil(15)]: blob.add({ t: [0, 1, 2], v: [1, 2, 3] }, evil(16)),
          },
        },
      ],
      links: [
        {
          name: evil(17),
          rate_mbps: 5,
          queue_limit_bytes: 5,
          series: { throughput: blob.add({ t: [0, 1, 2], v: [1, 2, 3] }, "Mbps") },
        },
      ],
    },
  ];
  return { report, blob: blob.bytes() };
}
