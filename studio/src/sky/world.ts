import type { Land } from "./view.ts";

/** Colours of a map. */
export interface WorldColours {
  ocean: string;
  land: string;
  coast: string;
  grid: string;
}

/** Degrees between the lines of the grid. */
const GRID = 30;

/**
 * A ring on a plane: longitudes continue beyond 180° across the antimeridian, and a ring around a
 * pole is closed over that pole. `coast` is the number of its points that are coast.
 */
export function unrolled(ring: [number, number][]): {
  points: [number, number][];
  coast: number;
  low: number;
  high: number;
} {
  const points: [number, number][] = [];
  let before = ring[0]?.[0] ?? 0;
  for (const [longitude, latitude] of ring) {
    before = longitude + 360 * Math.round((before - longitude) / 360);
    points.push([before, latitude]);
  }
  const coast = points.length;
  const [first, last] = [points[0], points.at(-1)];
  if (first && last && Math.abs(last[0] - first[0]) > 180) {
    const pole = points.reduce((sum, p) => sum + p[1], 0) < 0 ? -90 : 90;
    points.push([last[0], pole], [first[0], pole]);
  }
  const across = points.map((p) => p[0]);
  return { points, coast, low: Math.min(...across), high: Math.max(...across) };
}

/** Draws the Earth, longitudes across and latitudes down; `line` is the width of coasts. */
export function drawWorld(
  ctx: CanvasRenderingContext2D,
  width: number,
  height: number,
  land: Land,
  colours: WorldColours,
  line: number,
): void {
  const x = (longitude: number): number => ((longitude + 180) / 360) * width;
  const y = (latitude: number): number => ((90 - latitude) / 180) * height;
  ctx.fillStyle = colours.ocean;
  ctx.fillRect(0, 0, width, height);
  ctx.strokeStyle = colours.grid;
  ctx.lineWidth = line * 0.75;
  ctx.beginPath();
  for (let longitude = -180 + GRID; longitude < 180; longitude += GRID) {
    ctx.moveTo(x(longitude), 0);
    ctx.lineTo(x(longitude), height);
  }
  for (let latitude = -90 + GRID; latitude < 90; latitude += GRID) {
    ctx.moveTo(0, y(latitude));
    ctx.lineTo(width, y(latitude));
  }
  ctx.stroke();
  ctx.fillStyle = colours.land;
  ctx.strokeStyle = colours.coast;
  ctx.lineWidth = line;
  ctx.lineJoin = "round";
  for (const polygon of land) {
    const rings = polygon.map(unrolled);
    const [low, high] = [
      Math.min(...rings.map((r) => r.low)),
      Math.max(...rings.map((r) => r.high)),
    ];
    for (const shift of [-360, 0, 360]) {
      if (high + shift < -180 || low + shift > 180) continue;
      const trace = (points: [number, number][]): void =>
        points.forEach(([longitude, latitude], i) =>
          i === 0
            ? ctx.moveTo(x(longitude + shift), y(latitude))
            : ctx.lineTo(x(longitude + shift), y(latitude)),
        );
      ctx.beginPath();
      for (const { points } of rings) {
        trace(points);
        ctx.closePath();
      }
      ctx.fill("evenodd");
      ctx.beginPath();
      for (const { points, coast } of rings) trace(points.slice(0, coast));
      ctx.stroke();
    }
  }
}
