import { describe, expect, it } from "vitest";
import { commonBeginning } from "../src/data/links.ts";
import { readReport } from "../src/data/read.ts";
import type {
  ConstellationView,
  FlowSeries,
  Report,
  Route,
  StationPlace,
  Trace,
} from "../src/data/report.types.ts";
import { constellationOf, linksAround, Routes } from "../src/data/routes.ts";
import { routeChanges } from "../src/panels/panel.ts";
import { greatArc } from "../src/sky/map.ts";
import { EARTH_KM, SkyModel } from "../src/sky/model.ts";
import { usualSpeed } from "../src/sky/player.ts";
import { nearest } from "../src/sky/view.ts";
import { unrolled } from "../src/sky/world.ts";
import { reportWith } from "./base.ts";
import { BlobWriter } from "./blobwriter.ts";
import { STARLINK, skyOf } from "./skyfixture.ts";

type Place = [latitude: number, longitude: number, km: number];

/** A sky of satellites given by their places at each instant. */
function model(instants: Place[][], step_s = 10, stations: StationPlace[] = []): SkyModel {
  const blob = new Float32Array(instants.flat(2)).buffer;
  const n = instants[0]!.length;
  const sky: ConstellationView = {
    begins: "",
    satellites: {
      names: Array.from({ length: n }, (_, i) => `s${i}`),
      shell: Array(n).fill(0),
      positions: { offset: 0, times: instants.length, step_s },
    },
    stations,
    isls: [],
  };
  return new SkyModel(sky, blob);
}

const close = (got: Place, want: Place): void =>
  want.forEach((x, i) => expect(got[i]!).toBeCloseTo(x, 3));

describe("positions between samples", () => {
  it("lie on the great circle, at even speed, their altitude on a line", () => {
    const m = model([[[0, 0, 500]], [[0, 40, 600]]]);
    m.at(2.5);
    close(m.placeOf(0), [0, 10, 525]);
    expect(Math.hypot(...m.xyz.slice(0, 3))).toBeCloseTo(1 + 525 / EARTH_KM, 6);
  });
  it("cross the antimeridian and the pole the short way", () => {
    const m = model([
      [
        [10, 170, 550],
        [80, 0, 550],
      ],
      [
        [10, -170, 550],
        [80, 180, 550],
      ],
    ]);
    m.at(5);
    const [latitude, longitude] = m.placeOf(0);
    expect(Math.abs(longitude)).toBeCloseTo(180, 4);
    expect(latitude).toBeGreaterThan(10);
    // The Earth has turned by 0.04° meanwhile.
    expect(m.placeOf(1)[0]).toBeGreaterThan(89.9);
  });
  it("are held before the first and after the last sample, and where there is one only", () => {
    const m = model([[[1, 2, 500]], [[3, 4, 500]]]);
    m.at(-5);
    close(m.placeOf(0), [1, 2, 500]);
    m.at(1e9);
    close(m.placeOf(0), [3, 4, 500]);
    const one = model([[[1, 2, 500]]]);
    one.at(77);
    close(one.placeOf(0), [1, 2, 500]);
    expect(one.end).toBe(0);
  });
  it("do not depend on which time was asked for before", () => {
    const instants = Array.from({ length: 6 }, (_, k): Place[] => [[k * 3, k * 7, 500 + k]]);
    const [m, fresh] = [model(instants), model(instants)];
    for (const t of [3, 13, 23, 17, 49, 4, 33]) m.at(t);
    fresh.at(33);
    expect([...m.xyz]).toEqual([...fresh.xyz]);
  });
  it("stay where satellites do not move, opposite places included", () => {
    const m = model([
      [
        [5, 5, 500],
        [0, 0, 500],
      ],
      [
        [5, 5, 500],
        [0, 180, 500],
      ],
    ]);
    m.at(5);
    close(m.placeOf(0), [5, 5, 500]);
    expect([...m.xyz].every(Number.isFinite)).toBe(true);
  });
  it("are the true ones of a shell between samples ten minutes apart", () => {
    const blob = new BlobWriter();
    const { sky } = skyOf([STARLINK], 3, 600, blob);
    const fine = new BlobWriter();
    const { sky: truth } = skyOf([STARLINK], 3, 310, fine);
    const [m, t] = [
      new SkyModel(sky, blob.bytes().buffer as ArrayBuffer),
      new SkyModel(truth, fine.bytes().buffer as ArrayBuffer),
    ];
    m.at(310);
    t.at(310);
    const far = m.xyz.map((x, i) => Math.abs(x - t.xyz[i]!) * EARTH_KM);
    // What 32-bit degrees hold, and no more.
    expect(Math.max(...far)).toBeLessThan(0.01);
  });
  it("that do not lie in the blob are refused", () => {
    const sky = model([[[0, 0, 500]]]).sky;
    const at =
      (positions: Partial<ConstellationView["satellites"]["positions"]>): (() => SkyModel) =>
      () =>
        new SkyModel(
          {
            ...sky,
            satellites: {
              ...sky.satellites,
              positions: { offset: 0, times: 1, step_s: 1, ...positions },
            },
          },
          new ArrayBuffer(12),
        );
    expect(at({})).not.toThrow();
    for (const wrong of [
      { times: 2 },
      { offset: 4 },
      { offset: 2 },
      { times: 0 },
      { step_s: 0 },
      { offset: -12 },
    ])
      expect(at(wrong)).toThrow(RangeError);
  });
});

describe("a way", () => {
  it("is as long as its straight links on the ellipsoid", () => {
    const stations: StationPlace[] = [
      { name: "equator", latitude_deg: 0, longitude_deg: 0, altitude_m: 0 },
      { name: "pole", latitude_deg: 90, longitude_deg: 0, altitude_m: 0 },
    ];
    const m = model(
      [
        [
          [0, 0, 35_786],
          [90, 0, 550],
        ],
      ],
      1,
      stations,
    );
    // Straight up; from the equator to the pole by the ellipsoid's two radii.
    expect(m.lengthKm([2, 0, 2])).toBeCloseTo(2 * 35_786, 0);
    expect(m.lengthKm([3, 1])).toBeCloseTo(550, 1);
    expect(m.lengthKm([2, 3])).toBeCloseTo(Math.hypot(6378.137, 6356.7523), 2);
    expect(m.lengthKm([])).toBe(0);
    expect([m.nameOf(1), m.nameOf(3), m.nameOf(9)]).toEqual(["s1", "pole", ""]);
  });
  it("holds from its time until the next one that differs", () => {
    const ways = new Routes([
      { flow: "a", t_s: 0, nodes: [1, 2] },
      { flow: "b", t_s: 1, nodes: [7] },
      { flow: "a", t_s: 5, nodes: [1, 2] },
      { flow: "a", t_s: 9, nodes: [] },
      { flow: "a", t_s: 12, nodes: [1, 3] },
    ]);
    expect(ways.flows).toEqual(["a", "b"]);
    expect(ways.at("a", -1)).toBeNull();
    expect(ways.at("a", 6)).toEqual({ nodes: [1, 2], since: 0, until: 9 });
    expect(ways.at("a", 9)).toEqual({ nodes: [], since: 9, until: 12 });
    expect(ways.at("a", 99)).toEqual({ nodes: [1, 3], since: 12, until: null });
    expect(ways.at("c", 5)).toBeNull();
    expect([ways.changesOf("a"), ways.changesOf("b"), ways.changesOf("c")]).toEqual([
      [9, 12],
      [],
      [],
    ]);
  });
  it("stands in the plots where it changes, unless it does so all the time", () => {
    const entries = (n: number): Route[] =>
      Array.from({ length: n }, (_, i) => ({ flow: "f", t_s: i, nodes: [i] }));
    const flow: FlowSeries = { name: "f", visit: 1, start_s: 0, marks: [], phases: [], series: {} };
    const marks = (n: number): number =>
      routeChanges(
        {
          variant: "",
          point: {},
          run: 0,
          flows: [flow],
          links: [],
          constellation: 0,
          routes: entries(n),
        },
        [flow],
      ).length;
    expect([marks(0), marks(1), marks(4), marks(500)]).toEqual([0, 0, 3, 0]);
  });
  it("has those links near it that are few links away", () => {
    const chain = [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
      [8, 9],
    ] as const;
    expect([...linksAround(chain, [0], 2)]).toEqual([0, 1, 1, 2]);
    expect([...linksAround(chain, [], 2)]).toEqual([]);
  });
});

it("names of satellites are told without what all of them begin with", () => {
  expect(commonBeginning(["kuiper-630-0-0", "kuiper-630-10-3"])).toBe("kuiper-630-".length);
  expect(commonBeginning(["STARLINK 1", "STARLINK 12"])).toBe("STARLINK ".length);
  expect(commonBeginning(["a-1", "b-1"])).toBe(0);
  expect(commonBeginning(["same-1"])).toBe(0);
  expect(commonBeginning(["0-1", "0-12"])).toBe(2);
  expect(commonBeginning([])).toBe(0);
});

describe("on the flat map", () => {
  const xyz = (places: Place[]): Float32Array => model([places]).xyz;
  it("a straight link is a great arc, which goes on beyond the edge", () => {
    const across = greatArc(
      xyz([
        [50, 170, 550],
        [50, -170, 550],
      ]),
      0,
      1,
      2,
    );
    expect(across.map(([longitude]) => Math.round(longitude))).toEqual([170, 180, 190]);
    expect(across[1]![1]).toBeGreaterThan(50.2);
  });
  it("rings unroll over the antimeridian, and those around a pole are closed over it", () => {
    const island = unrolled([
      [178, 0],
      [-178, 0],
      [-178, 5],
      [178, 5],
      [178, 0],
    ]);
    expect([island.low, island.high]).toEqual([178, 182]);
    const south = unrolled([
      [0, -70],
      [120, -70],
      [-120, -70],
      [0, -70],
    ]);
    expect(south.points.slice(south.coast)).toEqual([
      [360, -90],
      [0, -90],
    ]);
    expect(unrolled([]).points).toEqual([]);
  });
  it("the nearest node in reach is pointed at", () => {
    const at: [number, number][] = [
      [0, 0],
      [10, 0],
      [13, 0],
    ];
    expect(nearest(3, 12, 1, (n) => at[n]!)).toBe(2);
    expect(nearest(3, 12, 40, (n) => at[n]!)).toBeNull();
    expect(nearest(3, 12, 1, (n) => (n === 2 ? null : at[n]!))).toBe(1);
  });
});

it("a run plays in about 25 s, however long it is", () => {
  expect([0.5, 20, 200, 86_400].map(usualSpeed)).toEqual([0.1, 1, 10, 1800]);
});

describe("a report with a constellation", () => {
  const over = {
    begins: "2000-01-01T00:00:00Z",
    satellites: { names: ["a", "b"], shell: [0, 0], positions: { offset: 8, times: 3, step_s: 5 } },
    stations: [{ name: "x", latitude_deg: 1, longitude_deg: 2, altitude_m: 3 }],
    isls: [[0, 1]] as [number, number][],
  };
  const bare = { variant: "", point: {}, run: 0, flows: [], links: [] };
  const read = (trace: Partial<Trace>, constellation = over): Report =>
    readReport(reportWith({ constellations: [constellation], traces: [{ ...bare, ...trace }] }));
  it("is read without runs", () => {
    const routes = [{ flow: "f", t_s: 1, nodes: [2, 0, 2] }];
    const report = read({ constellation: 0, routes });
    expect(report.runs).toEqual([]);
    expect(constellationOf(report, report.traces[0])).toEqual(over);
    expect(Routes.of(report.traces[0]!).at("f", 2)!.nodes).toEqual([2, 0, 2]);
  });
  it("is refused with the name of what does not exist", () => {
    expect(() => read({ constellation: 1 })).toThrow("constellation 1 does not exist");
    const routes = [{ flow: "f", t_s: 1, nodes: [2, 9] }];
    expect(() => read({ constellation: 0, routes })).toThrow("node 9 does not exist");
    expect(() => read({}, { ...over, isls: [[0, 7]] })).toThrow("satellite 7 does not exist");
  });
  it("may have traces without one", () => {
    expect(constellationOf(read({}), read({}).traces[0])).toBeUndefined();
  });
});
