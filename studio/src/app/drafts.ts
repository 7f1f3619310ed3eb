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

/** Most drafts of a file: the one of this visit, and those that nobody has decided about. */
const MAX_DRAFTS = 5;

/** The drafts of the scenarios in a directory. Without storage, none are kept. */
export class Drafts {
  directory = "";

  /** The drafts of a file, the oldest first. */
  read(file: string): Draft[] {
    try {
      const kept = localStorage.getItem(keyOf(this.directory, file));
      // A single one, as it was kept before, is a list too.
      return kept === null ? [] : [JSON.parse(kept) as Draft | Draft[]].flat();
    } catch {
      return [];
    }
  }

  /** Keeps these drafts of a file and no others, or the newest of them if there is no room. */
  keep(file: string, drafts: Draft[]): void {
    const key = keyOf(this.directory, file);
    for (let left = drafts.slice(-MAX_DRAFTS); ; left = left.slice(1)) {
      try {
        if (left.length === 0) localStorage.removeItem(key);
        else localStorage.setItem(key, JSON.stringify(left));
        return;
      } catch {
        // Full or forbidden: the page still has the text.
        if (left.length === 0) return;
      }
    }
  }
}
