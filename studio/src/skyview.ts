import type { SkyModel } from "./sky.ts";

/** What a picture of the sky shows at one time. */
export interface SkyFrame {
  /** Position of each node in Earth radii, as `SkyModel.xyz`. */
  xyz: Float32Array;
  /** Links to draw as thin lines: pairs of satellites in one list. */
  links: Uint32Array;
  ways: ShownWay[];
}

/** A way in the colour of its flow. */
export interface ShownWay {
  nodes: number[];
  colour: string;
  /** Whether the plots beside the picture are of this flow; other flows are drawn thinly. */
  strong: boolean;
}

/** What a picture shows all the time. */
export interface SkyScene {
  satellites: number;
  /** Colour of each satellite. */
  colours: string[];
  stations: { name: string; latitude_deg: number; longitude_deg: number; named: boolean }[];
  /** Where to look at first: latitude, longitude. */
  towards: [number, number];
  /** Distance of the outermost satellite from the centre, in Earth radii. */
  outermost: number;
}

/** A picture of the sky that can be looked at: the globe or the flat map. */
export interface SkyView {
  show(frame: SkyFrame): void;
  size(width: number, height: number): void;
  /** The node shown nearest to a point of the picture, where one is near. */
  nodeAt(x: number, y: number): number | null;
  zoom(factor: number): void;
  destroy(): void;
}

/** Land as polygons of rings of longitude and latitude; the first ring of a polygon is its outside. */
export type Land = [number, number][][][];

/** What the script `globe.js` puts on the page. */
export interface GlobeModule {
  land: Land;
  mount(element: HTMLElement, scene: SkyScene): SkyView;
}

declare global {
  var BentpipeGlobe: GlobeModule | undefined;
}

/** How near in pixels a node must be to be pointed at. */
const NEAR = 11;

/** The node whose place on the screen is nearest to a point; `place` gives null for what is out of sight. */
export function nearest(nodes: number, x: number, y: number, place: (node: number) => [number, number] | null): number | null {
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

/** Tints of satellites by shell: quiet beside the flows' colours, and apart for colour-blind readers by lightness too. */
const SHELLS_DARK = ["#9db8d6", "#e0c58a", "#7fb8a2", "#d3a6c8", "#e6e9ee", "#6f8fc0", "#d98f78", "#b3c46f"];
const SHELLS_LIGHT = ["#47678c", "#8a6512", "#2a6b55", "#83497a", "#3a3f47", "#2f4f9a", "#93432b", "#5d6b1c"];

/** Colour of satellites of a shell. */
export function shellColour(shell: number, dark: boolean): string {
  const set = dark ? SHELLS_DARK : SHELLS_LIGHT;
  return set[((Math.trunc(shell) % set.length) + set.length) % set.length]!;
}

/** Where most of the stations are: the direction of the sum of theirs. */
export function middle(model: SkyModel, stations: number[]): [number, number] {
  const sum = [0, 0, 0];
  for (const s of stations) for (const i of [0, 1, 2]) sum[i]! += model.xyz[s * 3 + i]!;
  const [x, y, z] = sum as [number, number, number];
  if (Math.hypot(x, y, z) < 1e-3) return [20, 0];
  return [Math.atan2(z, Math.hypot(x, y)) / (Math.PI / 180), Math.atan2(y, x) / (Math.PI / 180)];
}
