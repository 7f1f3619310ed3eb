import { isDark } from "../format/palette.ts";
import { direction } from "./model.ts";
import { dot, type Land, unit, type Vector } from "./view.ts";

type Place = [x: number, y: number];

const LIGHT = {
  ocean: "#dfe9f2",
  land: "#fbfaf6",
  coast: "#b4bfca",
  sky: "#7d95b0",
  ink: "#15191f",
};
const DARK = {
  ocean: "#12202f",
  land: "#243242",
  coast: "#3d5066",
  sky: "#7f99b8",
  ink: "#f2f5f8",
};

/** What a picture of the Earth from afar shows. */
export interface Disc {
  land: Land;
  /** Positions of all nodes in Earth radii: satellites first. */
  xyz: Float32Array;
  satellites: number;
  routes: { nodes: number[]; colour: string }[];
  /** Names at nodes. */
  names: { node: number; name: string }[];
}

/** Largest radius of the Earth, over half of the picture's smaller side. */
const MOST_ZOOM = 1.35;

const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

/** Draws the Earth as seen from above the middle of the routes, with satellites and routes. */
export function drawDisc(canvas: HTMLCanvasElement, size: Place, disc: Disc): void {
  const [width, height] = size;
  const ratio = Math.max(1, devicePixelRatio);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  const colours = isDark() ? DARK : LIGHT;
  const { xyz } = disc;
  const at = (n: number): Vector => [xyz[n * 3]!, xyz[n * 3 + 1]!, xyz[n * 3 + 2]!];
  const nodes = disc.routes.flatMap((r) => r.nodes);
  const shown = nodes.length > 0 ? nodes : disc.names.map((n) => n.node);
  const towards = unit(
    shown
      .map((n) => unit(at(n)))
      .reduce((s, v): Vector => [s[0] + v[0], s[1] + v[1], s[2] + v[2]], [0, 0, 1e-6]),
  );
  const east = unit(cross([0, 0, 1], towards));
  const north = cross(towards, east);
  const far = Math.max(0.1, ...shown.map((n) => Math.hypot(dot(at(n), east), dot(at(n), north))));
  const half = Math.min(width, height) / 2;
  const radius = half * Math.min(MOST_ZOOM, Math.max(0.9, 0.62 / far));
  const flat = (v: Vector): { p: Place; depth: number } => ({
    p: [width / 2 + dot(v, east) * radius, height / 2 - dot(v, north) * radius],
    depth: dot(v, towards),
  });
  ctx.beginPath();
  ctx.arc(width / 2, height / 2, radius, 0, 2 * Math.PI);
  ctx.fillStyle = colours.ocean;
  ctx.fill();
  drawLand(ctx, disc.land, flat, [width / 2, height / 2, radius], colours);
  ctx.fillStyle = colours.sky;
  for (let n = 0; n < disc.satellites; n++) {
    const { p, depth } = flat(at(n));
    const off = Math.hypot(p[0] - width / 2, p[1] - height / 2);
    if (depth > 0 || off > radius) ctx.fillRect(p[0] - 1, p[1] - 1, 2, 2);
  }
  ctx.lineJoin = "round";
  for (const route of disc.routes) {
    ctx.beginPath();
    route.nodes.forEach((n, i) => {
      const [x, y] = flat(at(n)).p;
      if (i === 0) ctx.moveTo(x, y);
      else ctx.lineTo(x, y);
    });
    ctx.strokeStyle = ctx.fillStyle = route.colour;
    ctx.lineWidth = 2.4;
    ctx.stroke();
    for (const n of route.nodes) {
      ctx.beginPath();
      ctx.arc(...flat(at(n)).p, 3.4, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
  drawNames(
    ctx,
    disc.names.map(({ node, name }) => ({ name, p: flat(at(node)).p })),
    width,
    colours,
  );
}

/** Draws land; what lies beyond the limb is put on it. */
function drawLand(
  ctx: CanvasRenderingContext2D,
  land: Land,
  flat: (v: Vector) => { p: Place; depth: number },
  [cx, cy, radius]: [number, number, number],
  colours: typeof LIGHT,
): void {
  const v = new Float32Array(3);
  ctx.fillStyle = colours.land;
  ctx.strokeStyle = colours.coast;
  ctx.lineWidth = 0.8;
  for (const [ring] of land) {
    if (!ring) continue;
    let seen = false;
    const places = ring.map(([longitude, latitude]): Place => {
      direction(latitude, longitude, v, 0);
      const { p, depth } = flat([v[0]!, v[1]!, v[2]!]);
      if (depth >= 0) {
        seen = true;
        return p;
      }
      const off = Math.hypot(p[0] - cx, p[1] - cy) || 1;
      return [cx + ((p[0] - cx) * radius) / off, cy + ((p[1] - cy) * radius) / off];
    });
    if (!seen) continue;
    ctx.beginPath();
    places.forEach(([x, y], i) => {
      if (i === 0) ctx.moveTo(x, y);
      else ctx.lineTo(x, y);
    });
    ctx.closePath();
    ctx.fill();
    ctx.stroke();
  }
}

/** Writes names beside their places, on the side with more room, apart from each other. */
function drawNames(
  ctx: CanvasRenderingContext2D,
  names: { name: string; p: Place }[],
  width: number,
  colours: typeof LIGHT,
): void {
  ctx.font = "600 13px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = isDark() ? "rgb(14 18 23 / 85%)" : "rgb(255 255 255 / 90%)";
  const taken: number[] = [];
  for (const { name, p } of names) {
    const wide = ctx.measureText(name).width;
    const x =
      p[0] > width / 2 ? Math.min(p[0] + 8, width - wide - 2) : Math.max(2, p[0] - 8 - wide);
    let y = p[1] + 16;
    while (taken.some((t) => Math.abs(t - y) < 16)) y += 16;
    taken.push(y);
    ctx.strokeText(name, x, y);
    ctx.fillStyle = colours.ink;
    ctx.fillText(name, x, y);
  }
}
