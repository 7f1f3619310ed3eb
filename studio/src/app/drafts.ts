/** Texts that were not saved, kept by the browser so that a closed page loses none. */

/** A text, and which saved one it started from. */
export interface Draft {
  text: string;
  /** Names the saved text; null for a new file. */
  tag: string | null;
  /** When it was kept, in milliseconds since 1970. */
  at: number;
}

const keyOf = (directory: string, file: string): string =>
  `bentpipe-studio-draft ${directory} ${file}`;

/** The drafts of the scenarios in a directory. Without storage, none are kept. */
export class Drafts {
  directory = "";

  read(file: string): Draft | null {
    try {
      const kept = localStorage.getItem(keyOf(this.directory, file));
      return kept === null ? null : (JSON.parse(kept) as Draft);
    } catch {
      return null;
    }
  }

  keep(file: string, text: string, tag: string | null): void {
    try {
      const draft: Draft = { text, tag, at: Date.now() };
      localStorage.setItem(keyOf(this.directory, file), JSON.stringify(draft));
    } catch {
      // Full or forbidden: the page still has the text.
    }
  }

  forget(file: string): void {
    try {
      localStorage.removeItem(keyOf(this.directory, file));
    } catch {
      // There is none then.
    }
  }
}
