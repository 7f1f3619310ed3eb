/** The file of the text in the editor: opened, saved, saved under a new name, kept as a draft. */
import { h, replace, scrollTo } from "../page/dom.ts";
import { type Api, Conflict, type Saved, type SavedText } from "./api.ts";
import { type Draft, Drafts } from "./drafts.ts";
import { Gallery } from "./gallery.ts";
import { inEditor, inFile, type LineEnd, lineEndOf } from "./line-ends.ts";
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
  /** Counts the files that were opened, by which an answer that comes too late is known. */
  opening = 0;
  /** Counts the files that were asked for. */
  #asked = 0;
  /** Empty for a text without a file. */
  #name = "";
  /** The text of the file, as the editor has it. */
  #saved = "";
  #lineEnd: LineEnd = "\n";
  /** Names the text that the file had when it was opened or saved; null: it is new. */
  #tag: string | null = null;
  /** Drafts of earlier visits that the reader has neither restored nor discarded. */
  #offered: Draft[] = [];

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

  /** Keeps a draft of a text that differs from the saved one, beside those that are offered. */
  changed(): void {
    // Before the first file there is nothing to keep, and drafts of before are not known.
    if (this.opening > 0) this.#keepDrafts(this.isChanged ? [this.#draft()] : []);
  }

  #draft(): Draft {
    return { text: this.#events.text(), tag: this.#tag, at: Date.now() };
  }

  #keepDrafts(own: Draft[]): void {
    const others = this.#offered.filter(({ text }) => own.every((draft) => draft.text !== text));
    this.drafts.keep(this.#name, [...others, ...own]);
  }

  /**
   * Opens a file. What was not saved of the one before is gone, but for what was typed after this
   * was asked for, which is kept as a draft. Returns false if another file was asked for meanwhile.
   */
  async open(name: string): Promise<boolean> {
    this.#asked += 1;
    const [asked, before] = [this.#asked, this.#events.text()];
    const { text, tag } = await this.#api.read(name);
    if (asked !== this.#asked) return false;
    if (this.#events.text() !== before) this.changed();
    else if (this.opening > 0) this.#keepDrafts([]);
    this.#begin(name, text, tag);
    return true;
  }

  /** Takes another text, unless another file is opened before it comes. */
  async take(text: Promise<string>): Promise<void> {
    const { opening } = this;
    const taken = await text;
    if (opening === this.opening) this.#events.set(taken);
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
    this.#askName("Name of the copy", this.#name || "new.toml", async (name) => {
      const { opening } = this;
      const [text, before] = [this.#events.text(), this.#name];
      const saved = await this.#saveNew(name, inFile(text, this.#lineEnd));
      // Another file may have been opened meanwhile.
      if (!saved || opening !== this.opening) return;
      // The draft, if any, is that of the file before.
      this.drafts.keep(before, this.#offered);
      this.#offered = [];
      this.#keep(name, text, saved);
    });
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
          const saved = await this.#saveNew(name, text);
          if (!saved) {
            gallery.refuse(`${name} exists; allowed: the name of a new file`);
            return;
          }
          gallery.close();
          this.#begin(name, text, saved.tag);
          this.#events.kept(name, saved.words);
        }),
    });
    gallery.open();
  }

  #begin(name: string, text: string, tag: string | null): void {
    const shown = inEditor(text);
    [this.#name, this.#saved, this.#tag, this.#lineEnd] = [name, shown, tag, lineEndOf(text)];
    this.opening += 1;
    this.#offered = this.drafts.read(name).filter((draft) => draft.text !== shown);
    this.#ask();
    this.#events.load(shown);
  }

  /** Saves the text in the file that is open, whose text has the tag `replaced`. */
  async #save(name: string, replaced: string | null): Promise<void> {
    const { opening } = this;
    const draft = this.#draft();
    try {
      const saved = await this.#api.save(name, inFile(draft.text, this.#lineEnd), replaced);
      if (opening === this.opening) this.#keep(name, draft.text, saved);
      else this.#events.notify(saved.words);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      if (opening === this.opening) this.#conflict(name, error.theirs);
      else {
        // Another file was opened meanwhile. This one offers its text when it is opened again.
        this.drafts.keep(name, [...this.drafts.read(name), draft]);
        this.#events.notify(`${name} is not saved; its text is kept as a draft`, true);
      }
    }
  }

  /** Saves a text in a file that does not exist yet. Returns null if it does. */
  async #saveNew(name: string, text: string): Promise<Saved | null> {
    try {
      return await this.#api.save(name, text, null);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      this.#events.notify(`${name} exists; allowed: the name of a new file`, true);
      return null;
    }
  }

  /** Notes that the file has a text of the editor, which may have another one by now. */
  #keep(name: string, text: string, { words, tag }: Saved): void {
    [this.#name, this.#saved, this.#tag] = [name, text, tag];
    this.#offered = this.#offered.filter((draft) => draft.text !== text);
    this.#ask();
    this.changed();
    this.#events.kept(name, words);
  }

  #conflict(name: string, theirs: string | null): void {
    this.#events.notify(`${name} is not saved`, true);
    const { opening } = this;
    /** Reads the file, unless another one is opened before the answer. */
    const read = async (): Promise<SavedText | null> => {
      const saved = await this.#api.read(name);
      return opening === this.opening ? saved : null;
    };
    const shown = theirs === null ? null : inEditor(theirs);
    this.#ask(
      conflictPanel(name, shown, this.#events.text(), {
        replaceTheirs: () =>
          void this.#events.guard(async () => {
            if (theirs === null) return this.#save(name, null);
            const now = await read();
            // Not a text that came after the one that is shown.
            if (now?.text === theirs) await this.#save(name, now.tag);
            else if (now) this.#conflict(name, now.text);
          }),
        takeTheirs: () =>
          void this.#events.guard(async () => {
            const now = await read();
            if (!now) return;
            [this.#saved, this.#tag, this.#lineEnd] = [
              inEditor(now.text),
              now.tag,
              lineEndOf(now.text),
            ];
            this.#ask();
            this.#events.set(this.#saved);
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

  /** Asks something, or else what is to become of the drafts of earlier visits. */
  #ask(panel: HTMLElement | null = null): void {
    const asked = panel ?? this.#offer();
    replace(this.panel, asked);
    // Whoever writes further down would see nothing of it.
    scrollTo(asked, "nearest");
  }

  #offer(): HTMLElement | null {
    if (this.#offered.length === 0) return null;
    const decided = (draft: Draft): void => {
      this.#offered = this.#offered.filter((one) => one !== draft);
      this.#ask();
    };
    return draftPanel(this.#offered, {
      restore: (draft) => {
        decided(draft);
        // Of an older text of the file, so that saving says so.
        this.#tag = draft.tag;
        this.#events.set(draft.text);
      },
      discard: (draft) => {
        decided(draft);
        this.changed();
      },
    });
  }
}
