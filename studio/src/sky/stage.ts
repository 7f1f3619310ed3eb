import { button, h, replace } from "../page/dom.ts";
import { FlatMap } from "./map.ts";
import type { SkyFrame, SkyScene, SkyView } from "./view.ts";

export type Kind = "globe" | "map";

/** The reader's last choice, kept while other runs are shown. */
const chosen: { kind: Kind } = { kind: "globe" };

/** True if this browser can draw the globe; tried once. */
let able: boolean | null = null;
function canDrawGlobe(): boolean {
  if (able === null) {
    const context = document.createElement("canvas").getContext("webgl2");
    able = context !== null;
    // Browsers allow few contexts; this one is not needed any more.
    context?.getExtension("WEBGL_lose_context")?.loseContext();
  }
  return able;
}

const NO_GLOBE = "This report was written without the globe, so the map is shown.";
const NO_WEBGL = "This browser has no WebGL, which the globe needs; the map has the same data.";
const LABEL =
  "Globe with the satellites, the stations and the routes of the flows; the table beside it has " +
  "the routes in words";

/** The picture of the sky, as a globe or a map, and the switch between both. */
export class SkyStage {
  readonly el = h("div", { class: "sky-stage" });
  readonly notice = h("p", { class: "sky-notice", hidden: true });
  readonly toggle = h("div", { class: "toggle" });
  #view: SkyView | null = null;

  /** `sceneOf` makes what is to be drawn; `mounted` is called after each change of the picture. */
  constructor(
    readonly sceneOf: (dark: boolean) => SkyScene,
    readonly isDark: () => boolean,
    readonly mounted: () => void,
  ) {}

  get mountedAlready(): boolean {
    return this.#view !== null;
  }

  /** True if the picture is the globe, which is dark in both themes. */
  get isGlobe(): boolean {
    return this.el.classList.contains("dark");
  }

  /** Mounts the picture that the reader chose, or the one given. */
  mount(kind: Kind = chosen.kind): void {
    const { BentpipeGlobe } = globalThis;
    const possible = BentpipeGlobe !== undefined && canDrawGlobe();
    const now: Kind = possible ? kind : "map";
    this.#view?.destroy();
    this.#view = null;
    this.notice.hidden = possible;
    this.notice.textContent = BentpipeGlobe === undefined ? NO_GLOBE : NO_WEBGL;
    this.el.classList.toggle("dark", now === "globe");
    this.el.replaceChildren();
    if (now === "globe") {
      try {
        this.#mountGlobe();
      } catch (error) {
        able = false;
        console.info("The globe cannot be drawn:", error);
        this.mount("map");
        return;
      }
    } else {
      this.#view = new FlatMap(this.el, this.sceneOf(this.isDark()), BentpipeGlobe?.land ?? []);
    }
    const choice = (k: Kind): HTMLElement =>
      button(
        k,
        () => {
          chosen.kind = k;
          this.mount(k);
        },
        { "aria-pressed": String(k === now), disabled: k === "globe" && !possible },
      );
    replace(this.toggle, choice("globe"), choice("map"));
    this.mounted();
  }

  #mountGlobe(): void {
    const host = h("div", { class: "sky-host", role: "img", "aria-label": LABEL });
    this.el.append(host);
    this.#view = globalThis.BentpipeGlobe!.mount(host, this.sceneOf(true));
    const zoom = (text: string, factor: number, label: string): HTMLElement =>
      button(text, () => this.#view?.zoom(factor), { "aria-label": label });
    this.el.append(
      h("div", { class: "sky-zoom" }, zoom("+", 1.4, "Zoom in"), zoom("−", 1 / 1.4, "Zoom out")),
    );
  }

  /** Fits the picture to a size in CSS pixels. */
  size(width: number, height: number): void {
    this.#view?.size(width, height);
  }

  /** Draws a frame. */
  show(frame: SkyFrame): void {
    this.#view?.show(frame);
  }

  /** The node nearest to a point of the picture, if one is near. */
  nodeAt(x: number, y: number): number | null {
    return this.#view?.nodeAt(x, y) ?? null;
  }

  /** Takes the picture off the page. */
  destroy(): void {
    this.#view?.destroy();
    this.#view = null;
  }
}
