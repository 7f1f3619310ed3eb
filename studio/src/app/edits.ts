/** Changes of single keys by controls. They wait for each other, and only the latest counts. */
import type { Api } from "./api.ts";

/** What edits do in their page. */
export interface EditEvents {
  text(): string;
  set(text: string): void;
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

  /** Sets a key, or removes it; each change starts from the text of the one before. */
  change(key: string, value: string | null): Promise<void> {
    const own = Symbol(key);
    this.#latest.set(key, own);
    this.count += 1;
    this.#queue = this.#queue.then(() =>
      this.#events.guard(async () => {
        // A later position of the same slider is what counts.
        if (this.#latest.get(key) !== own) return;
        this.#events.set(await this.#api.edit(this.#events.text(), key, value));
        await this.#events.changed();
      }),
    );
    return this.#queue;
  }
}
