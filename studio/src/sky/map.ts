import { isDark } from "../format/palette.ts";
import { h } from "../page/dom.ts";
import { placeOf } from "./model.ts";
import { type Land, nearest, type SkyFrame, type SkyScene, type SkyView } from "./view.ts";
import { drawWorld, type WorldColours } from "./world.ts";

const LIGHT: WorldColours = {
  ocean: "#e6edf4",
  land: "#fbfaf6",
  coast: "#b4bfca",
  grid: "#d8e1ea",
};
const DARK: WorldColours = { ocean: "#0b1420", land: "#1c2733", coast: "#35465a", grid: "#152231" };

/** Number of parts that a straight link is drawn in; on a map it is a great arc. */
const PARTS = 24;

/** Longitudes and latitudes along a straight line between two nodes; longitudes may exceed 180°. */
export function greatArc(
  xyz: Float32Array,
  a: number,
  b: number,
  parts = PARTS,
): [number, number][] {
  const out: [number, number][] = [];
  for (let i = 0; i <= parts; i++) {
    const f = i / parts;
    const at = (k: number): number => xyz[a * 3 + k]! * (1 - f) + xyz[b * 3 + k]! * f;
    const [latitude, longitude] = placeOf(at(0), at(1), at(2));
    const before = out.at(-1)?.[0] ?? longitude;
    out.push([longitude + 360 * Math.round((before - longitude) / 360), latitude]);
  }
  return out;
}

/**
 * The flat map, with longitudes across and latitudes down. Needs only a 2D canvas, and prints well.
 */
export class FlatMap implements SkyView {
  readonly #canvas = h("canvas", {
    role: "img",
    "aria-label": "Map of the satellites, the stations and the routes of the flows",
  });
  readonly #ground = document.createElement("canvas");
  #width = 0;
  #height = 0;
  #dark: boolean | null = null;
  #frame: SkyFrame | null = null;

  constructor(
    host: HTMLElement,
    readonly scene: SkyScene,
    readonly land: Land,
  ) {
    host.append(this.#canvas);
  }

  size(width: number): void {
    this.#width = width;
    this.#height = Math.round(width / 2);
    const ratio = Math.max(1, devicePixelRatio);
    for (const canvas of [this.#canvas, this.#ground]) {
      canvas.width = Math.round(this.#width * ratio);
      canvas.height = Math.round(this.#height * ratio);
    }
    this.#canvas.style.width = `${this.#width}px`;
    this.#canvas.style.height = `${this.#height}px`;
    this.#dark = null;
    if (this.#frame) this.show(this.#frame);
  }

  /** A map shows all of the Earth. */
  zoom(): void {}

  #place(xyz: Float32Array, node: number): [number, number] {
    const [latitude, longitude] = placeOf(xyz[node * 3]!, xyz[node * 3 + 1]!, xyz[node * 3 + 2]!);
    return [((longitude + 180) / 360) * this.#width, ((90 - latitude) / 180) * this.#height];
  }

  show(frame: SkyFrame): void {
    this.#frame = frame;
    const ctx = this.#canvas.getContext("2d");
    if (!ctx || this.#width === 0) return;
    const { xyz, links, routes } = frame;
    const [width, height] = [this.#width, this.#height];
    const ratio = this.#canvas.width / width;
    const dark = isDark();
    if (this.#dark !== dark) {
      this.#dark = dark;
      const ground = this.#ground.getContext("2d");
      ground?.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (ground) drawWorld(ground, width, height, this.land, dark ? DARK : LIGHT, 0.8);
    }
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.drawImage(this.#ground, 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.lineJoin = "round";

    ctx.strokeStyle = dark ? "rgb(157 184 214 / 28%)" : "rgb(71 103 140 / 26%)";
    ctx.lineWidth = 0.8;
    ctx.beginPath();
    // Links between satellites are short enough for a straight line on the map.
    for (let i = 0; i < links.length; i += 2)
      this.#line(ctx, greatArc(xyz, links[i]!, links[i + 1]!, 2));
    ctx.stroke();

    const size = this.scene.satellites > 3000 ? 1.4 : 2;
    let colour = "";
    for (let n = 0; n < this.scene.satellites; n++) {
      if (this.scene.colours[n] !== colour) ctx.fillStyle = colour = this.scene.colours[n]!;
      const [x, y] = this.#place(xyz, n);
      ctx.fillRect(x - size / 2, y - size / 2, size, size);
    }

    for (const route of [...routes].sort((a, b) => Number(a.strong) - Number(b.strong))) {
      ctx.beginPath();
      for (let i = 1; i < route.nodes.length; i++)
        this.#line(ctx, greatArc(xyz, route.nodes[i - 1]!, route.nodes[i]!));
      ctx.strokeStyle = dark ? "rgb(11 20 32 / 80%)" : "rgb(255 255 255 / 85%)";
      ctx.lineWidth = route.strong ? 5.4 : 3.6;
      ctx.stroke();
      ctx.globalAlpha = route.strong ? 1 : 0.85;
      ctx.strokeStyle = ctx.fillStyle = route.colour;
      ctx.lineWidth = route.strong ? 2.6 : 1.6;
      ctx.stroke();
      for (const n of route.nodes) {
        ctx.beginPath();
        ctx.arc(...this.#place(xyz, n), route.strong ? 3 : 2, 0, 2 * Math.PI);
        ctx.fill();
      }
      ctx.globalAlpha = 1;
    }
    this.#stations(ctx, xyz, dark);
  }

  #stations(ctx: CanvasRenderingContext2D, xyz: Float32Array, dark: boolean): void {
    const { satellites, stations } = this.scene;
    ctx.font =
      "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
    const [ink, back] = dark
      ? ["#f2f5f8", "rgb(11 20 32 / 85%)"]
      : ["#15191f", "rgb(255 255 255 / 90%)"];
    const taken: [number, number, number][] = [];
    stations.forEach(({ name, named }, i) => {
      const [x, y] = this.#place(xyz, satellites + i);
      ctx.fillStyle = ink;
      ctx.beginPath();
      ctx.arc(x, y, named ? 3 : 1.6, 0, 2 * Math.PI);
      ctx.fill();
      if (!named) return;
      const wide = ctx.measureText(name).width;
      // The first free place: right or left of the station, above or below.
      const places: [number, number][] = [
        [x + 8, y - 5],
        [x + 8, y + 13],
        [x - 8 - wide, y - 5],
        [x - 8 - wide, y + 13],
      ];
      const free = ([left, base]: [number, number]): boolean =>
        left >= 2 &&
        left + wide <= this.#width - 2 &&
        taken.every(
          ([l, b, w]) => Math.abs(b - base) > 15 || left > l + w + 4 || left + wide + 4 < l,
        );
      const [left, base] = places.find(free) ?? places[0]!;
      taken.push([left, base, wide]);
      ctx.strokeStyle = back;
      ctx.lineWidth = 3.5;
      ctx.strokeText(name, left, base);
      ctx.fillText(name, left, base);
    });
  }

  /** Adds a line to the path; beyond one edge of the map it continues at the other. */
  #line(ctx: CanvasRenderingContext2D, arc: [number, number][]): void {
    const beyond = arc.some(([longitude]) => longitude > 180)
      ? -360
      : arc.some(([longitude]) => longitude < -180)
        ? 360
        : 0;
    for (const shift of beyond === 0 ? [0] : [0, beyond]) {
      arc.forEach(([longitude, latitude], i) => {
        const x = ((longitude + shift + 180) / 360) * this.#width;
        const y = ((90 - latitude) / 180) * this.#height;
        if (i === 0) ctx.moveTo(x, y);
        else ctx.lineTo(x, y);
      });
    }
  }

  nodeAt(x: number, y: number): number | null {
    const { satellites, stations } = this.scene;
    return (
      this.#frame &&
      nearest(satellites + stations.length, x, y, (n) => this.#place(this.#frame!.xyz, n))
    );
  }

  destroy(): void {
    this.#canvas.remove();
  }
}
