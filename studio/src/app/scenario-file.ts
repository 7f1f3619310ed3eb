/** The file of the text in the editor: opened, saved, saved under a new name, kept as a draft. */
import { h, replace, scrollTo } from "../page/dom.ts";
import { type Api, Conflict } from "./api.ts";
import { Drafts } from "./drafts.ts";
import { Gallery } from "./gallery.ts";
import { conflictPanel, draftPanel, namePanel } from "./panels.ts";

/** What a file does in its page. */
export interface FileEvents {
  /** The text in the editor. */
  text(): string;
  /** Changes that text, so that it can be undone. */
  set(text: string): void;
  /** Shows the text of another file. */
  load(text: string): void;
  /** The text is kept in a file of this name. */
  kept(name: string, words: string): void;
  /** Does something, and shows what went wrong with it. */
  guard(work: () => Promise<void>): Promise<void>;
  notify(words: string, bad?: boolean): void;
}

/** The name for checks of a text that has no file yet. */
const UNNAMED = "scenario.toml";

/** Whether a name stays below the directory. The command checks that, too. */
const isName = (name: string): boolean =>
  name.split("/").every((part) => part !== "" && !part.startsWith("."));

const noName = (name: string): string =>
  `${name} is no name; allowed: those below the directory, without dots first`;

/** The file. */
export class ScenarioFile {
  /** Asks what is to become of a text. */
  readonly panel = h("div", { class: "panels" });
  readonly drafts = new Drafts();
  readonly #api: Api;
  readonly #events: FileEvents;
  /** Empty for a text without a file. */
  #name = "";
  #saved = "";
  /** Names the text that the file had when it was opened or saved; null: it is new. */
  #tag: string | null = null;

  constructor(api: Api, events: FileEvents) {
    this.#api = api;
    this.#events = events;
  }

  get name(): string {
    return this.#name || UNNAMED;
  }

  get isChanged(): boolean {
    return this.#events.text() !== this.#saved;
  }

  /** Keeps a draft of a text that differs from the saved one. */
  changed(): void {
    if (this.isChanged) this.drafts.keep(this.#name, this.#events.text(), this.#tag);
    else this.drafts.forget(this.#name);
  }

  /** Opens a file. What was not saved of the one before is gone. */
  async open(name: string): Promise<void> {
    const { text, tag } = await this.#api.read(name);
    if (this.isChanged) this.drafts.forget(this.#name);
    this.#begin(name, text, tag);
    const draft = this.drafts.read(name);
    if (!draft || draft.text === text) return;
    this.#ask(
      draftPanel(
        draft.at,
        () => {
          this.#ask();
          // Of an older text of the file, so that saving says so.
          this.#tag = draft.tag;
          this.#events.set(draft.text);
        },
        () => {
          this.#ask();
          this.drafts.forget(name);
        },
      ),
    );
  }

  /** Begins with a text without a file. */
  unnamed(): void {
    this.#begin("", "", null);
  }

  /** Saves the text, unless somebody else has changed the file. */
  async save(): Promise<void> {
    if (this.#name === "") this.askSaveAs();
    else await this.#save(this.#name, this.#tag);
  }

  /** Asks for a name, and saves the text in a new file. */
  askSaveAs(): void {
    this.#askName("Name of the copy", this.#name || "new.toml", async (name) =>
      this.#saveNew(name, this.#events.text()),
    );
  }

  /** Asks for a template and a name, and opens a new file with it. */
  askNew(): void {
    const gallery = new Gallery({
      open: this.#name ? { file: this.#name, text: this.#events.text() } : null,
      create: (name, text) =>
        void this.#events.guard(async () => {
          if (!isName(name)) {
            gallery.refuse(noName(name));
            return;
          }
          if (!(await this.#saveNew(name, text, false))) {
            gallery.refuse(`${name} exists; allowed: the name of a new file`);
            return;
          }
          gallery.close();
          this.#events.load(text);
        }),
    });
    gallery.open();
  }

  #begin(name: string, text: string, tag: string | null): void {
    this.#ask();
    [this.#name, this.#saved, this.#tag] = [name, text, tag];
    this.#events.load(text);
  }

  async #save(name: string, replaced: string | null): Promise<void> {
    const text = this.#events.text();
    try {
      this.#keep(name, text, await this.#api.save(name, text, replaced));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      this.#conflict(name, error.theirs);
    }
  }

  /** Saves a text in a file that does not exist yet. Returns whether it did. */
  async #saveNew(name: string, text: string, isDraft = true): Promise<boolean> {
    try {
      const done = await this.#api.save(name, text, null);
      // The draft, if any, is that of the file before.
      if (isDraft) this.drafts.forget(this.#name);
      this.#keep(name, text, done);
      return true;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      this.#events.notify(`${name} exists; allowed: the name of a new file`, true);
      return false;
    }
  }

  #keep(name: string, text: string, { words, tag }: { words: string; tag: string }): void {
    this.#ask();
    [this.#name, this.#saved, this.#tag] = [name, text, tag];
    this.drafts.forget(name);
    this.#events.kept(name, words);
  }

  #conflict(name: string, theirs: string | null): void {
    this.#events.notify(`${name} is not saved`, true);
    this.#ask(
      conflictPanel(name, theirs, this.#events.text(), {
        replaceTheirs: () =>
          void this.#events.guard(async () => {
            if (theirs === null) return this.#save(name, null);
            const { text, tag } = await this.#api.read(name);
            // Not a text that came after the one that is shown.
            if (text === theirs) await this.#save(name, tag);
            else this.#conflict(name, text);
          }),
        takeTheirs: () =>
          void this.#events.guard(async () => {
            const { text, tag } = await this.#api.read(name);
            this.#ask();
            [this.#saved, this.#tag] = [text, tag];
            this.#events.set(text);
          }),
        saveAs: () => this.askSaveAs(),
      }),
    );
  }

  #askName(what: string, proposed: string, done: (name: string) => Promise<unknown>): void {
    const named = (name: string): void =>
      void this.#events.guard(async () => {
        if (!isName(name)) throw new Error(noName(name));
        await done(name);
      });
    this.#ask(namePanel(what, proposed, named, () => this.#ask()));
  }

  #ask(panel: HTMLElement | null = null): void {
    replace(this.panel, panel);
    // Whoever writes further down would see nothing of it.
    scrollTo(panel, "nearest");
  }
}
