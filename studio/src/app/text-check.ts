/** Checks a text once its writer pauses, and looks further once it rests. */
import type { Api, Checked, Outlook } from "./api.ts";

/** Time without typing after which a text is checked. */
const PAUSE_MS = 150;
/** Time without another change after which a valid text's path and time are looked at. */
const REST_MS = 350;

/** Where a text comes from, and where what is known about it goes. */
export interface CheckEvents {
  /** The name of its file, and the text. */
  text(): [file: string, text: string];
  /** A pause has come. */
  paused(): void;
  checked(answer: Checked): void;
  /** What a valid text will do; null of one that is not valid. */
  looked(outlook: Outlook | null): Promise<void>;
  /** Does something, and shows what went wrong with it. */
  guard(work: () => Promise<void>): Promise<void>;
}

/** The checks of one text after another. */
export class TextCheck {
  readonly #api: Api;
  readonly #events: CheckEvents;
  #pause = 0;
  #rest = 0;
  /** Ends the requests about a text that is not the one in the editor any more. */
  #waiting = new AbortController();
  /** The last answer. */
  latest: Checked | null = null;

  constructor(api: Api, events: CheckEvents) {
    this.#api = api;
    this.#events = events;
  }

  /** The text has changed. */
  changed(): void {
    this.#leave();
    this.#pause = setTimeout(() => {
      this.#events.paused();
      void this.now();
    }, PAUSE_MS);
  }

  /** Checks the text at once. */
  async now(): Promise<void> {
    this.#leave();
    const { signal } = this.#waiting;
    const asked = this.#events.text();
    await this.#ask(signal, this.#api.check(...asked, signal), async (answer) => {
      if (!this.#isStill(asked)) return;
      this.latest = answer;
      this.#events.checked(answer);
      if (answer.plan) this.#rest = setTimeout(() => void this.#look(asked, signal), REST_MS);
      else await this.#events.looked(null);
    });
  }

  /** Waits no more for what was asked. */
  #leave(): void {
    clearTimeout(this.#pause);
    clearTimeout(this.#rest);
    this.#waiting.abort();
    this.#waiting = new AbortController();
  }

  /** Takes an answer. One that nobody waits for is none, and no error either. */
  async #ask<T>(
    signal: AbortSignal,
    asked: Promise<T>,
    take: (answer: T) => Promise<void>,
  ): Promise<void> {
    await this.#events.guard(async () => {
      let answer: T;
      try {
        answer = await asked;
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      await take(answer);
    });
  }

  #isStill([file, text]: [string, string]): boolean {
    const [name, now] = this.#events.text();
    return name === file && now === text;
  }

  async #look(asked: [string, string], signal: AbortSignal): Promise<void> {
    await this.#ask(signal, this.#api.outlook(...asked, signal), async (outlook) => {
      if (this.#isStill(asked)) await this.#events.looked(outlook);
    });
  }
}
