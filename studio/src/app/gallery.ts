/** A dialog with scenarios to start from. */
import { button, h, replace, svg } from "../page/dom.ts";
import { TEMPLATES, type Template, textOf } from "./templates.ts";

/** What the gallery needs of its page. */
export interface GalleryEvents {
  /** The scenario that is open, of which a copy can be made. */
  open: { file: string; text: string } | null;
  /** Makes a file. */
  create(name: string, text: string): void;
}

/** A choice: a template, or the scenario that is open. */
type Choice = Template | "copy";

const keyOf = (choice: Choice): Template["key"] | "copy" =>
  choice === "copy" ? choice : choice.key;

/** The dialog. */
export class Gallery {
  readonly #events: GalleryEvents;
  readonly #said = h("p", { class: "bad", role: "status" });
  readonly #name = h("input", {
    type: "text",
    id: "scenario-name",
    spellcheck: "false",
    autocomplete: "off",
    input: () => {
      this.#isNamed = true;
    },
  });
  readonly #dialog: HTMLDialogElement;
  #chosen: Choice = TEMPLATES[0]!;
  /** Whether the reader has written a name, which then stays. */
  #isNamed = false;

  constructor(events: GalleryEvents) {
    this.#events = events;
    const choices: Choice[] = [...TEMPLATES, ...(events.open ? (["copy"] as const) : [])];
    this.#dialog = h(
      "dialog",
      { class: "gallery", "aria-label": "New scenario", close: () => this.#dialog.remove() },
      h(
        "form",
        {
          submit: (event: Event) => {
            event.preventDefault();
            this.#create();
          },
        },
        h("h2", {}, "New scenario"),
        h(
          "div",
          { class: "cards", role: "radiogroup", "aria-label": "Start from" },
          choices.map((choice, i) => this.#card(choice, i === 0)),
        ),
        h(
          "div",
          { class: "choices" },
          h("label", { for: "scenario-name" }, "Name of the new scenario "),
          this.#name,
          h("button", { type: "submit", class: "main" }, "Create"),
          button("Cancel", () => this.close()),
        ),
        this.#said,
      ),
    );
  }

  /** Shows the dialog. */
  open(): void {
    document.body.append(this.#dialog);
    this.#choose(TEMPLATES[0]!);
    this.#dialog.showModal();
    // On a phone the name is below the templates, which come first.
    this.#name.focus({ preventScroll: true });
    this.#name.setSelectionRange(0, this.#name.value.length - ".toml".length);
  }

  close(): void {
    this.#dialog.close();
  }

  /** Says why a file was not made. */
  refuse(words: string): void {
    replace(this.#said, words);
  }

  #card(choice: Choice, first: boolean): HTMLElement {
    const { open } = this.#events;
    const [title, question] =
      choice === "copy"
        ? ["A copy", `Of ${open?.file} as it stands.`]
        : [choice.title, choice.question];
    return h(
      "label",
      { class: "template" },
      h("input", {
        type: "radio",
        name: "template",
        value: keyOf(choice),
        checked: first,
        change: () => this.#choose(choice),
      }),
      thumbnail(keyOf(choice)),
      h("b", {}, title),
      h("small", {}, question),
    );
  }

  #choose(choice: Choice): void {
    this.#chosen = choice;
    if (this.#isNamed) return;
    const copied = this.#events.open?.file.replace(/\.toml$/, "-2.toml") ?? "";
    this.#name.value = choice === "copy" ? copied : `${choice.key}-new.toml`;
  }

  #create(): void {
    const written = this.#name.value.trim();
    if (!written) return;
    const name = written.endsWith(".toml") ? written : `${written}.toml`;
    const text =
      this.#chosen === "copy" ? (this.#events.open?.text ?? "") : textOf(this.#chosen, name);
    this.refuse("");
    this.#events.create(name, text);
  }
}

/** What a template is about, as a few lines: no result, so without numbers. */
const SHAPES: Record<ReturnType<typeof keyOf>, { lines: string[]; marks?: [number, number][] }> = {
  download: { lines: ["M8,52h14q10,0 16,-14t24,-22h14", "M8,52h24q12,0 22,-12t30,-24h12"] },
  resume: { lines: ["M8,52h12q16,0 30,-18t44,-18", "M8,52h8l10,-36h70"] },
  leo: {
    lines: ["M6,54q44,-14 88,0", "M18,50l20,-28l26,0l18,28"],
    marks: [
      [38, 22],
      [64, 22],
      [88, 14],
    ],
  },
  share: { lines: ["M8,20h30q8,0 10,14h46", "M44,52q4,0 6,-18h44"] },
  users: {
    lines: ["M52,12L12,52M52,12L32,52M52,12L52,52M52,12L72,52M52,12L92,52"],
    marks: [
      [12, 52],
      [32, 52],
      [52, 52],
      [72, 52],
      [92, 52],
    ],
  },
  video: { lines: ["M8,52v-30h12v30m6,0v-30h12v30m6,0v-30h12v30m14,0v-30h12v30", "M6,52h88"] },
  upload: { lines: ["M50,54V16m-14,14l14,-14l14,14"] },
  sweep: {
    lines: ["M10,50L34,44L58,32L82,14", "M10,50L34,48L58,42L82,36"],
    marks: [
      [34, 44],
      [58, 32],
      [82, 14],
    ],
  },
  loss: { lines: ["M8,50l16,-28v22l14,-22v24l16,-26v22l14,-20v22l14,-22"] },
  copy: { lines: ["M34,14h26v32h-26zM42,14v-6h26v32h-8"] },
};

function thumbnail(picture: keyof typeof SHAPES): SVGSVGElement {
  const { lines, marks = [] } = SHAPES[picture];
  return svg(
    "svg",
    { viewBox: "0 0 104 62", class: "thumbnail", "aria-hidden": "true" },
    lines.map((d, i) => svg("path", { d, class: i === 0 ? "first" : "second" })),
    marks.map(([cx, cy]) => svg("circle", { cx, cy, r: 3.6 })),
  );
}
