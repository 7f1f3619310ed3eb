import Globe, { type GlobeInstance } from "globe.gl";
import {
  AmbientLight,
  CanvasTexture,
  DirectionalLight,
  Group,
  Matrix4,
  MeshLambertMaterial,
  SRGBColorSpace,
  Vector3,
} from "three";
import { type Land, nearest, type SkyFrame, type SkyScene, type SkyView } from "../view.ts";
import { drawWorld } from "../world.ts";
import { Mesh, Ribbons } from "./lines.ts";
import { Dots } from "./points.ts";

/** Width of the Earth's texture, which is sharper than the screen at the nearest view. */
const TEXTURE_PX = 4096;
/** Vertical distance in pixels within which the names of two stations would overlap. */
const LINE_PX = 16;
/** Distance of names from their stations, to the side and above or below: see `.sky-name`. */
const SIDE_PX = 9;
/** Where a name may stand, the best first: whether below, and whether left. */
const PLACES: [boolean, boolean][] = [
  [false, false],
  [true, false],
  [false, true],
  [true, true],
];
/**
 * Distance of the eye from the centre that fills the view, over that of the outermost satellite.
 */
const FILLS = 2.45;
/** Nearest and farthest distance of the eye from the ground, in Earth radii. */
const [NEAREST, FARTHEST] = [0.15, 24];
/** How long the globe goes on drawing after the last change: until a rotation comes to rest. */
const AWAKE_MS = 1500;
/** Frames drawn in any case, as the first ones may take longer than that. */
const AWAKE_FRAMES = 12;

/**
 * The globe. globe.gl draws the Earth, its atmosphere and the names of stations; satellites, links
 * and routes are objects of our own.
 */
export class GlobeView implements SkyView {
  readonly #globe: GlobeInstance;
  readonly #radius: number;
  readonly #satellites: Dots;
  readonly #stations: Dots;
  readonly #used: Dots[] = [];
  readonly #links = new Mesh("#8fa9c8", 0.3);
  readonly #faint = new Ribbons([
    { width: 4, opacity: 0.1 },
    { width: 1.9, opacity: 0.85 },
  ]);
  readonly #strong = new Ribbons([
    { width: 11, opacity: 0.26 },
    { width: 3.4, opacity: 1 },
  ]);
  readonly #world = new Group();
  readonly #texture: CanvasTexture;
  readonly #ends: AbortController = new AbortController();
  #nodes: Float32Array = new Float32Array();
  readonly #labels: { station: number; name: HTMLElement; text: HTMLElement; wide: number }[] = [];
  /** The next frame; null while the globe rests. */
  #sleep: number | null = null;
  #until = 0;
  #frames = 0;

  constructor(
    readonly host: HTMLElement,
    readonly scene: SkyScene,
    land: Land,
  ) {
    const canvas = document.createElement("canvas");
    canvas.width = TEXTURE_PX;
    canvas.height = TEXTURE_PX / 2;
    const ctx = canvas.getContext("2d");
    if (ctx)
      drawWorld(
        ctx,
        canvas.width,
        canvas.height,
        land,
        { ocean: "#0f2236", land: "#2c4054", coast: "#5c7b98", grid: "#173049" },
        2.4,
      );
    this.#texture = new CanvasTexture(canvas);
    this.#texture.colorSpace = SRGBColorSpace;
    this.#texture.anisotropy = 8;

    this.#globe = new Globe(host, { animateIn: false, waitForGlobeReady: false })
      .backgroundColor("rgba(0,0,0,0)")
      .globeMaterial(new MeshLambertMaterial({ map: this.#texture }))
      .showAtmosphere(true)
      .atmosphereColor("#7fb2ea")
      .atmosphereAltitude(0.13)
      .enablePointerInteraction(false);
    this.#radius = this.#globe.getGlobeRadius();
    // The light moves with the eye: the rim is darker, so that the Earth looks like a ball.
    const light = new DirectionalLight("#ffffff", 1.5);
    this.#globe.lights([new AmbientLight("#ffffff", 1.9)]);
    const camera = this.#globe.camera();
    camera.add(light);
    light.position.set(0.2, 0.35, 1);
    this.#globe.scene().add(camera);

    const named = scene.stations.map((s) => (s.named ? 6.5 : 3.5));
    const ratio = Math.min(2, devicePixelRatio);
    this.#satellites = new Dots(
      scene.colours,
      scene.colours.map(() => (scene.satellites > 3000 ? 2 : 2.8)),
      ratio,
    );
    this.#stations = new Dots(
      scene.stations.map((s) => (s.named ? "#ffffff" : "#b9c6d4")),
      named,
      ratio,
    );
    // Our axes have the north pole at z, theirs at y and 0° E at z.
    const r = this.#radius;
    this.#world.matrixAutoUpdate = false;
    this.#world.matrix = new Matrix4().set(0, r, 0, 0, 0, 0, r, 0, r, 0, 0, 0, 0, 0, 0, 1);
    this.#links.object.renderOrder = 1;
    this.#satellites.object.renderOrder = 2;
    this.#faint.object.renderOrder = 3;
    this.#strong.object.renderOrder = 4;
    this.#stations.object.renderOrder = 5;
    this.#world.add(
      this.#links.object,
      this.#satellites.object,
      this.#faint.object,
      this.#strong.object,
      this.#stations.object,
    );
    this.#globe.scene().add(this.#world);
    this.#names();
    this.#gestures();
    const [lat, lng] = scene.towards;
    this.#globe.pointOfView({ lat, lng, altitude: scene.outermost * FILLS - 1 });
  }

  #names(): void {
    const stations = this.scene.stations.filter((s) => s.named);
    this.#globe
      .htmlElementsData(stations)
      .htmlLat("latitude_deg")
      .htmlLng("longitude_deg")
      .htmlAltitude(0.01)
      .htmlTransitionDuration(0)
      .htmlElement((s) => {
        const name = document.createElement("div");
        name.className = "sky-name";
        const text = document.createElement("span");
        text.textContent = (s as { name: string }).name;
        name.append(text);
        this.#labels.push({
          station: this.scene.stations.indexOf(s as SkyScene["stations"][number]),
          name,
          text,
          wide: 0,
        });
        return name;
      })
      .htmlElementVisibilityModifier((el, visible) => el.classList.toggle("behind", !visible));
  }

  /** Puts each name beside its station, above or below, right or left: the first free place. */
  #place(): void {
    const [width, height] = [this.#globe.width(), this.#globe.height()];
    const camera = this.#globe.camera();
    const at = new Vector3();
    const labels = this.#labels.map((label) => {
      label.wide ||= label.text.offsetWidth;
      at.fromArray(this.#nodes, (this.scene.satellites + label.station) * 3)
        .applyMatrix4(this.#world.matrix)
        .project(camera);
      return { ...label, x: ((at.x + 1) / 2) * width, y: ((1 - at.y) / 2) * height };
    });
    // The upper one chooses first, so that names do not cross.
    labels.sort((a, b) => a.y - b.y || a.station - b.station);
    const taken: [number, number, number][] = [];
    for (const { x, y, wide, name } of labels) {
      if (!Number.isFinite(x) || name.classList.contains("behind")) continue;
      const place = (below: boolean, left: boolean): [number, number, number] => [
        left ? x - SIDE_PX - wide : x + SIDE_PX,
        y + (below ? SIDE_PX : -SIDE_PX),
        wide,
      ];
      const free = ([from, mid]: [number, number, number]): boolean =>
        from >= 0 &&
        from + wide + 5 <= width &&
        taken.every(
          ([f, m, w]) => Math.abs(m - mid) >= LINE_PX || f > from + wide + 4 || from > f + w + 4,
        );
      const chosen = PLACES.find(([below, left]) => free(place(below, left))) ?? PLACES[0]!;
      taken.push(place(...chosen));
      name.classList.toggle("below", chosen[0]);
      name.classList.toggle("left", chosen[1]);
    }
  }

  /** The wheel scrolls the page until the reader grabs the globe. */
  #gestures(): void {
    const controls = this.#globe.controls();
    controls.enablePan = false;
    controls.enableZoom = false;
    controls.rotateSpeed = 0.6;
    controls.minDistance = this.#radius * (1 + NEAREST);
    controls.maxDistance = this.#radius * (1 + FARTHEST);
    const { signal } = this.#ends;
    this.host.addEventListener("pointerdown", () => (controls.enableZoom = true), { signal });
    this.host.addEventListener("pointerleave", () => (controls.enableZoom = false), { signal });
    for (const event of ["pointerdown", "pointermove", "wheel"])
      this.host.addEventListener(event, () => this.#wake(), { signal, passive: true });
  }

  /** Draws frames for a while; a globe at rest costs nothing. */
  #wake(): void {
    this.#until = performance.now() + AWAKE_MS;
    this.#frames = AWAKE_FRAMES;
    if (this.#sleep !== null) return;
    this.#globe.resumeAnimation();
    const look = (): void => {
      this.#frames--;
      this.#place();
      const on = this.#frames > 0 || performance.now() < this.#until;
      this.#sleep = on ? requestAnimationFrame(look) : null;
      if (!on) this.#globe.pauseAnimation();
    };
    this.#sleep = requestAnimationFrame(look);
  }

  show({ xyz, links, routes }: SkyFrame): void {
    const start = performance.now();
    this.#nodes = xyz;
    const { satellites } = this.scene;
    this.#satellites.move(xyz);
    this.#stations.move(xyz.subarray(satellites * 3));
    this.#links.draw(xyz, links);
    this.#faint.draw(
      xyz,
      routes.filter((w) => !w.strong),
    );
    const strong = routes.filter((w) => w.strong);
    this.#strong.draw(xyz, strong);
    // The chosen flow's satellites come last, on top.
    const used = [...routes].sort((a, b) => Number(a.strong) - Number(b.strong));
    this.#mark(
      xyz,
      used.flatMap((w) =>
        w.nodes
          .filter((n) => n < satellites)
          .map((n) => ({ n, colour: w.colour, size: w.strong ? 7 : 5 })),
      ),
    );
    performance.measure("bentpipe-globe", { start, end: performance.now() });
    if (performance.getEntriesByName("bentpipe-globe").length > 2000)
      performance.clearMeasures("bentpipe-globe");
    this.#wake();
  }

  /** Draws the satellites on routes larger, in the colour of the route. */
  #mark(xyz: Float32Array, used: { n: number; colour: string; size: number }[]): void {
    const key = used.map(({ colour, size }) => `${colour} ${size}`).join();
    if (this.#used[0]?.object.name !== key) {
      for (const dots of this.#used.splice(0)) {
        this.#world.remove(dots.object);
        dots.dispose();
      }
      if (used.length === 0) return;
      const dots = new Dots(
        used.map(({ colour }) => colour),
        used.map(({ size }) => size),
        Math.min(2, devicePixelRatio),
      );
      dots.object.name = key;
      dots.object.renderOrder = 5;
      this.#world.add(dots.object);
      this.#used.push(dots);
    }
    this.#used[0]?.move(
      Float32Array.from(used.flatMap(({ n }) => [xyz[n * 3]!, xyz[n * 3 + 1]!, xyz[n * 3 + 2]!])),
    );
  }

  size(width: number, height: number): void {
    this.#globe.width(width).height(height);
    this.#wake();
  }

  zoom(factor: number): void {
    const { altitude } = this.#globe.pointOfView();
    this.#globe.pointOfView(
      { altitude: Math.min(FARTHEST, Math.max(NEAREST, (altitude + 1) / factor - 1)) },
      250,
    );
    this.#wake();
  }

  nodeAt(x: number, y: number): number | null {
    const camera = this.#globe.camera();
    const [width, height] = [this.#globe.width(), this.#globe.height()];
    const eye = camera.position;
    const at = new Vector3();
    const towards = new Vector3();
    const r = this.#radius;
    return nearest(this.#nodes.length / 3, x, y, (n) => {
      at.fromArray(this.#nodes, n * 3).applyMatrix4(this.#world.matrix);
      // A node is behind the Earth if the line of sight meets the Earth first.
      const distance = towards.subVectors(at, eye).length();
      const along = -eye.dot(towards.divideScalar(distance));
      if (along > 0 && along < distance - 1e-6 && eye.lengthSq() - along * along < r * r * 0.998)
        return null;
      at.project(camera);
      return [((at.x + 1) / 2) * width, ((1 - at.y) / 2) * height];
    });
  }

  destroy(): void {
    if (this.#sleep !== null) cancelAnimationFrame(this.#sleep);
    this.#ends.abort();
    for (const part of [
      this.#satellites,
      this.#stations,
      ...this.#used,
      this.#links,
      this.#faint,
      this.#strong,
      this.#texture,
    ])
      part.dispose();
    const renderer = this.#globe.renderer();
    this.#globe._destructor();
    renderer.dispose();
    this.host.replaceChildren();
  }
}
