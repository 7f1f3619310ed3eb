/** Runs since the start, the newest first. */
import { count, plural } from "../format/numbers.ts";
import { button, h, replace } from "../page/dom.ts";
import { isActive, type RunState } from "./api.ts";
import { changesLine } from "./changes.ts";

/** What a reader does with runs. */
export interface RunEvents {
  show(id: number): void;
  pin(id: number): void;
  cancel(id: number): void;
  restore(id: number): void;
}

/** A run's state in words. */
export function phaseText({ phase, done, planned, reused, error }: RunState): string {
  if (phase === "waiting") return "waits";
  const all = plural(planned, "run");
  if (phase === "running") return `${count(done)} of ${all}`;
  if (phase === "failed") return error ?? "failed";
  const stored = reused > 0 ? `, ${count(reused)} from the store` : "";
  return phase === "done" ? `${all}${stored}` : `cancelled at ${count(done)} of ${all}`;
}

interface Row {
  element: HTMLElement;
  words: HTMLElement;
  progress: HTMLProgressElement;
  pin: HTMLButtonElement;
  /** What decides which parts the row has. */
  kind: string;
}

/**
 * The list of runs. A row keeps its elements while the parts it needs stay the same: a button that
 * were replaced between the press and the release of a mouse would not be clicked.
 */
export class History {
  readonly element = h("div", {});
  readonly #list = h("ol", { class: "runs" });
  readonly #rows = new Map<number, Row>();
  readonly #events: RunEvents;

  constructor(events: RunEvents) {
    this.#events = events;
  }

  /** Shows runs, which of them is shown, and which ones are pinned. */
  show(runs: RunState[], shown: number | null, pins: number[]): void {
    const rows = runs.map((run) => {
      const row = this.#row(run);
      const words = phaseText(run);
      if (row.words.textContent !== words) replace(row.words, words);
      row.progress.value = run.done;
      row.element.ariaCurrent = run.id === shown ? "true" : null;
      const pinned = pins.includes(run.id);
      const pin = pinned ? "Unpin" : "Pin";
      // Even the same text would be laid out again.
      if (row.pin.textContent !== pin) row.pin.textContent = pin;
      row.pin.setAttribute("aria-label", `${pinned ? "Unpin" : "Pin"} run ${run.id}`);
      row.pin.setAttribute("aria-pressed", String(pinned));
      return row.element;
    });
    const kept = new Set(runs.map(({ id }) => id));
    for (const id of this.#rows.keys()) if (!kept.has(id)) this.#rows.delete(id);
    const same = rows.length === this.#list.children.length;
    if (!same || rows.some((row, i) => row !== this.#list.children[i])) replace(this.#list, rows);
    const whole = runs.length > 0 ? this.#list : h("p", { class: "hint" }, "Nothing has run yet.");
    if (this.element.firstChild !== whole) replace(this.element, whole);
  }

  #row(run: RunState): Row {
    const kind = `${run.phase} ${run.has_report}`;
    const known = this.#rows.get(run.id);
    if (known?.kind === kind) return known;
    const { id, file, phase, planned, has_report } = run;
    const words = h("small", {});
    const progress = h("progress", { max: planned, "aria-label": `Run ${id}` });
    const named = (text: string, act: () => void): HTMLButtonElement =>
      button(text, act, { "aria-label": `${text} ${text.includes(" ") ? "of " : ""}run ${id}` });
    const pin = button("Pin", () => this.#events.pin(id));
    const changes = changesLine(run.changes);
    const element = h(
      "li",
      { class: phase },
      h(
        "span",
        { class: "what", title: run.changes.length > 0 ? changes : null },
        h("b", {}, id),
        " ",
        h("span", { class: "changes" }, changes || file),
        " ",
        words,
      ),
      phase === "running" && progress,
      has_report && named("Show", () => this.#events.show(id)),
      has_report && pin,
      isActive(run)
        ? named("Cancel", () => this.#events.cancel(id))
        : named("Restore text", () => this.#events.restore(id)),
    );
    const row = { element, words, progress, pin, kind };
    this.#rows.set(id, row);
    return row;
  }
}
