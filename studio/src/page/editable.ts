/**
 * What a report and an engine in the same page tell each other, as events of the document. Either
 * works without the other.
 */
import { button, h } from "./dom.ts";

/** Element with the engine. */
const ENGINE = "bentpipe-engine";
/** The reader wants to change the scenario; `detail` is the element for it. */
const EDIT = "bentpipe-edit";
/** Other results are to be shown; `detail` is a `ShownData`. */
const SHOW = "bentpipe-show";
/** A path over time is to be shown; `detail` is a `ShownPaths`. */
const PATHS = "bentpipe-paths";

/** What an address holds that opens the editor with another text. */
export const SCENARIO = /[#&]scenario=([\w-]+)/;

/** Data of a report, as text of the elements that embed it. */
export interface ShownData {
  report: string;
  traces: string | null;
}

/** Finds the text of an element with data. No text has `</`, which would end its element. */
function textOf(elements: string, id: string): string | null {
  const at = elements.indexOf(`id="${id}">`);
  if (at < 0) return null;
  const from = elements.indexOf(">", at) + 1;
  const to = elements.indexOf("</script", from);
  return to < 0 ? null : elements.slice(from, to).trim();
}

/** The data in elements as the command writes them; null if there is no report in them. */
export function shownIn(elements: string): ShownData | null {
  const report = textOf(elements, "bentpipe-report");
  return report === null ? null : { report, traces: textOf(elements, "bentpipe-traces") };
}

/** Elements for a path over time. */
export interface PathPlaces {
  plots: HTMLElement;
  sky: HTMLElement;
}

const isShown = (data: unknown): data is ShownData =>
  typeof data === "object" &&
  data !== null &&
  typeof (data as ShownData).report === "string" &&
  ["string", "object"].includes(typeof (data as ShownData).traces);

/** A path over time, and where it goes. */
interface ShownPaths {
  places: PathPlaces;
  data: ShownData | null;
}

/** The report's half: the place for the editor, and a button if there is an engine. */
export class EditableReport {
  /** Stays where it is while reports around it change. */
  readonly slot = h("div", { class: "edit-slot" });
  #isAsked = SCENARIO.test(location.hash);

  /** `show` shows other results, `showPaths` a path over time. */
  constructor(
    show: (data: ShownData) => void,
    showPaths: (places: PathPlaces, data: ShownData | null) => void,
  ) {
    document.addEventListener(SHOW, (event) => show((event as CustomEvent<ShownData>).detail));
    document.addEventListener(PATHS, (event) => {
      const { places, data } = (event as CustomEvent<ShownPaths>).detail;
      showPaths(places, data);
    });
    // The studio around this page, which shows the runs of a changed scenario in its place.
    addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
      if (source !== parent || parent === window || !isShown(data)) return;
      const { scrollY } = window;
      show(data);
      // The page is as long as it was, or nearly, once plots have their height.
      scrollTo({ top: scrollY, behavior: "instant" });
      requestAnimationFrame(() => scrollTo({ top: scrollY, behavior: "instant" }));
    });
  }

  /** The button that opens the editor, at once if the address holds a text for it; or `false`. */
  control(): HTMLElement | false {
    if (!document.getElementById(ENGINE)) return false;
    const edit = button(
      "Change and run",
      () => {
        const opened = this.slot.hidden || this.slot.childElementCount === 0;
        this.slot.hidden = !opened;
        edit.setAttribute("aria-expanded", String(opened));
        if (this.slot.childElementCount === 0)
          document.dispatchEvent(new CustomEvent(EDIT, { detail: this.slot }));
      },
      { class: "main", "aria-expanded": String(this.isOpen) },
    );
    if (this.#isAsked) setTimeout(() => this.isOpen || edit.click());
    this.#isAsked = false;
    return edit;
  }

  /** Whether the editor is open. */
  get isOpen(): boolean {
    return !this.slot.hidden && this.slot.childElementCount > 0;
  }
}

/** The engine's half: calls back when the reader wants to change the scenario. */
export function onEdit(call: (slot: HTMLElement) => void): void {
  document.addEventListener(EDIT, (event) => call((event as CustomEvent<HTMLElement>).detail));
}

/** Shows other results in the report. */
export function showInReport(detail: ShownData): void {
  document.dispatchEvent(new CustomEvent(SHOW, { detail }));
}

/** Shows a path over time, with the plots of the report. */
export function showPathsIn(places: PathPlaces, data: ShownData | null): void {
  document.dispatchEvent(new CustomEvent<ShownPaths>(PATHS, { detail: { places, data } }));
}
