/** Drags at the drawing of the path: its satellite for the round-trip time, rates as they are. */
import { STEPS } from "./quantity.ts";

/** Pixels of a drag over the whole range of a slider. */
const RANGE = 300;

/** The sliders of keys, which a drag moves. */
export interface DraggedSliders {
  /** Takes the slider of a key in use, and returns its position; null if it has none now. */
  take(key: string): number | null;
  /** Moves the slider that is in use. */
  move(key: string, step: number): void;
}

/** Makes what the drawing marks with `data-drag` move sliders. The drawing may be drawn anew. */
export function dragPath(drawing: HTMLElement, sliders: DraggedSliders): void {
  let drag: { key: string; from: number; x: number; y: number; upwards: boolean } | null = null;
  drawing.addEventListener("pointerdown", (event) => {
    const part = event.target instanceof Element ? event.target.closest("[data-drag]") : null;
    const key = part?.getAttribute("data-drag");
    if (!part || !key || event.button !== 0) return;
    const from = sliders.take(key);
    if (from === null) return;
    // The slider has the focus now, and keys go on with it.
    event.preventDefault();
    drawing.setPointerCapture(event.pointerId);
    drag = { key, from, x: event.clientX, y: event.clientY, upwards: part.matches(".node") };
    drawing.classList.add("dragging");
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const by = drag.upwards ? drag.y - event.clientY : event.clientX - drag.x;
    const step = Math.round(drag.from + (by / RANGE) * STEPS);
    sliders.move(drag.key, Math.max(0, Math.min(STEPS, step)));
  });
  const end = (): void => {
    drag = null;
    drawing.classList.remove("dragging");
  };
  drawing.addEventListener("pointerup", end);
  drawing.addEventListener("pointercancel", end);
}
