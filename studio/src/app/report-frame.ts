/** The report of a run in a frame of its own, which shows the next run in its place. */
import { button, h, replace } from "../page/dom.ts";
import type { ShownData } from "../page/editable.ts";

/** Time without another run after which the report follows: the picture is there before it. */
const CALM_MS = 350;

/** What a frame needs of its page. */
export interface FrameEvents {
  /** The address of a run's report. */
  url(id: number): string;
  data(id: number): Promise<ShownData | null>;
  export(id: number): void;
  guard(work: () => Promise<void>): Promise<void>;
}

/** The frame, with what can be done with its report. */
export class ReportFrame {
  readonly element = h("section", { class: "report", "aria-label": "Report of a run" });
  readonly #events: FrameEvents;
  readonly #head = h("p", { class: "hint" });
  #frame: HTMLIFrameElement | null = null;
  #isLoaded = false;
  #wanted: number | null = null;
  #timer = 0;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** Shows a run's report once the reader has stopped moving sliders; null: none. */
  show(id: number | null): void {
    clearTimeout(this.#timer);
    this.#wanted = id;
    if (id === null) {
      this.#frame = null;
      replace(this.element);
    } else this.#timer = setTimeout(() => void this.#load(id), CALM_MS);
  }

  async #load(id: number): Promise<void> {
    replace(
      this.#head,
      `Report of run ${id}. `,
      h("a", { href: this.#events.url(id), target: "_blank", rel: "noopener" }, "Open it alone"),
      " ",
      button("Export", () => this.#events.export(id), {
        title: "One file that opens offline, in which the scenario can be changed and run",
      }),
    );
    if (!this.#frame) this.#open(id);
    else if (this.#isLoaded) await this.#exchange(id);
  }

  #open(id: number): void {
    this.#isLoaded = false;
    // Of an origin of its own: nothing in a report can ask the studio.
    const frame = h("iframe", {
      src: this.#events.url(id),
      title: "Report",
      sandbox: "allow-scripts allow-downloads",
      load: () => {
        if (frame !== this.#frame) return;
        this.#isLoaded = true;
        // Another run may have come while it was read.
        if (this.#wanted !== null && this.#wanted !== id) void this.#load(this.#wanted);
      },
    });
    this.#frame = frame;
    replace(this.element, this.#head, frame);
  }

  /** Gives the page in the frame other data, so that it keeps its place, metric and zoom. */
  async #exchange(id: number): Promise<void> {
    await this.#events.guard(async () => {
      const data = await this.#events.data(id);
      // It has no origin that could be named.
      if (data && this.#wanted === id) this.#frame?.contentWindow?.postMessage(data, "*");
    });
  }
}
