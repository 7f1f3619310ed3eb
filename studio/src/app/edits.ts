/** Changes of single keys by controls. They wait for each other, and only the latest counts. */
import type { Api } from "./api.ts";

/** What edits do in their page. */
export interface EditEvents {
  text(): string;
  set(text: string): void;
  /** Counts the files that were opened. */
  opening(): number;
  /** The text has another value. */
  changed(): Promise<void>;
  guard(work: () => Promise<void>): Promise<void>;
}

/** The edits. */
export class Edits {
  readonly #api: Api;
  readonly #events: EditEvents;
  readonly #latest = new Map<string, symbol>();
  #queue = Promise.resolve();
  /** Number of changes that were asked for. */
  count = 0;

  constructor(api: Api, events: EditEvents) {
    this.#api = api;
    this.#events = events;
  }

  /**
   * Sets a key, or removes it. Each change starts from the text of the one before, with what is
   * typed until then. None is made in a file that was opened later.
   */
  change(key: string, value: string | null): Promise<void> {
    const own = Symbol(key);
    this.#latest.set(key, own);
    this.count += 1;
    const opening = this.#events.opening();
    this.#queue = this.#queue.then(() =>
      this.#events.guard(async () => {
        // A later position of the same slider is what counts.
        while (this.#latest.get(key) === own && this.#events.opening() === opening) {
          const text = this.#events.text();
          const changed = await this.#api.edit(text, key, value);
          // What was typed during the request is not in its answer.
          if (this.#events.opening() !== opening || this.#events.text() !== text) continue;
          this.#events.set(changed);
          await this.#events.changed();
          return;
        }
      }),
    );
    return this.#queue;
  }
}
