import type { Routes } from "../data/routes.ts";
import { count, ms, NONE, significant } from "../format/numbers.ts";
import { variantColour } from "../format/palette.ts";
import { type Child, h, replace, svg } from "../page/dom.ts";
import { LIGHT_KM_PER_MS, type SkyModel } from "./model.ts";

/** Shortest time between two updates of the table, in milliseconds: nobody reads faster. */
const UPDATE_MS = 100;

/** A flow, the index that gives its colour, and whether the plots are of it. */
export interface SkyFlow {
  name: string;
  index: number;
  strong: boolean;
}

const HEADS: [head: string, title: string][] = [
  ["Flow", "From one end to the other"],
  ["Hops", "Links on the route"],
  ["Light RTT", "Twice the length of the route at the speed of light"],
  ["Next change", "Time until the route changes"],
];

const swatch = (colour: string): SVGSVGElement =>
  svg(
    "svg",
    { class: "swatch", width: 16, height: 10, "aria-hidden": "true" },
    svg("path", { d: "M1,5h14", stroke: colour, "stroke-width": 3, "stroke-linecap": "round" }),
  );

/** A table of the flows' routes at a time. */
export class RouteTable {
  readonly el = h("div", { class: "sky-routes" });
  #written = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly model: SkyModel,
    readonly routes: Routes,
    readonly flows: SkyFlow[],
  ) {}

  /** Shows a time, at once or soon. The model must be at that time. */
  show(time: number): void {
    clearTimeout(this.#timer);
    const wait = this.#written + UPDATE_MS - performance.now();
    if (wait <= 0) this.#write(time);
    else this.#timer = setTimeout(() => this.#write(time), wait);
  }

  /** Stops updates that have not happened yet. */
  destroy(): void {
    clearTimeout(this.#timer);
  }

  #write(time: number): void {
    this.#written = performance.now();
    const rows = this.flows.filter((f) => this.routes.flows.includes(f.name));
    // The chosen flow is set apart unless the plots are of all flows.
    const one = rows.some((f) => !f.strong);
    const heads = HEADS.map(([head, title], i) =>
      h("th", { scope: "col", class: i > 0 ? "num" : null, title }, head),
    );
    const bodies = rows.map((f) => this.#rows(f, time, one));
    replace(this.el, h("table", {}, h("thead", {}, h("tr", {}, heads)), bodies));
  }

  #rows({ name, index, strong }: SkyFlow, time: number, one: boolean): HTMLElement {
    const { model } = this;
    const route = this.routes.at(name, time);
    const nodes = route?.nodes ?? [];
    const until = route?.until ?? null;
    const none = nodes.length < 2;
    const light = (2 * model.lengthKm(nodes)) / LIGHT_KM_PER_MS;
    const cell = (text: string): HTMLElement => h("td", { class: "num" }, text);
    const title = one && strong ? "The flow of the plots" : null;
    return h(
      "tbody",
      { class: one ? (strong ? "chosen" : "other") : null },
      h(
        "tr",
        {},
        h("th", { scope: "row", title }, swatch(variantColour(index)), " ", name),
        cell(none ? NONE : count(nodes.length - 1)),
        cell(none ? NONE : ms(light)),
        cell(until === null ? "none" : `in ${significant(until - time)}\u00a0s`),
      ),
      h(
        "tr",
        { class: "names" },
        h("td", { colspan: 4 }, none ? "There is no route at this time." : this.#names(nodes)),
      ),
    );
  }

  #names(nodes: number[]): Child[] {
    const { model } = this;
    return nodes.flatMap((n, i): Child[] => [
      i > 0 && " → ",
      n >= model.satellites ? h("b", {}, model.nameOf(n)) : model.briefNameOf(n),
    ]);
  }
}
