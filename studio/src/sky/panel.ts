import { linksAround, type Routes } from "../data/routes.ts";
import { count, significant } from "../format/numbers.ts";
import { isDark, variantColour } from "../format/palette.ts";
import { h, onWidth, placeTip, replace, select, svg } from "../page/dom.ts";
import { EARTH_KM, type SkyModel } from "./model.ts";
import { Player } from "./player.ts";
import { RouteTable, type SkyFlow } from "./route-table.ts";
import { SkyStage } from "./stage.ts";
import { middle, outlook, type ShownRoute, type SkyScene, shellColour } from "./view.ts";

/** Up to this many links of a constellation are all shown at first; else those near the routes. */
const ALL_LINKS = 400;
/** Number of links from a route within which others count as near it. */
const REACH = 2;
/** Up to this many stations are all named; else those at the ends of flows. */
const FEW = 8;
/** Degrees from the centre of the first view within which a station is visible. */
const SIGHT = 63;
/** Up to this many shells have a legend; with more, colours repeat. */
const MOST_SHELLS = 8;

type LinksShown = "near" | "all" | "none";

/** The reader's last choice, kept while other runs are shown. */
const chosen: { links: LinksShown | null } = { links: null };

/** What the panel needs to know. */
export interface SkyOptions {
  model: SkyModel;
  routes: Routes;
  flows: SkyFlow[];
  /** Ends of the slider in the run's time. */
  range: [number, number];
  /** The run's time that reads as zero. */
  t0: number;
  /** Called with each time that the reader chooses here. */
  moved: (time: number) => void;
}

const HOWTO =
  "RTTs here are of light: twice the length of the route at this time, without queues. The time " +
  "here and the cursor of the plots move together.";

const dot = (shell: number): SVGSVGElement =>
  svg(
    "svg",
    { class: "swatch", width: 10, height: 10, "aria-hidden": "true" },
    svg("circle", { cx: 5, cy: 5, r: 4, fill: shellColour(shell, isDark()) }),
  );

/** Satellites, stations and routes at the time of the cursor, with a table of the routes. */
export class SkyPanel {
  readonly el: HTMLElement;
  readonly #stage: SkyStage;
  readonly #tip = h("div", { class: "tip", hidden: true });
  readonly #clock = h("span", { class: "sky-clock" });
  readonly #shells = h("div", { class: "sky-shells" });
  readonly #table: RouteTable;
  readonly #player: Player;
  /** Stations at the ends of the plots' flows, and of all flows. */
  readonly #ends: number[];
  readonly #allEnds: number[];
  /** Stations whose names are shown. */
  readonly #named: Set<number>;
  #time: number;
  #width = 0;
  #linksKey = "";
  #links: Uint32Array = new Uint32Array();
  #frame = 0;
  #stale = false;
  #inSight = true;
  readonly #watch: IntersectionObserver;
  readonly #print = new AbortController();

  constructor(readonly options: SkyOptions) {
    const { model, routes, flows, range, moved } = options;
    this.#time = range[0];
    this.#player = new Player(range[0], range[1], (time) => {
      this.follow(time);
      moved(time);
    });
    this.#table = new RouteTable(model, routes, flows);
    this.#stage = new SkyStage(
      (dark) => this.#scene(dark),
      isDark,
      () => this.#fit(),
    );
    const stations = model.sky.stations.map((_, i) => model.satellites + i);
    this.#ends = flows.filter((f) => f.strong).flatMap((f) => this.#endsOf(f.name));
    this.#allEnds = flows.flatMap((f) => this.#endsOf(f.name));
    this.#named = new Set(stations.length <= FEW ? stations : this.#allEnds);
    this.el = this.#layout(this.#drawShells());
    const { el } = this.#stage;
    el.addEventListener("pointermove", (e) => this.#point(e));
    el.addEventListener("pointerleave", () => {
      this.#tip.hidden = true;
    });
    const { signal } = this.#print;
    addEventListener("beforeprint", () => this.#stage.mount("map"), { signal });
    addEventListener("afterprint", () => this.#stage.mount(), { signal });
    this.#watch = new IntersectionObserver(
      (entries) => {
        this.#inSight = entries.at(-1)!.isIntersecting;
        if (this.#inSight && this.#stale) this.#schedule();
      },
      { rootMargin: "100px" },
    );
    this.#watch.observe(el);
    onWidth(el, (width) => {
      this.#width = width;
      if (this.#stage.mountedAlready) this.#fit();
      else this.#stage.mount();
    });
  }

  #layout(shells: number): HTMLElement {
    const { model, routes } = this.options;
    const spacer = h("span", { class: "spacer" });
    const inShells = shells > 1 ? ` in ${shells} shells` : "";
    return h(
      "figure",
      { class: "card sky" },
      h("div", { class: "sky-head" }, h("h3", {}, "Sky"), this.#clock, spacer, this.#stage.toggle),
      this.#stage.notice,
      h("div", { class: "sky-frame" }, this.#stage.el, this.#tip),
      h(
        "div",
        { class: "sky-side" },
        this.#player.el,
        h(
          "div",
          { class: "sky-key" },
          h("span", {}, `${count(model.satellites)} satellites${inShells}`),
          model.sky.isls.length > 0 && this.#linksSelect(),
        ),
        this.#shells,
        routes.flows.length > 0 && this.#table.el,
        h("p", { class: "howto" }, HOWTO),
      ),
    );
  }

  #linksSelect(): HTMLElement {
    const kinds = [
      { value: "near", text: "near the routes" },
      { value: "all", text: `all ${count(this.options.model.sky.isls.length)}` },
      { value: "none", text: "none" },
    ];
    return select("Links shown", kinds, this.#linksShown, (v) => {
      chosen.links = v as LinksShown;
      this.#linksKey = "";
      this.#schedule();
    });
  }

  get #linksShown(): LinksShown {
    const { isls } = this.options.model.sky;
    return chosen.links ?? (isls.length <= ALL_LINKS ? "all" : "near");
  }

  /** Draws the legend of shells, if there are several, and returns their number. */
  #drawShells(): number {
    const shells = new Map<number, number>();
    const { shell } = this.options.model.sky.satellites;
    for (const s of shell) shells.set(s, (shells.get(s) ?? 0) + 1);
    this.#shells.hidden = shells.size < 2 || shells.size > MOST_SHELLS;
    const sorted = [...shells].sort(([a], [b]) => a - b);
    replace(
      this.#shells,
      sorted.map(([s, n]) => h("span", {}, dot(s), `shell ${s + 1}: ${count(n)}`)),
    );
    return shells.size;
  }

  /** The stations at the ends of a flow's first route. */
  #endsOf(flow: string): number[] {
    const { routes, range } = this.options;
    let route = routes.at(flow, range[0]);
    while (route && route.nodes.length === 0 && route.until !== null)
      route = routes.at(flow, route.until);
    return route ? [route.nodes[0], route.nodes.at(-1)].filter((n) => n !== undefined) : [];
  }

  #scene(dark: boolean): SkyScene {
    const { model } = this.options;
    const { satellites } = model;
    const highest = Math.max(0, ...model.km.subarray(0, satellites));
    return {
      satellites,
      colours: model.sky.satellites.shell.map((s) => shellColour(s, dark)),
      stations: model.sky.stations.map((s, i) => ({
        ...s,
        named: this.#named.has(satellites + i),
      })),
      outermost: 1 + highest / EARTH_KM,
      towards:
        outlook(model.xyz, this.#ends, this.#allEnds, SIGHT) ?? middle(model, [...this.#named]),
    };
  }

  #fit(): void {
    // A globe is round; on a wide page it need not be as high as the page is wide.
    const high = Math.max(300, Math.min(0.46 * innerHeight, 620));
    this.#stage.size(this.#width, Math.round(Math.min(this.#width, high)));
    this.#draw();
  }

  /** Shows the time of the run at the plots' cursor. */
  follow(time: number): void {
    this.#time = time;
    this.#player.show(time);
    this.#schedule();
  }

  #schedule(): void {
    this.#stale = true;
    if (this.#frame || !this.#inSight) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    if (!this.#stage.mountedAlready) return;
    this.#stale = false;
    const start = performance.now();
    const { model, routes, flows } = this.options;
    model.at(this.#time);
    const dark = this.#stage.isGlobe || isDark();
    const shown: ShownRoute[] = flows.flatMap(({ name, index, strong }) => {
      const nodes = routes.at(name, this.#time)?.nodes ?? [];
      return nodes.length > 1 ? [{ nodes, strong, colour: variantColour(index, dark) }] : [];
    });
    this.#chooseLinks(shown);
    this.#stage.show({ xyz: model.xyz, links: this.#links, routes: shown });
    this.#drawClock();
    this.#table.show(this.#time);
    performance.measure("bentpipe-sky", { start, end: performance.now() });
    if (performance.getEntriesByName("bentpipe-sky").length > 2000)
      performance.clearMeasures("bentpipe-sky");
  }

  /** Chooses the links drawn as thin lines; anew only when a route has changed. */
  #chooseLinks(shown: ShownRoute[]): void {
    const { isls } = this.options.model.sky;
    const kind = this.#linksShown;
    const nodes = shown.filter((r) => r.strong).flatMap((r) => r.nodes);
    const key = kind === "near" ? `near ${nodes.join()}` : kind;
    if (key === this.#linksKey) return;
    this.#linksKey = key;
    if (kind === "near") this.#links = linksAround(isls, nodes, REACH);
    else this.#links = Uint32Array.from(kind === "all" ? isls.flat() : []);
  }

  #drawClock(): void {
    const { model, t0 } = this.options;
    const begins = Date.parse(model.sky.begins);
    const date = new Date(begins + this.#time * 1000);
    const calendar = Number.isNaN(begins)
      ? model.sky.begins
      : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    const time = `${significant(this.#time - t0, 4)}\u00a0s`;
    this.#clock.textContent = [time, calendar].filter(Boolean).join(" · ");
  }

  /** Names the node under the pointer. */
  #point(event: PointerEvent): void {
    const box = this.#stage.el.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const node = event.buttons ? null : this.#stage.nodeAt(x, y);
    this.#tip.hidden = node === null;
    if (node === null) return;
    const { model } = this.options;
    const [latitude, longitude, altitude] = model.placeOf(node);
    const degrees = (value: number, positive: string, negative: string): string =>
      `${Math.abs(value).toFixed(1)}° ${value < 0 ? negative : positive}`;
    const place = `${degrees(latitude, "N", "S")}, ${degrees(longitude, "E", "W")}`;
    const height = node < model.satellites ? ` · ${count(altitude)} km` : "";
    this.#tip.textContent = `${model.nameOf(node)} · ${place}${height}`;
    placeTip(this.#tip, [x, y], box.width, "-130%");
  }

  /** Redraws with the colours of the theme; the globe has its own. */
  recolour(): void {
    this.#drawShells();
    if (this.#stage.mountedAlready && !this.#stage.isGlobe) this.#stage.mount("map");
    else this.#draw();
  }

  /** Takes the panel off the page. */
  destroy(): void {
    this.#table.destroy();
    this.#player.pause();
    cancelAnimationFrame(this.#frame);
    this.#watch.disconnect();
    this.#print.abort();
    this.#stage.destroy();
    this.el.remove();
  }
}
