/** A dialog that takes measurements of other tools and asks what no file says. */
import { button, h, replace, withCode } from "../page/dom.ts";
import type { Imported, ImportRequest, ImportWay } from "./api.ts";

/** What the command takes at a time. */
const MAX_FILES = 16;
const MAX_BYTES = 64 * 2 ** 20;
const MEGA = 2 ** 20;

/** What the dialog needs of its page. */
export interface ImportEvents {
  /** Whether the directory has scenarios in a directory of this name. */
  isTaken(name: string): boolean;
  import(request: ImportRequest): Promise<Imported>;
  /** A scenario was made. */
  done(imported: Imported): void;
}

/** An option of `bentpipe import`. */
interface Option {
  key: "rate" | "offset" | "interval" | "phase";
  label: string;
  example: string;
  meaning: string;
}

/** The first is asked for most: few measurements have rates of both directions. */
const OPTIONS: readonly Option[] = [
  {
    key: "rate",
    label: "Rate",
    example: "20 Mbps",
    meaning: "of a direction for which no file has one",
  },
  {
    key: "offset",
    label: "Offset",
    example: "0 s",
    meaning: "how much later than the rates the delays begin",
  },
  {
    key: "interval",
    label: "Interval",
    example: "1 s",
    meaning: "between pings of which no line has a time",
  },
  {
    key: "phase",
    label: "Phase",
    example: "12 s",
    meaning: "when the path reconfigures, every 15 s from this time of each UTC minute on",
  },
];

const WAYS = [
  { value: "", text: "direction: as it says" },
  { value: "up", text: "up, to the server" },
  { value: "down", text: "down, to the client" },
] as const;

/** Of fields for names and numbers. */
const plain = { spellcheck: "false", autocomplete: "off" };

/** A file with the direction that was chosen for it. */
interface Chosen {
  file: File;
  way: ImportWay | null;
}

const size = (bytes: number): string =>
  bytes < 1000
    ? `${bytes} B`
    : bytes < MEGA
      ? `${(bytes / 1000).toFixed(0)} kB`
      : `${(bytes / MEGA).toFixed(1)} MiB`;

/** The dialog. */
export class ImportDialog {
  readonly #events: ImportEvents;
  #chosen: Chosen[] = [];
  readonly #list = h("ul", { class: "import-files", "aria-label": "Files" });
  readonly #said = h("p", { class: "bad", role: "alert" });
  readonly #name = h("input", { type: "text", id: "import-name", ...plain });
  readonly #submit = h("button", { type: "submit", class: "main" }, "Import");
  readonly #inputs = new Map(
    OPTIONS.map(({ key, example }) => [
      key,
      h("input", { type: "text", id: `import-${key}`, placeholder: example, size: 9, ...plain }),
    ]),
  );
  readonly #more: HTMLDetailsElement;
  readonly #dialog: HTMLDialogElement;

  constructor(events: ImportEvents) {
    this.#events = events;
    const picker = h("input", {
      type: "file",
      multiple: true,
      id: "import-choose",
      change: () => {
        this.add([...(picker.files ?? [])]);
        // So that the same file may be chosen again.
        picker.value = "";
      },
    });
    this.#more = h("details", {}, h("summary", {}, "More that no file may say"), this.#options(1));
    this.#dialog = h(
      "dialog",
      { class: "gallery import", "aria-label": "Import", close: () => this.#dialog.remove() },
      h(
        "form",
        {
          submit: (event: Event) => {
            event.preventDefault();
            void this.#import();
          },
        },
        h("h2", {}, "Import measurements"),
        h(
          "p",
          {},
          "Output of ping, JSON of iperf3 and irtt, traces of mahimahi, telemetry of a dish and " +
            "whatever else ",
          h("code", {}, "bentpipe import"),
          " reads become a scenario that replays them.",
        ),
        h("p", {}, h("label", { for: "import-choose" }, "Files, or drop them here "), picker),
        this.#list,
        h(
          "p",
          { class: "import-options" },
          h("label", { for: "import-name" }, "Name of the new directory"),
          this.#name,
          h("small", {}, "for the scenario and its recordings"),
        ),
        this.#options(0, 1),
        this.#more,
        h(
          "div",
          { class: "choices" },
          this.#submit,
          button("Cancel", () => this.#dialog.close()),
        ),
        this.#said,
      ),
    );
  }

  /** Shows the dialog, with files that the reader has dropped. */
  open(files: File[]): void {
    document.body.append(this.#dialog);
    this.#name.value = this.#freeName();
    this.#show();
    this.#dialog.showModal();
    this.add(files);
  }

  get isOpen(): boolean {
    return this.#dialog.open;
  }

  /** Adds files. */
  add(files: File[]): void {
    this.#chosen.push(...files.map((file) => ({ file, way: null })));
    this.#show();
    replace(this.#said, this.#fault());
  }

  #options(from: number, to?: number): HTMLElement[] {
    return OPTIONS.slice(from, to).map(({ key, label, meaning }) =>
      h(
        "p",
        { class: "import-options" },
        h("label", { for: `import-${key}` }, label),
        this.#inputs.get(key),
        h("small", {}, meaning),
      ),
    );
  }

  #freeName(): string {
    for (let i = 1; ; i++) {
      const name = i === 1 ? "recorded" : `recorded-${i}`;
      if (!this.#events.isTaken(name)) return name;
    }
  }

  #show(): void {
    replace(
      this.#list,
      this.#chosen.map((chosen) => {
        const { file } = chosen;
        const ways = h(
          "select",
          {
            "aria-label": `Direction of ${file.name}`,
            change: () => {
              chosen.way = (ways.value || null) as ImportWay | null;
            },
          },
          WAYS.map(({ value, text }) =>
            h("option", { value, selected: value === (chosen.way ?? "") }, text),
          ),
        );
        return h(
          "li",
          {},
          h("b", {}, file.name),
          h("small", {}, size(file.size)),
          ways,
          button("Remove", () => {
            this.#chosen = this.#chosen.filter((other) => other !== chosen);
            this.add([]);
          }),
        );
      }),
    );
  }

  /** Why the files cannot be sent; null if they can. */
  #fault(): string | null {
    const files = this.#chosen.map(({ file }) => file);
    if (files.length > MAX_FILES) return `${files.length} files; allowed: ${MAX_FILES} at a time`;
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    if (bytes <= MAX_BYTES) return null;
    const largest = files.reduce((a, b) => (b.size > a.size ? b : a));
    return (
      `${largest.name}: ${size(largest.size)}, ${size(bytes)} with all files; allowed: ` +
      `${size(MAX_BYTES)} together. A part of it, or \`bentpipe import\`, which takes more.`
    );
  }

  async #import(): Promise<void> {
    const fault = this.#chosen.length === 0 ? "no file is chosen" : this.#fault();
    replace(this.#said, fault);
    if (fault) return;
    this.#submit.disabled = true;
    try {
      const value = (key: Option["key"]): string => this.#inputs.get(key)!.value.trim();
      const imported = await this.#events.import({
        to: this.#name.value.trim(),
        files: this.#chosen.map(({ file, way }) => ({ content: file, direction: way })),
        options: Object.fromEntries(OPTIONS.map(({ key }) => [key, value(key)])),
      });
      this.#dialog.close();
      this.#events.done(imported);
    } catch (error) {
      this.#refused(error instanceof Error ? error.message : String(error));
    } finally {
      this.#submit.disabled = false;
    }
  }

  /** Shows an error, and leads to the field that it asks for. */
  #refused(words: string): void {
    replace(this.#said, withCode(words));
    const asked = OPTIONS.find(({ key }) => words.includes(`\`--${key}`));
    if (!asked) return;
    if (asked !== OPTIONS[0]) this.#more.open = true;
    this.#inputs.get(asked.key)!.focus();
  }
}
