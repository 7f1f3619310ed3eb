/** Fields and sliders for what most people change. Each changes one key of the text. */
import type { PathSummary } from "../data/report.types.ts";
import { h, replace, select } from "../page/dom.ts";
import type { Checked, ProfileName } from "./api.ts";
import { FIELDS, type Field, type SliderScale, scaleOf } from "./fields.ts";
import { atStep, quantity, STEPS, stepOf, written } from "./quantity.ts";
import { asQuantity, measured } from "./units.ts";

/** Changes a key. `null` removes it. */
export type SetKey = (key: string, value: string | null) => void;

interface Row {
  field: Field;
  element: HTMLElement;
  slider: HTMLInputElement;
  input: HTMLInputElement;
  ends: HTMLElement;
  /** The scale of the slider; null: its value is no number. */
  scale: SliderScale | null;
}

/** The form. */
export class Form {
  readonly element: HTMLElement;
  readonly #choice = h("div", { class: "choice" });
  readonly #rows: Row[];
  readonly #change: SetKey;
  #profile: HTMLSelectElement | null = null;
  #possible: string[] = [];
  #shown: Checked | null = null;
  /** The path of the last valid text. */
  #path: PathSummary | null = null;

  constructor(change: SetKey) {
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

  /** The keys that have a slider now. */
  get keys(): string[] {
    return this.#rows.filter(({ element }) => !element.hidden).map(({ field }) => field.key);
  }

  /** Takes the slider of a key in use, and returns its position; null if it has none now. */
  take(key: string): number | null {
    const row = this.#rows.find(({ field }) => field.key === key);
    if (!row?.scale || row.element.hidden) return null;
    row.slider.focus({ preventScroll: true });
    return Number(row.slider.value);
  }

  /** Moves the slider of a key, as its reader would. */
  move(key: string, step: number): void {
    const row = this.#rows.find(({ field }) => field.key === key);
    if (!row || Number(row.slider.value) === step) return;
    row.slider.value = String(step);
    this.#slide(row);
  }

  /** Shows the values of a text, and those of its path where the text has none. */
  show(checked: Checked): void {
    const { form: values, plan } = checked;
    // A text that is no TOML has no values; those before stay until it has some again.
    if (!plan && Object.keys(values).length === 0) return;
    this.#shown = checked;
    // A text with an error has a path that nobody knows: the one before is nearer than any other.
    if (plan) this.#path = plan.path;
    const profile = values["path.profile"];
    this.#choice.hidden = profile === undefined;
    if (this.#profile && profile !== undefined) this.#profile.value = profile;
    for (const row of this.#rows) this.#showRow(row, checked);
  }

  #showRow(row: Row, { form: values, plan }: Checked): void {
    const { field, slider, input, element } = row;
    const text = values[field.key];
    // A sweep would override it.
    const swept = plan?.sweep.some(([one]) => one === field.key) ?? false;
    const may = text !== undefined || this.#possible.includes(field.key);
    element.hidden = swept || !may;
    const usual = (this.#path && field.ofPath?.(this.#path)) ?? field.usual;
    // A slider in use keeps its place, which is ahead of the text.
    if (document.activeElement !== slider) {
      row.scale = scaleOf(field, text ?? usual);
      slider.disabled = row.scale === null;
      const value = this.#valueOf(row, text ?? usual);
      slider.value = String(row.scale && value ? stepOf(row.scale.ends, value) : 0);
      const said = text === undefined ? `${field.absent ?? usual}, not in the text` : text;
      slider.setAttribute("aria-valuetext", said);
      const words = row.scale?.words ?? ["", ""];
      replace(row.ends, h("span", {}, words[0]), h("span", {}, words[1]));
    }
    input.placeholder = field.absent ?? usual;
    if (document.activeElement !== input) input.value = text ?? "";
    element.classList.toggle("unset", text === undefined);
  }

  /** Shows sliders for keys that the text lacks and may have, until another text is opened. */
  allow(keys: string[]): void {
    // One that is there now may be there again.
    this.#possible = [...keys, ...(keys.length ? Object.keys(this.#shown?.form ?? {}) : [])];
    if (this.#shown) this.show(this.#shown);
  }

  #valueOf({ scale }: Row, text: string): number | undefined {
    return scale?.kind ? measured(text)?.value : quantity(text)?.value;
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
      value: 0,
      "aria-label": `${field.label}, slider`,
      input: () => this.#slide(row),
    });
    const ends = h("span", { class: "ends", "aria-hidden": "true" });
    const element = h(
      "div",
      { class: "slide" },
      h("label", { for: id }, field.label),
      h("span", { class: "track" }, slider, ends),
      input,
    );
    const row: Row = { field, element, slider, input, ends, scale: null };
    return row;
  }

  #slide(row: Row): void {
    if (!row.scale) return;
    const { ends, kind, unit } = row.scale;
    const value = atStep(ends, Number(row.slider.value));
    const text = written(kind ? asQuantity({ kind, value }) : { value, unit }, row.field.whole);
    row.input.value = text;
    row.slider.setAttribute("aria-valuetext", text);
    this.#change(row.field.key, text);
  }
}
