/** Fields and sliders for what most people change. Each changes one key of the text. */
import type { PathSummary } from "../data/report.types.ts";
import { h, replace, select } from "../page/dom.ts";
import type { Checked, ProfileName } from "./api.ts";
import { atStep, quantity, STEPS, stepOf, written } from "./quantity.ts";

/** A key with a slider. */
interface Field {
  key: string;
  label: string;
  /** The value while the text has no such key, on a path of which nothing is known. */
  usual: string;
  /** The value that the path has then. */
  ofPath?: (path: PathSummary) => string | undefined;
  whole?: boolean;
  /** What the field says while the text has no such key, if that is not the slider's place. */
  absent?: string;
}

/** What a pattern finds in the words for a direction of the only hop. */
const word =
  (direction: "forward" | "return", pattern: RegExp) =>
  ({ hops }: PathSummary): string | undefined =>
    hops.length === 1 ? pattern.exec(hops[0]![direction])?.[1] : undefined;
const RATE = /([\d.]+ [kMG]?bps)/;

const FIELDS: Field[] = [
  {
    key: "path.rtt",
    label: "Round-trip time",
    usual: "600 ms",
    ofPath: ({ rtt_ms }) => (rtt_ms > 0 ? `${Number(rtt_ms.toPrecision(4))} ms` : undefined),
  },
  {
    key: "path.forward.rate",
    label: "Rate to the client",
    usual: "50 Mbps",
    ofPath: word("forward", RATE),
  },
  {
    key: "path.return.rate",
    label: "Rate to the server",
    usual: "10 Mbps",
    ofPath: word("return", RATE),
  },
  {
    key: "path.forward.queue",
    label: "Queue to the client",
    usual: "1 BDP",
    ofPath: word("forward", /queue ([^,]+)/),
  },
  {
    key: "path.forward.loss",
    label: "Loss to the client",
    usual: "0.001",
    absent: "none",
  },
  { key: "workload.download", label: "Download", usual: "2 MB" },
  { key: "workload.upload", label: "Upload", usual: "2 MB" },
  { key: "repeat", label: "Runs of each variant", usual: "5", whole: true, absent: "1" },
];

/** Changes a key. `null` removes it. */
export type Change = (key: string, value: string | null) => void;

interface Row {
  field: Field;
  element: HTMLElement;
  slider: HTMLInputElement;
  input: HTMLInputElement;
  /** The middle of the slider, which stays while it has the focus. */
  middle: string;
}

/** The form. */
export class Form {
  readonly element: HTMLElement;
  readonly #choice = h("div", { class: "choice" });
  readonly #rows: Row[];
  readonly #change: Change;
  #profile: HTMLSelectElement | null = null;
  #possible: string[] = [];
  #shown: Checked | null = null;

  constructor(change: Change) {
    this.#change = change;
    this.#rows = FIELDS.map((field) => this.#row(field));
    this.element = h(
      "div",
      { class: "form" },
      this.#choice,
      this.#rows.map(({ element }) => element),
    );
  }

  /** The built-in paths that a text may name. */
  set profiles(profiles: ProfileName[]) {
    const options = profiles.map(({ name, title }) => ({ value: name, text: `${name}: ${title}` }));
    const field = select("Path", options, "", (name) => this.#change("path.profile", name));
    this.#profile = field.querySelector("select");
    replace(this.#choice, field);
  }

  /** Shows the values of a text, and those of its path where the text has none. */
  show(checked: Checked): void {
    this.#shown = checked;
    const { form: values, plan } = checked;
    const path = plan?.path ?? null;
    const profile = values["path.profile"];
    this.#choice.hidden = profile === undefined;
    if (this.#profile && profile !== undefined) this.#profile.value = profile;
    for (const row of this.#rows) {
      const text = values[row.field.key];
      const { key } = row.field;
      // A sweep would override it.
      const swept = plan?.sweep.some(([one]) => one === key) ?? false;
      const may = text !== undefined || this.#possible.includes(key);
      row.element.hidden = swept || !may;
      const usual = (path && row.field.ofPath?.(path)) ?? row.field.usual;
      // A slider in use keeps its middle and its place, which are ahead of the text.
      if (document.activeElement !== row.slider) {
        row.middle = text ?? usual;
        row.slider.value = String(this.#step(row, row.middle));
      }
      row.input.placeholder = row.field.absent ?? usual;
      if (document.activeElement !== row.input) row.input.value = text ?? "";
      row.element.classList.toggle("unset", text === undefined);
    }
  }

  /** Shows sliders for keys that the text lacks and may have, until another text is opened. */
  allow(keys: string[]): void {
    // One that is there now may be there again.
    this.#possible = [...keys, ...(keys.length ? Object.keys(this.#shown?.form ?? {}) : [])];
    if (this.#shown) this.show(this.#shown);
  }

  #step(row: Row, text: string): number {
    const [middle, value] = [quantity(row.middle), quantity(text)];
    row.slider.disabled = !middle || !value || value.value === 0;
    return middle && value ? stepOf(middle.value, value.value) : STEPS / 2;
  }

  #row(field: Field): Row {
    const id = `field-${field.key}`;
    const input = h("input", {
      id,
      type: "text",
      spellcheck: "false",
      change: () => this.#change(field.key, input.value.trim() || null),
    });
    const slider = h("input", {
      type: "range",
      min: 0,
      max: STEPS,
      value: STEPS / 2,
      "aria-label": `${field.label}, slider`,
      input: () => this.#slide(row),
    });
    const element = h(
      "div",
      { class: "slide" },
      h("label", { for: id }, field.label),
      slider,
      input,
    );
    const row: Row = { field, element, slider, input, middle: field.usual };
    return row;
  }

  #slide(row: Row): void {
    const middle = quantity(row.middle);
    if (!middle) return;
    const value = atStep(middle.value, Number(row.slider.value));
    const text = written({ value, unit: middle.unit }, row.field.whole);
    row.input.value = text;
    row.slider.setAttribute("aria-valuetext", text);
    this.#change(row.field.key, text);
  }
}
