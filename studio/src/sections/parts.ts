import type { Report } from "../data/report.types.ts";
import { type Child, h, replace } from "../page/dom.ts";

/** The reason of a failure, in words. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The version of Bentpipe that wrote a report, with its commit if that is known. */
export const versionOf = ({ version, commit }: Report): string =>
  commit ? `${version} (${commit})` : version;

/** Notes for readers: whatever limits what the results say. */
export const limitsOf = ({ complete, notes }: Report): string[] => [
  ...(complete ? [] : ["This report is not complete: the runs were ended early."]),
  ...notes,
];

/** Distance from the window at which sections start to work, in CSS pixels. */
const NEAR = "800px";

/** Calls back once, when an element comes near the window. */
export function whenNear(el: Element, call: () => void): void {
  const watch = new IntersectionObserver(
    (entries) => {
      if (!entries.some((e) => e.isIntersecting)) return;
      watch.disconnect();
      call();
    },
    { rootMargin: NEAR },
  );
  watch.observe(el);
}

/** A line that says how a section is doing; hidden while there is nothing to say. */
export class Status {
  readonly el = h("p", { class: "note", role: "status", hidden: true });

  say(...words: Child[]): void {
    replace(this.el, ...words);
    this.el.hidden = false;
  }

  clear(): void {
    this.el.hidden = true;
  }
}
