/** Measurements that the reader chooses or drops, and what came of them. */
import { h, replace } from "../page/dom.ts";
import type { Api } from "./api.ts";
import { ImportDialog } from "./import-dialog.ts";
import { importPanel } from "./panels.ts";

/** What imports need of their page. */
export interface ImportsEvents {
  /** Whether a text that is not saved may be lost. */
  mayDiscard(): boolean;
  /** Names of all scenarios. */
  scenarios(): string[];
  /** Opens a new scenario. */
  open(file: string): Promise<void>;
  /** Does something, and shows what went wrong with it. */
  guard(work: () => Promise<void>): Promise<void>;
}

/** Imports of measurements. */
export class Imports {
  /** What the last one has found. */
  readonly panel = h("div", { class: "panels" });
  readonly #api: Api;
  readonly #events: ImportsEvents;
  #dialog: ImportDialog | null = null;

  constructor(api: Api, events: ImportsEvents) {
    this.#api = api;
    this.#events = events;
  }

  /** Takes files, or asks for them, and opens the scenario that is made of them. */
  ask(files: File[] = []): void {
    const { import: send } = this.#api;
    if (this.#dialog?.isOpen) this.#dialog.add(files);
    else if (send && this.#events.mayDiscard()) {
      this.#dialog = new ImportDialog({
        isTaken: (name) => this.#events.scenarios().some((file) => file.startsWith(`${name}/`)),
        import: send,
        done: (imported) =>
          void this.#events.guard(async () => {
            await this.#events.open(imported.file);
            replace(
              this.panel,
              importPanel(imported, () => this.close()),
            );
          }),
      });
      this.#dialog.open(files);
    }
  }

  /** Shows nothing more of the last one. */
  close(): void {
    replace(this.panel);
  }
}
