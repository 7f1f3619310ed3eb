/** Requests that fail: what was wrong is said, and a command that does not answer is waited for. */
import { h, replace } from "../page/dom.ts";
import { reasonOf } from "../sections/parts.ts";
import { type Api, NoAnswer } from "./api.ts";
import { offlinePanel } from "./panels.ts";

/** Time between two looks for a command that has not answered. */
const RETURN_MS = 2000;

/** What a connection does in its page. */
export interface ConnectionEvents {
  notify(text: string, bad?: boolean): void;
  /** Keeps the text outside the page. */
  download(): void;
  /** Goes on at another address. */
  move(address: string): void;
  /** The command answers again. */
  returned(): Promise<void>;
}

/** The connection. */
export class Connection {
  /** What to do while the command does not answer. */
  readonly panel = h("div", { class: "panels" });
  readonly #api: Api;
  readonly #events: ConnectionEvents;
  #isWaiting = false;

  constructor(api: Api, events: ConnectionEvents) {
    this.#api = api;
    this.#events = events;
  }

  /** Does something, and shows what went wrong with it. */
  guard = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (error instanceof NoAnswer) this.#lost();
      else this.#events.notify(reasonOf(error), true);
    }
  };

  /** Says that the command does not answer, and waits until it does. */
  #lost(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    replace(
      this.panel,
      offlinePanel(
        () => this.#events.download(),
        (address) => this.#events.move(address),
      ),
    );
    setTimeout(() => void this.#look(), RETURN_MS);
  }

  async #look(): Promise<void> {
    try {
      await this.#api.list();
    } catch (error) {
      // Another studio at this address does not know the secret.
      if (!(error instanceof NoAnswer)) this.#events.notify(reasonOf(error), true);
      else setTimeout(() => void this.#look(), RETURN_MS);
      return;
    }
    this.#isWaiting = false;
    replace(this.panel);
    this.#events.notify("the studio answers again");
    await this.guard(() => this.#events.returned());
  }
}
