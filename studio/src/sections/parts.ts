import type { Report } from "../data/report.types.ts";
import { type Child, h, replace } from "../page/dom.ts";

/** The reason of a failure, in words. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The version of Bentpipe that wrote a report, with its commit if that is known. */
export const versionOf = ({ version, commit }: Report): string =>
  commit ? `${version} (${commit})` : version;

/** Where a figure came from: title, scenario, seed and version. */
export const captionOf = (report: Report, title: string): string =>
  `${title}. Scenario ${report.scenario}, seed ${report.seed}, ${report.clock} clock, ` +
  `Bentpipe ${versionOf(report)}.`;

/** Notes for readers: whatever limits what the results say. */
export const limitsOf = ({ complete, notes }: Report): string[] => [
  ...(complete ? [] : ["This report is not complete: the runs were ended early."]),
  ...notes,
];

/** Distance from the window at which sections start to work, in CSS pixels. */
const NEAR = "800px";

/** Time after which a page that was opened is at rest, in milliseconds. */
const IDLE_MS = 1500;

/**
 * Calls back once, when an element comes near the window. What is returned ends that; it returns
 * true if it was still to come.
 */
export function whenNear(el: Element, call: () => void): () => boolean {
  let waits = true;
  const stop = (): boolean => {
    watch.disconnect();
    const before = waits;
    waits = false;
    return before;
  };
  const watch = new IntersectionObserver(
    (entries) => entries.some((e) => e.isIntersecting) && stop() && call(),
    { rootMargin: NEAR },
  );
  watch.observe(el);
  return stop;
}

/** Calls back when a page of its own has had nothing to do for a while; never in a frame. */
export function whenIdle(call: () => void): void {
  if (parent !== window) return;
  const idle = globalThis.requestIdleCallback ?? ((f: () => void) => setTimeout(f, 2000));
  setTimeout(() => idle(call), IDLE_MS);
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
