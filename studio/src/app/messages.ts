/** What a text plans or what is wrong with it, and what happened last. */
import { plural } from "../format/numbers.ts";
import { button, h, replace } from "../page/dom.ts";
import type { Checked, Fault, Outlook } from "./api.ts";
import { timeWords } from "./estimate.ts";

/** Two lines of words. */
export class Messages {
  readonly element: HTMLElement;
  readonly #status = h("p", { class: "status", role: "status" });
  readonly #notice = h("p", { class: "status notice", role: "status" });
  /** How long the runs take. */
  readonly #time = h("span", {});
  readonly #reveal: (fault: Fault) => void;

  /** `reveal` leads to an error in the text. */
  constructor(reveal: (fault: Fault) => void) {
    this.#reveal = reveal;
    this.element = h("div", { class: "messages" }, this.#status, this.#notice);
  }

  /** Says what happened. */
  notify(text: string, bad = false): void {
    replace(this.#notice, text);
    this.#notice.classList.toggle("bad", bad);
  }

  /** Offers to do something about what was said last. */
  offer(words: string, act: () => Promise<void>): void {
    if (this.#notice.querySelector("button")) return;
    this.#notice.append(
      " ",
      button(words, () => void act(), { class: "link" }),
    );
  }

  /** Says what a text plans, or what is wrong with it. */
  say({ plan, error }: Checked): void {
    this.#status.classList.toggle("bad", error !== null);
    if (error) {
      replace(
        this.#status,
        error.line > 0 && [
          button(`line ${error.line}`, () => this.#reveal(error), { class: "link" }),
          " ",
        ],
        error.message,
        error.help && `. ${error.help}`,
      );
      return;
    }
    if (!plan) return;
    const variants = plan.variants.length > 1 ? `, ${plan.variants.length} variants` : "";
    const stored = plan.in_store > 0 ? `, ${plan.in_store} of them in the result store` : "";
    const runs = `${plan.title}: ${plural(plan.runs, "run")}${variants}${stored}`;
    // That of another text would be wrong.
    replace(this.#time);
    replace(this.#status, runs, this.#time);
  }

  /** Adds how long the runs take. */
  sayTime(outlook: Outlook): void {
    replace(this.#time, timeWords(outlook));
  }
}
