import { keyLabel } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { button, type Child, h, replace, select } from "../page/dom.ts";
import type { Store } from "../page/state.ts";
import { facetIn, facetsOf, found, picked, withFacet } from "./chosen.ts";

/** Time after which a search is done, so that typing stays fluent, in milliseconds. */
const CALM_MS = 120;

/** Fewest variants that need to be found. */
export const FEW = 4;

/** The search for variants, by words and by what they set. The slash key leads to it. */
export class Finder {
  readonly el = h("div", { class: "finder", role: "search", "aria-label": "Variants" });
  readonly #input: HTMLInputElement;
  readonly #rest = h("span", { class: "controls left" });
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `entered` is called when the reader goes on to what was found. */
  constructor(
    readonly report: Report,
    readonly store: Store,
    entered: () => void,
  ) {
    this.#input = h("input", {
      type: "search",
      placeholder: "name or setting",
      "aria-keyshortcuts": "/",
      input: () => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#search(this.#input.value), CALM_MS);
      },
      keydown: (event: KeyboardEvent) => {
        if (event.key !== "Enter") return;
        clearTimeout(this.#timer);
        this.#search(this.#input.value);
        entered();
      },
    });
    const label = h("label", { class: "field" }, h("span", {}, "Find variants"), this.#input);
    this.el.append(label, this.#rest);
    const { signal } = this.#gone;
    document.addEventListener("keydown", (event) => this.#slash(event), { signal });
    this.draw();
  }

  readonly #gone = new AbortController();

  #slash(event: KeyboardEvent): void {
    if (!this.el.isConnected) {
      this.#gone.abort();
      return;
    }
    const writes =
      event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writes) return;
    event.preventDefault();
    this.#input.focus();
    this.#input.select();
  }

  #search(find: string): void {
    this.store.set({ find: find.trim() });
  }

  /** Shows what is searched for, and how many are found. */
  draw(): void {
    const { report, store } = this;
    const { find, only } = store.state;
    if (this.#input.value.trim() !== find) this.#input.value = find;
    const facets = facetsOf(report);
    const keys = facets.map((f) => f.key);
    const choices = facets.map(({ key, values }): Child => {
      const options = [
        { value: "", text: "any" },
        ...values.map((value) => ({ value, text: value })),
      ];
      return select(keyLabel(key, keys), options, facetIn(find, key), (value) =>
        store.set({ find: withFacet(find, key, value) }),
      );
    });
    const some = picked(only);
    const indices = found(report, find);
    const n = indices.filter((i) => some?.has(i) ?? true).length;
    const focused = [...this.#rest.querySelectorAll("select")].indexOf(
      document.activeElement as HTMLSelectElement,
    );
    replace(
      this.#rest,
      choices,
      h("span", { class: "said", role: "status" }, `${n} of ${report.variants.length} shown`),
      (find || only) && button("Show all", () => store.set({ find: "", only: "" })),
    );
    this.#rest.querySelectorAll("select")[focused]?.focus();
  }
}
