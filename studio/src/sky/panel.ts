import { linksAround, type Ways } from "../data/routes.ts";
import { count, ms, NONE, significant } from "../format/numbers.ts";
import { isDark, variantColour } from "../format/palette.ts";
import { button, type Child, h, onWidth, replace, select, svg } from "../page/dom.ts";
import { FlatMap } from "./map.ts";
import { EARTH_KM, LIGHT_KM_PER_MS, type SkyModel } from "./model.ts";
import { Player } from "./player.ts";
import {
  middle,
  outlook,
  type ShownWay,
  type SkyScene,
  type SkyView,
  shellColour,
} from "./view.ts";

/** Links of the whole constellation are shown from the start up to this number; beyond, those near the ways. */
const ALL_LINKS = 400;
/** Links from a way up to which others count as near it. */
const REACH = 2;
/** Shortest time between two writings of the table, in milliseconds: nobody reads faster. */
const WRITE_MS = 100;
/** Stations up to this number are named even where no flow uses them. */
const FEW = 8;

/** Degrees from the middle of the first view within which a station is in sight; the Earth ends at 68 there, less at low orbits. */
const SIGHT = 63;

/** Shells up to this number are explained; more have colours that repeat. */
const MOST_SHELLS = 8;

type Kind = "globe" | "map";
type Shown = "near" | "all" | "none";

/** What the reader chose last, kept while other runs are looked at. */
const chosen: { kind: Kind; links: Shown | null } = { kind: "globe", links: null };

/** Whether this browser can draw the globe; asked once. */
let able: boolean | null = null;
function canDrawGlobe(): boolean {
  if (able === null) {
    const context = document.createElement("canvas").getContext("webgl2");
    able = context !== null;
    // Browsers keep few of them; this one has answered.
    context?.getExtension("WEBGL_lose_context")?.loseContext();
  }
  return able;
}

/** A flow with the index that gives its colour, and whether the plots are of it. */
export interface SkyFlow {
  name: string;
  index: number;
  strong: boolean;
}

/** What the panel needs to know. */
export interface SkyOptions {
  model: SkyModel;
  ways: Ways;
  flows: SkyFlow[];
  /** Ends of the slider in the run's time, and the run's time that reads as zero. */
  range: [number, number];
  t0: number;
  /** Told of each time that is chosen here. */
  moved: (time: number) => void;
}

const swatch = (colour: string): SVGSVGElement =>
  svg(
    "svg",
    { class: "swatch", width: 16, height: 10, "aria-hidden": "true" },
    svg("path", { d: "M1,5h14", stroke: colour, "stroke-width": 3, "stroke-linecap": "round" }),
  );

const spot = (shell: number): SVGSVGElement =>
  svg(
    "svg",
    { class: "swatch", width: 10, height: 10, "aria-hidden": "true" },
    svg("circle", { cx: 5, cy: 5, r: 4, fill: shellColour(shell, isDark()) }),
  );

/** Satellites, stations and the flows' ways at the time of the cursor, as a globe or a map, with a table of the ways. */
export class SkyPanel {
  readonly el: HTMLElement;
  readonly #stage = h("div", { class: "sky-stage" });
  readonly #tip = h("div", { class: "tip", hidden: true });
  readonly #clock = h("span", { class: "sky-clock" });
  readonly #table = h("div", { class: "sky-ways" });
  readonly #shells = h("div", { class: "sky-shells" });
  readonly #switch = h("div", { class: "toggle" });
  readonly #notice = h("p", { class: "sky-notice", hidden: true });
  readonly #player: Player;
  /** Stations that the flows of the plots begin and end at, and those whose names are written. */
  readonly #ends: number[];
  /** Those of all flows. */
  readonly #allEnds: number[];
  readonly #named: Set<number>;
  #view: SkyView | null = null;
  #time: number;
  #width = 0;
  #linksKey = "";
  #links: Uint32Array = new Uint32Array();
  #frame = 0;
  #written = -Infinity;
  #writing: ReturnType<typeof setTimeout> | undefined;
  #stale = false;
  #inSight = true;
  readonly #watch: IntersectionObserver;
  readonly #print = new AbortController();

  constructor(readonly options: SkyOptions) {
    const { model, ways, flows, range, moved } = options;
    this.#time = range[0];
    this.#player = new Player(range[0], range[1], (time) => {
      this.follow(time);
      moved(time);
    });
    const stations = model.sky.stations.map((_, i) => model.satellites + i);
    this.#ends = flows.filter((f) => f.strong).flatMap((f) => this.#endsOf(f.name));
    this.#allEnds = flows.flatMap((f) => this.#endsOf(f.name));
    this.#named = new Set(stations.length <= FEW ? stations : this.#allEnds);
    const shells = this.#explain();
    this.el = h(
      "figure",
      { class: "card sky" },
      h(
        "div",
        { class: "sky-head" },
        h("h3", {}, "Sky"),
        this.#clock,
        h("span", { class: "spacer" }),
        this.#switch,
      ),
      this.#notice,
      h("div", { class: "sky-frame" }, this.#stage, this.#tip),
      h(
        "div",
        { class: "sky-side" },
        this.#player.el,
        h(
          "div",
          { class: "sky-key" },
          h(
            "span",
            {},
            `${count(model.satellites)} satellites${shells > 1 ? ` in ${shells} shells` : ""}`,
          ),
          model.sky.isls.length > 0 &&
            select(
              "Links shown",
              [
                { value: "near", text: "near the ways" },
                { value: "all", text: `all ${count(model.sky.isls.length)}` },
                { value: "none", text: "none" },
              ],
              this.#shown,
              (v) => {
                chosen.links = v as Shown;
                this.#linksKey = "";
                this.#soon();
              },
            ),
        ),
        this.#shells,
        ways.flows.length > 0 && this.#table,
        h(
          "p",
          { class: "howto" },
          "Round trips here are of light: twice the length of the way at this moment, without queues. The cursor of the plots and the time here are one.",
        ),
      ),
    );
    this.#stage.addEventListener("pointermove", (e) => this.#point(e));
    this.#stage.addEventListener("pointerleave", () => (this.#tip.hidden = true));
    addEventListener("beforeprint", () => this.#mount("map"), { signal: this.#print.signal });
    addEventListener("afterprint", () => this.#mount(chosen.kind), { signal: this.#print.signal });
    this.#watch = new IntersectionObserver(
      (entries) => {
        this.#inSight = entries.at(-1)!.isIntersecting;
        if (this.#inSight && this.#stale) this.#soon();
      },
      { rootMargin: "100px" },
    );
    this.#watch.observe(this.#stage);
    onWidth(this.#stage, (width) => {
      this.#width = width;
      if (this.#view) this.#fit();
      else this.#mount(chosen.kind);
    });
  }

  get #shown(): Shown {
    const { isls } = this.options.model.sky;
    return chosen.links ?? (isls.length <= ALL_LINKS ? "all" : "near");
  }

  /** Says which colour each shell has, where there are several, and returns how many there are. */
  #explain(): number {
    const shells = new Map<number, number>();
    for (const s of this.options.model.sky.satellites.shell)
      shells.set(s, (shells.get(s) ?? 0) + 1);
    this.#shells.hidden = shells.size < 2 || shells.size > MOST_SHELLS;
    replace(
      this.#shells,
      [...shells]
        .sort(([a], [b]) => a - b)
        .map(([s, n]) => h("span", {}, spot(s), `shell ${s + 1}: ${count(n)}`)),
    );
    return shells.size;
  }

  /** The stations at the ends of a flow's first way that there is. */
  #endsOf(flow: string): number[] {
    const { ways, range } = this.options;
    let way = ways.at(flow, range[0]);
    while (way && way.nodes.length === 0 && way.until !== null) way = ways.at(flow, way.until);
    return way ? [way.nodes[0], way.nodes.at(-1)].filter((n) => n !== undefined) : [];
  }

  #scene(kind: Kind): SkyScene {
    const { model } = this.options;
    const dark = kind === "globe" || isDark();
    return {
      satellites: model.satellites,
      colours: model.sky.satellites.shell.map((s) => shellColour(s, dark)),
      stations: model.sky.stations.map((s, i) => ({
        ...s,
        named: this.#named.has(model.satellites + i),
      })),
      outermost: 1 + Math.max(0, ...model.km.subarray(0, model.satellites)) / EARTH_KM,
      towards:
        outlook(model.xyz, this.#ends, this.#allEnds, SIGHT) ?? middle(model, [...this.#named]),
    };
  }

  #mount(kind: Kind): void {
    const { BentpipeGlobe } = globalThis;
    const possible = BentpipeGlobe !== undefined && canDrawGlobe();
    const now: Kind = possible ? kind : "map";
    this.#view?.destroy();
    this.#view = null;
    this.#notice.hidden = possible;
    this.#notice.textContent =
      BentpipeGlobe === undefined
        ? "This report was written without the globe: here is the map."
        : "This browser has no WebGL, which the globe needs: here is the map, with the same data.";
    this.#stage.classList.toggle("dark", now === "globe");
    this.#stage.replaceChildren();
    if (now === "globe") {
      try {
        const host = h("div", {
          class: "sky-host",
          role: "img",
          "aria-label":
            "Globe with the satellites, the stations and the ways of the flows; the table beside it has the ways in words",
        });
        this.#stage.append(host);
        this.#view = BentpipeGlobe!.mount(host, this.#scene("globe"));
        this.#stage.append(
          h(
            "div",
            { class: "sky-zoom" },
            button("+", () => this.#view?.zoom(1.4), { "aria-label": "Nearer" }),
            button("−", () => this.#view?.zoom(1 / 1.4), { "aria-label": "Farther" }),
          ),
        );
      } catch (error) {
        able = false;
        console.info(
          `The globe cannot be drawn: ${error instanceof Error ? error.message : String(error)}`,
        );
        this.#mount("map");
        return;
      }
    } else this.#view = new FlatMap(this.#stage, this.#scene("map"), BentpipeGlobe?.land ?? []);
    replace(
      this.#switch,
      (["globe", "map"] as const).map((k) =>
        button(
          k,
          () => {
            chosen.kind = k;
            this.#mount(k);
          },
          { "aria-pressed": String(k === now), disabled: k === "globe" && !possible },
        ),
      ),
    );
    this.#fit();
  }

  #fit(): void {
    // A globe is round; beside a wide page it need not be as high as it is wide.
    const height = Math.round(
      Math.min(this.#width, Math.max(300, Math.min(0.46 * innerHeight, 620))),
    );
    this.#view?.size(this.#width, height);
    this.#draw();
  }

  /** Shows the time of the run that the plots' cursor is at. */
  follow(time: number): void {
    this.#time = time;
    this.#player.show(time);
    this.#soon();
  }

  #soon(): void {
    this.#stale = true;
    if (this.#frame || !this.#inSight) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    if (!this.#view) return;
    this.#stale = false;
    const start = performance.now();
    const { model, ways, flows } = this.options;
    model.at(this.#time);
    const globe = this.#stage.classList.contains("dark");
    const shown: ShownWay[] = flows.flatMap(({ name, index, strong }) => {
      const nodes = ways.at(name, this.#time)?.nodes ?? [];
      return nodes.length > 1
        ? [{ nodes, strong, colour: variantColour(index, globe || isDark()) }]
        : [];
    });
    this.#choose(shown);
    this.#view.show({ xyz: model.xyz, links: this.#links, ways: shown });
    this.#tell();
    performance.measure("bentpipe-sky", { start, end: performance.now() });
    if (performance.getEntriesByName("bentpipe-sky").length > 2000)
      performance.clearMeasures("bentpipe-sky");
  }

  /** Chooses the links that are drawn thinly; anew only when a way has changed. */
  #choose(ways: ShownWay[]): void {
    const { isls } = this.options.model.sky;
    const kind = this.#shown;
    const nodes = ways.filter((w) => w.strong).flatMap((w) => w.nodes);
    const key = kind === "near" ? `near ${nodes.join()}` : kind;
    if (key === this.#linksKey) return;
    this.#linksKey = key;
    this.#links =
      kind === "all"
        ? Uint32Array.from(isls.flat())
        : kind === "none"
          ? new Uint32Array()
          : linksAround(isls, nodes, REACH);
  }

  /** Clock at once, table now or soon. */
  #tell(): void {
    const { model, t0 } = this.options;
    const date = Date.parse(model.sky.begins);
    const calendar = Number.isNaN(date)
      ? model.sky.begins
      : `${new Date(date + this.#time * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    this.#clock.textContent = [`${significant(this.#time - t0, 4)}\u00a0s`, calendar]
      .filter(Boolean)
      .join(" · ");
    clearTimeout(this.#writing);
    const wait = this.#written + WRITE_MS - performance.now();
    if (wait <= 0) this.#write();
    else this.#writing = setTimeout(() => this.#write(), wait);
  }

  #write(): void {
    this.#written = performance.now();
    const { model, ways, flows } = this.options;
    const rows = flows.filter((f) => ways.flows.includes(f.name));
    // Which flow the plots are of needs no word where they are of all.
    const one = rows.some((f) => !f.strong);
    const cell = (text: string): HTMLElement => h("td", { class: "num" }, text);
    replace(
      this.#table,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            [
              ["Flow", "From one end to the other"],
              ["Hops", "Links on the way"],
              ["Light RTT", "Twice the length of the way at the speed of light"],
              ["Next change", "Until the flow's way is another one"],
            ].map(([t, title], i) =>
              h("th", { scope: "col", class: i > 0 ? "num" : null, title: title! }, t),
            ),
          ),
        ),
        rows.map(({ name, index, strong }) => {
          const way = ways.at(name, this.#time);
          const nodes = way?.nodes ?? [];
          const until = way?.until ?? null;
          const none = nodes.length < 2;
          return h(
            "tbody",
            { class: one ? (strong ? "chosen" : "other") : null },
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row", title: one && strong ? "The flow of the plots" : null },
                swatch(variantColour(index)),
                " ",
                name,
              ),
              cell(none ? NONE : count(nodes.length - 1)),
              cell(none ? NONE : ms((2 * model.lengthKm(nodes)) / LIGHT_KM_PER_MS)),
              cell(until === null ? "none" : `in ${significant(until - this.#time)}\u00a0s`),
            ),
            h(
              "tr",
              { class: "names" },
              h(
                "td",
                { colspan: 4 },
                none ? "There is no way at this moment." : this.#names(nodes),
              ),
            ),
          );
        }),
      ),
    );
  }

  #names(nodes: number[]): Child[] {
    const { model } = this.options;
    return nodes.flatMap((n, i): Child[] => [
      i > 0 && " → ",
      n >= model.satellites ? h("b", {}, model.nameOf(n)) : model.briefNameOf(n),
    ]);
  }

  #point(event: PointerEvent): void {
    const box = this.#stage.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const node = event.buttons ? null : (this.#view?.nodeAt(x, y) ?? null);
    this.#tip.hidden = node === null;
    if (node === null) return;
    const { model } = this.options;
    const [latitude, longitude, altitude] = model.placeOf(node);
    const place = `${Math.abs(latitude).toFixed(1)}° ${latitude < 0 ? "S" : "N"}, ${Math.abs(longitude).toFixed(1)}° ${longitude < 0 ? "W" : "E"}`;
    this.#tip.textContent = `${model.nameOf(node)} · ${place}${node < model.satellites ? ` · ${count(altitude)} km` : ""}`;
    const right = x > box.width / 2;
    this.#tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(${right ? "calc(-100% - 10px)" : "12px"}, -130%)`;
  }

  /** Draws with the colours of the theme; the globe has its own. */
  recolour(): void {
    this.#explain();
    if (this.#view && !this.#stage.classList.contains("dark")) this.#mount("map");
    else this.#draw();
  }

  /** Takes the panel off the page. */
  destroy(): void {
    clearTimeout(this.#writing);
    this.#player.pause();
    cancelAnimationFrame(this.#frame);
    this.#watch.disconnect();
    this.#print.abort();
    this.#view?.destroy();
    this.#view = null;
    this.el.remove();
  }
}
