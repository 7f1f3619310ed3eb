import { h } from "../../page/dom.ts";
import type { Timeline } from "./timeline.ts";

/** Movements shorter than this are clicks, in CSS pixels. */
const CLICK = 6;

/** A drag across a plot: to zoom, or to pan the window. */
interface Drag {
  from: number;
  x: number;
  pan: boolean;
  view: [number, number];
}

/**
 * Listens to the gestures on a plot that move the window and the cursor. `pointed` is called with
 * the pointer's position while it hovers over the plot, else with null.
 */
export function listen(
  over: HTMLElement,
  timeline: Timeline,
  pointed: (event: PointerEvent | null) => void,
): void {
  const band = h("div", { class: "select-band", hidden: true });
  over.append(band);
  let drag: Drag | null = null;
  const timeAt = (event: MouseEvent): number => {
    const [a, b] = timeline.view;
    const box = over.getBoundingClientRect();
    return a + ((event.clientX - box.left) / box.width) * (b - a);
  };
  const show = ({ x }: Drag, to: number): void => {
    const box = over.getBoundingClientRect();
    const left = Math.max(0, Math.min(x, to) - box.left);
    const right = Math.min(box.width, Math.max(x, to) - box.left);
    band.hidden = right - left < 4;
    band.style.left = `${left}px`;
    band.style.width = `${right - left}px`;
  };
  const end = (event: PointerEvent): void => {
    const done = drag;
    drag = null;
    band.hidden = true;
    if (!done || done.pan || event.type === "pointercancel") return;
    if (Math.abs(event.clientX - done.x) < CLICK) return;
    const to = timeAt(event);
    timeline.show([Math.min(done.from, to), Math.max(done.from, to)]);
  };
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || (event.button !== 0 && event.button !== 1)) return;
    event.preventDefault();
    over.setPointerCapture(event.pointerId);
    const pan = event.shiftKey || event.button === 1;
    drag = { from: timeAt(event), x: event.clientX, pan, view: timeline.view };
    over.closest<HTMLElement>("[tabindex]")?.focus({ preventScroll: true });
  });
  over.addEventListener("pointermove", (event) => {
    if (drag?.pan) {
      const [a, b] = drag.view;
      const shift = ((event.clientX - drag.x) / over.clientWidth) * (b - a);
      timeline.show([a - shift, b - shift]);
      return;
    }
    timeline.point(timeAt(event));
    pointed(drag ? null : event);
    if (drag) show(drag, event.clientX);
  });
  over.addEventListener("pointerup", end);
  over.addEventListener("pointercancel", end);
  over.addEventListener("pointerleave", () => {
    if (!drag) timeline.point(null);
    pointed(null);
  });
  over.addEventListener("dblclick", () => timeline.show(timeline.home));
  const wheeled = (event: WheelEvent): void => {
    // A page scrolls on over its plots, unless the reader has clicked one, or holds Ctrl.
    const isChosen = over.closest("[tabindex]") === document.activeElement;
    if (isChosen || event.ctrlKey || event.metaKey) wheel(event, timeline, timeAt(event));
  };
  over.addEventListener("wheel", wheeled, { passive: false });
}

/** Zooms around a time, or pans if the wheel turns sideways. */
function wheel(event: WheelEvent, timeline: Timeline, time: number): void {
  // There is nothing further out than the whole run.
  if (timeline.atHome && event.deltaY > 0 && !event.ctrlKey && !event.shiftKey) return;
  event.preventDefault();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    timeline.pan((event.deltaX || event.deltaY) / 1000);
  else timeline.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))), time);
}
