import type { SkyModel } from "./model.ts";

/** What a picture of the sky shows at one time. */
export interface SkyFrame {
  /** Position of each node in Earth radii, as `SkyModel.xyz`. */
  xyz: Float32Array;
  /** Links to draw as thin lines: pairs of satellites in one list. */
  links: Uint32Array;
  routes: ShownRoute[];
}

/** A route in the colour of its flow. */
export interface ShownRoute {
  nodes: number[];
  colour: string;
  /** True if the plots are of this flow; other flows are drawn thinner. */
  strong: boolean;
}

/** What a picture shows all the time. */
export interface SkyScene {
  satellites: number;
  /** Colour of each satellite. */
  colours: string[];
  stations: { name: string; latitude_deg: number; longitude_deg: number; named: boolean }[];
  /** Latitude and longitude to look at first. */
  towards: [number, number];
  /** Distance of the outermost satellite from the centre, in Earth radii. */
  outermost: number;
}

/** A picture of the sky that can be looked at: the globe or the flat map. */
export interface SkyView {
  show(frame: SkyFrame): void;
  size(width: number, height: number): void;
  /** The node nearest to a point of the picture, if one is near. */
  nodeAt(x: number, y: number): number | null;
  zoom(factor: number): void;
  destroy(): void;
}

/** Land as polygons of rings of longitude and latitude; the first ring is the outside. */
export type Land = [number, number][][][];

/** What the script `globe.js` puts on the page. */
export interface GlobeModule {
  land: Land;
  mount(element: HTMLElement, scene: SkyScene): SkyView;
}

declare global {
  var BentpipeGlobe: GlobeModule | undefined;
}

/** Largest distance in pixels at which the pointer hits a node. */
const NEAR = 11;

/** The node nearest to a point of the screen; `place` returns null for nodes out of sight. */
export function nearest(
  nodes: number,
  x: number,
  y: number,
  place: (node: number) => [number, number] | null,
): number | null {
  let best: number | null = null;
  let distance = NEAR;
  for (let n = 0; n < nodes; n++) {
    const p = place(n);
    const d = p ? Math.hypot(p[0] - x, p[1] - y) : Infinity;
    if (d < distance) {
      distance = d;
      best = n;
    }
  }
  return best;
}

/** Colours of satellites by shell: quieter than those of flows, and different in lightness too. */
const SHELLS_DARK = [
  "#9db8d6",
  "#e0c58a",
  "#7fb8a2",
  "#d3a6c8",
  "#e6e9ee",
  "#6f8fc0",
  "#d98f78",
  "#b3c46f",
];
const SHELLS_LIGHT = [
  "#47678c",
  "#8a6512",
  "#2a6b55",
  "#83497a",
  "#3a3f47",
  "#2f4f9a",
  "#93432b",
  "#5d6b1c",
];

/** Colour of satellites of a shell. */
export function shellColour(shell: number, dark: boolean): string {
  const set = dark ? SHELLS_DARK : SHELLS_LIGHT;
  return set[((Math.trunc(shell) % set.length) + set.length) % set.length]!;
}

const RAD = Math.PI / 180;

export type Vector = [number, number, number];
/** The direction of a vector. */
export const unit = ([x, y, z]: Vector): Vector => {
  const r = Math.hypot(x, y, z) || 1;
  return [x / r, y / r, z / r];
};
export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
/** Degrees from a direction to the farthest of some others. */
const reach = (from: Vector, to: Vector[]): number =>
  Math.max(0, ...to.map((v) => Math.acos(Math.min(1, Math.max(-1, dot(from, v)))) / RAD));

/**
 * The centre of the smallest cap around some directions, by ever shorter steps to the farthest one
 * (Bădoiu and Clarkson 2003).
 */
function middleOf(all: Vector[]): Vector {
  let at = unit(all.reduce<Vector>((s, v) => [s[0] + v[0], s[1] + v[1], s[2] + v[2]], [0, 0, 0]));
  for (let i = 2; i < 400; i++) {
    const far = all.reduce((a, b) => (reach(at, [a]) >= reach(at, [b]) ? a : b));
    at = unit([
      at[0] + (far[0] - at[0]) / i,
      at[1] + (far[1] - at[1]) / i,
      at[2] + (far[2] - at[2]) / i,
    ]);
  }
  return at;
}

/**
 * The latitude and longitude to look at first: the centre of the chosen stations, moved towards the
 * centre of all stations until all are within `sight` degrees, if that is possible.
 */
export function outlook(
  xyz: Float32Array,
  chosen: number[],
  others: number[],
  sight: number,
): [number, number] | null {
  const of = (nodes: number[]): Vector[] =>
    [...new Set(nodes)].map((n) => unit([xyz[n * 3]!, xyz[n * 3 + 1]!, xyz[n * 3 + 2]!]));
  const [own, all] = [of(chosen), of([...chosen, ...others])];
  if (own.length === 0) return null;
  let at = middleOf(own);
  const whole = middleOf(all);
  if (reach(whole, all) <= sight) {
    for (let f = 0; f <= 20 && reach(at, all) > sight; f++)
      at =
        f === 20
          ? whole
          : unit([0, 1, 2].map((i) => at[i]! + ((whole[i]! - at[i]!) * 1) / (20 - f)) as Vector);
  }
  return [Math.asin(at[2]) / RAD, Math.atan2(at[1], at[0]) / RAD];
}

/** The direction of the sum of the stations' directions. */
export function middle(model: SkyModel, stations: number[]): [number, number] {
  const sum = [0, 0, 0];
  for (const s of stations) for (const i of [0, 1, 2]) sum[i]! += model.xyz[s * 3 + i]!;
  const [x, y, z] = sum as [number, number, number];
  if (Math.hypot(x, y, z) < 1e-3) return [20, 0];
  return [Math.atan2(z, Math.hypot(x, y)) / RAD, Math.atan2(y, x) / RAD];
}
