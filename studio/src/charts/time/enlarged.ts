import { h } from "../../page/dom.ts";

/** Space around an enlarged plot, and its least height. CSS pixels. */
const EDGE = 8;
const LEAST = 160;

/** Shows one figure at a time over the whole window. Escape closes it. */
export class Enlarged {
  readonly #dialog: HTMLDialogElement;
  readonly #changed: () => void;
  /** Stands where the figure was. */
  #place: HTMLElement | null = null;
  #figure: HTMLElement | null = null;

  /** `changed` is called when sizes change, `key` for keys other than Escape. */
  constructor(changed: () => void, key: (event: KeyboardEvent) => void) {
    this.#changed = changed;
    this.#dialog = h("dialog", {
      class: "enlarged",
      close: () => this.#restore(),
      keydown: (event: KeyboardEvent) => event.key !== "Escape" && key(event),
    });
    addEventListener("resize", () => this.#figure && changed());
  }

  /** Enlarges a figure, or puts it back. */
  toggle(figure: HTMLElement): void {
    if (this.#figure) {
      this.close();
      return;
    }
    this.#place = h("div", { style: `height: ${figure.offsetHeight}px` });
    figure.replaceWith(this.#place);
    this.#figure = figure;
    this.#dialog.append(figure);
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#label("Close");
    this.#changed();
  }

  close(): void {
    if (this.#figure) this.#dialog.close();
    // The event of a dialog comes later.
    this.#restore();
  }

  /** Size of the window in which a figure is enlarged; null: none is. */
  size(): { width: number; height: (chart: HTMLElement) => number } | null {
    const figure = this.#figure;
    if (!figure) return null;
    const height = (chart: HTMLElement): number => {
      const host = chart.querySelector<HTMLElement>(".chart-host")!;
      const rest = figure.scrollHeight - host.offsetHeight;
      return Math.max(LEAST, innerHeight - 2 * EDGE - rest);
    };
    return { width: innerWidth - 2 * EDGE, height };
  }

  /** True if an element is in the enlarged figure. */
  holds(el: Node): boolean {
    return this.#figure?.contains(el) ?? false;
  }

  /** True if an event came from the dialog or its buttons. */
  is(target: EventTarget | null): boolean {
    return target instanceof Node && this.#dialog.contains(target);
  }

  #label(text: string): void {
    const button = this.#figure?.querySelector(".enlarge");
    if (button) button.textContent = text;
  }

  #restore(): void {
    if (!this.#figure) return;
    this.#label("Enlarge");
    this.#place?.replaceWith(this.#figure);
    this.#figure = null;
    this.#place = null;
    this.#dialog.remove();
    this.#changed();
  }
}
