import { commonBeginning } from "../data/links.ts";
import type { ConstellationView, StationPlace } from "../data/report.types.ts";

/** Mean radius of the Earth in kilometres (IUGG); pictures show the Earth as such a sphere. */
export const EARTH_KM = 6371.0088;
/** WGS84: equatorial radius in kilometres, flattening. */
const A_KM = 6378.137;
const FLATTENING = 1 / 298.257223563;
/**
 * Rotation of the Earth in degrees per second (7.292115e-5 rad/s, IERS Conventions 2010, table
 * 1.2).
 */
const SPIN = 7.292115e-5 / (Math.PI / 180);
/** Speed of light in kilometres per millisecond. */
export const LIGHT_KM_PER_MS = 299.792458;

const RAD = Math.PI / 180;

/**
 * Puts the direction of a place into `out` at `i`: x to 0° N 0° E, y to 0° N 90° E, z to the pole.
 */
export function direction(latitude: number, longitude: number, out: Float32Array, i: number): void {
  const c = Math.cos(latitude * RAD);
  out[i] = c * Math.cos(longitude * RAD);
  out[i + 1] = c * Math.sin(longitude * RAD);
  out[i + 2] = Math.sin(latitude * RAD);
}

/** Earth-fixed position in kilometres of a place on or above the WGS84 ellipsoid. */
export function earthFixed(
  latitude: number,
  longitude: number,
  altitudeKm: number,
): [number, number, number] {
  const e2 = FLATTENING * (2 - FLATTENING);
  const s = Math.sin(latitude * RAD);
  const n = A_KM / Math.sqrt(1 - e2 * s * s);
  const across = (n + altitudeKm) * Math.cos(latitude * RAD);
  return [
    across * Math.cos(longitude * RAD),
    across * Math.sin(longitude * RAD),
    (n * (1 - e2) + altitudeKm) * s,
  ];
}

/** Latitude and longitude in degrees of a vector. */
export function placeOf(x: number, y: number, z: number): [latitude: number, longitude: number] {
  return [Math.atan2(z, Math.hypot(x, y)) / RAD, Math.atan2(y, x) / RAD];
}

/**
 * All satellites at one recorded instant: directions in a frame that does not rotate, altitudes.
 */
interface Sample {
  k: number;
  to: Float32Array;
  km: Float32Array;
}

/**
 * Positions of satellites and stations over time. Nodes are the satellites by index, then the
 * stations. Call `at` first; other members refer to that time.
 */
export class SkyModel {
  readonly satellites: number;
  /** Of each node, in Earth radii from the centre of a spherical Earth. */
  readonly xyz: Float32Array;
  /** Altitude of each node in kilometres. */
  readonly km: Float32Array;
  readonly #data: Float32Array;
  readonly #times: number;
  readonly #step: number;
  #from: Sample;
  #to: Sample;
  readonly #common: number;
  /** Angle from one sample to the next, for each satellite. */
  readonly #angle: Float32Array;

  /** Throws if the positions do not lie inside the blob. */
  constructor(
    readonly sky: ConstellationView,
    blob: ArrayBuffer,
  ) {
    const { offset, times, step_s } = sky.satellites.positions;
    const n = sky.satellites.names.length;
    if (
      !Number.isInteger(offset) ||
      !Number.isInteger(times) ||
      offset < 0 ||
      offset % 4 !== 0 ||
      times < 1 ||
      !(step_s > 0) ||
      offset + n * times * 12 > blob.byteLength
    ) {
      throw new RangeError(
        `positions of ${n} satellites at ${times} instants ${step_s} s apart, at ${offset}, ` +
          `are not in the trace data (${blob.byteLength} bytes)`,
      );
    }
    this.satellites = n;
    this.#data = new Float32Array(blob, offset, n * times * 3);
    this.#times = times;
    this.#step = step_s;
    const nodes = n + sky.stations.length;
    this.xyz = new Float32Array(nodes * 3);
    this.km = new Float32Array(nodes);
    this.#angle = new Float32Array(n);
    this.#common = commonBeginning(sky.satellites.names);
    const sample = (): Sample => ({ k: -1, to: new Float32Array(n * 3), km: new Float32Array(n) });
    this.#from = sample();
    this.#to = sample();
    sky.stations.forEach((s: StationPlace, i) => {
      direction(s.latitude_deg, s.longitude_deg, this.xyz, (n + i) * 3);
      this.km[n + i] = s.altitude_m / 1000;
    });
    this.at(0);
  }

  /** The last instant with positions, in seconds since the start of the run. */
  get end(): number {
    return (this.#times - 1) * this.#step;
  }

  #load(into: Sample, k: number): void {
    into.k = k;
    const data = this.#data;
    const turned = SPIN * k * this.#step;
    for (let i = 0, at = k * this.satellites * 3; i < this.satellites; i++, at += 3) {
      direction(data[at]!, data[at + 1]! + turned, into.to, i * 3);
      into.km[i] = data[at + 2]!;
    }
  }

  /**
   * Moves all satellites to a time, held at the first and last instant. Between two samples they
   * move along the great circle at even speed, with linear altitude. The circle stands still while
   * the Earth rotates below it, as orbits do: for circular orbits this is exact if samples are less
   * than half a revolution apart.
   */
  at(time: number): void {
    const place = Math.min(Math.max(time / this.#step, 0), this.#times - 1);
    const k = Math.min(Math.floor(place), Math.max(0, this.#times - 2));
    const next = Math.min(k + 1, this.#times - 1);
    if (this.#from.k !== k || this.#to.k !== next) {
      if (this.#to.k === k) [this.#from, this.#to] = [this.#to, this.#from];
      if (this.#from.k !== k) this.#load(this.#from, k);
      if (this.#to.k !== next) this.#load(this.#to, next);
      const [a, b] = [this.#from.to, this.#to.to];
      // By the chord: the arc cosine is inaccurate for small angles.
      for (let i = 0, j = 0; i < this.satellites; i++, j += 3)
        this.#angle[i] =
          2 *
          Math.asin(
            Math.min(
              1,
              Math.hypot(a[j]! - b[j]!, a[j + 1]! - b[j + 1]!, a[j + 2]! - b[j + 2]!) / 2,
            ),
          );
    }
    const f = place - k;
    const { xyz, km } = this;
    const [a, b] = [this.#from, this.#to];
    const turn = -SPIN * place * this.#step * RAD;
    const [cosine, sineOfTurn] = [Math.cos(turn), Math.sin(turn)];
    for (let i = 0, j = 0; i < this.satellites; i++, j += 3) {
      const angle = this.#angle[i]!;
      const sine = Math.sin(angle);
      const [p, q] =
        sine < 1e-6 ? [1 - f, f] : [Math.sin((1 - f) * angle) / sine, Math.sin(f * angle) / sine];
      const altitude = a.km[i]! + (b.km[i]! - a.km[i]!) * f;
      const r = 1 + altitude / EARTH_KM;
      km[i] = altitude;
      const x = (a.to[j]! * p + b.to[j]! * q) * r;
      const y = (a.to[j + 1]! * p + b.to[j + 1]! * q) * r;
      xyz[j] = x * cosine - y * sineOfTurn;
      xyz[j + 1] = x * sineOfTurn + y * cosine;
      xyz[j + 2] = (a.to[j + 2]! * p + b.to[j + 2]! * q) * r;
    }
  }

  /** Latitude, longitude and altitude (km) of a node. */
  placeOf(node: number): [latitude: number, longitude: number, altitudeKm: number] {
    const station = this.sky.stations[node - this.satellites];
    if (station) return [station.latitude_deg, station.longitude_deg, station.altitude_m / 1000];
    const { xyz } = this;
    return [...placeOf(xyz[node * 3]!, xyz[node * 3 + 1]!, xyz[node * 3 + 2]!), this.km[node]!];
  }

  /** Name of a node. */
  nameOf(node: number): string {
    return this.sky.satellites.names[node] ?? this.sky.stations[node - this.satellites]?.name ?? "";
  }

  /** Short name of a node for lists, without what all satellites' names begin with. */
  briefNameOf(node: number): string {
    return node < this.satellites ? this.nameOf(node).slice(this.#common) : this.nameOf(node);
  }

  /** Length of a route in kilometres, each link straight, with ends on the WGS84 ellipsoid. */
  lengthKm(nodes: number[]): number {
    const at = nodes.map((n) => earthFixed(...this.placeOf(n)));
    return at
      .slice(1)
      .reduce(
        (sum, p, i) => sum + Math.hypot(p[0] - at[i]![0], p[1] - at[i]![1], p[2] - at[i]![2]),
        0,
      );
  }
}
