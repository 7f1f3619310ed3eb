/** Downloads side by side over one path, as they happened in the runs of a report, in real time. */

import { drawPath } from "../charts/transfer/path-picture.ts";
import { type Completed, transfersOf } from "../charts/transfer/transfers.ts";
import { embedded, readReport } from "../data/read.ts";
import { SeriesSource } from "../data/series-cache.ts";
import { variantColour } from "../format/palette.ts";
import { button, h, onWidth, replace } from "../page/dom.ts";

/** Seconds that the end is shown before the race begins again. */
const REST = 3.5;
/** Time without a picture, in seconds, after which the page was asleep. */
const ASLEEP = 2;
/** What is shown at rest if the reader wants no motion: data of all transfers in flight. */
const STILL = 2.1;

/** What a variant is called, by its name. */
export type Titles = Record<string, string>;

class Lane {
  readonly #bar = h("span", { class: "bar" });
  readonly #time = h("span", { class: "time" });
  readonly element: HTMLElement;

  constructor(
    readonly transfer: Completed,
    title: string,
  ) {
    this.element = h(
      "li",
      {},
      h("span", { class: "swatch", "aria-hidden": "true" }),
      h("span", { class: "name" }, title),
      h("span", { class: "track", "aria-hidden": "true" }, this.#bar),
      this.#time,
    );
    this.recolour();
    this.show(transfer.completion);
  }

  recolour(): void {
    this.element.style.setProperty("--lane", variantColour(this.transfer.index));
  }

  show(now: number): void {
    const { completion } = this.transfer;
    this.#bar.style.width = `${(100 * this.transfer.delivered(now)).toFixed(1)}%`;
    replace(this.#time, `${Math.min(now, completion).toFixed(2)} s`);
    this.element.classList.toggle("done", now >= completion);
  }
}

/** The race: a picture, a line for each transfer, and the means to stop it. */
export class Race {
  readonly #canvas = h("canvas", { role: "img" });
  readonly #list = h("ol", { class: "lanes" });
  readonly #play: HTMLButtonElement;
  #lanes: Lane[] = [];
  #now = 0;
  #last = 0;
  #going = false;
  #seen = true;

  constructor(readonly place: HTMLElement) {
    this.#play = button("Pause", () => this.#go(!this.#going), { class: "play" });
    replace(place, this.#canvas, h("div", { class: "under" }, this.#list, this.#play));
    onWidth(this.#canvas, () => this.#draw());
    new IntersectionObserver(([entry]) => {
      this.#seen = entry?.isIntersecting ?? true;
      this.#last = 0;
    }).observe(this.#canvas);
    requestAnimationFrame((time) => this.#frame(time));
  }

  /** Shows transfers from their beginning. */
  show(transfers: Completed[], titles: Titles): void {
    this.#lanes = transfers.map((one) => new Lane(one, titles[one.variant] ?? one.variant));
    replace(
      this.#list,
      this.#lanes.map((lane) => lane.element),
    );
    const times = transfers.map(
      (one) => `${titles[one.variant] ?? one.variant} ${one.completion.toFixed(2)} s`,
    );
    this.#canvas.setAttribute(
      "aria-label",
      `Data in flight between a server, a satellite and a client. ${times.join(", ")}.`,
    );
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#now = still ? STILL : 0;
    this.#go(!still);
    this.#draw();
  }

  recolour(): void {
    for (const lane of this.#lanes) lane.recolour();
    this.#draw();
  }

  #go(going: boolean): void {
    this.#going = going;
    this.#last = 0;
    replace(this.#play, going ? "Pause" : "Play");
  }

  #end(): number {
    return Math.max(0, ...this.#lanes.map((lane) => lane.transfer.completion));
  }

  #frame(time: number): void {
    requestAnimationFrame((next) => this.#frame(next));
    if (!this.#going || !this.#seen || document.hidden || this.#lanes.length === 0) return;
    // In real time however slow the machine is; a page that was asleep goes on where it was.
    const passed = (time - this.#last) / 1000;
    if (this.#last > 0 && passed < ASLEEP) this.#now += passed;
    this.#last = time;
    if (this.#now > this.#end() + REST) this.#now = 0;
    this.#draw();
  }

  #draw(): void {
    drawPath(
      this.#canvas,
      this.#lanes.map((lane) => lane.transfer),
      this.#now,
    );
    for (const lane of this.#lanes) lane.show(this.#now);
  }
}

/** Starts the race of the page's own report at `place`, whose `data-titles` names the variants. */
export async function startRace(place: HTMLElement): Promise<Race | null> {
  const [text, traces] = [embedded("bentpipe-report"), embedded("bentpipe-traces")];
  if (text === null || traces === null) return null;
  const report = readReport(JSON.parse(text));
  const cache = await new SeriesSource(traces).get();
  const transfers = transfersOf(report, cache);
  if (transfers.length === 0) return null;
  const titles = JSON.parse(place.dataset.titles ?? "{}") as Titles;
  const race = new Race(place);
  race.show(transfers, titles);
  return race;
}
