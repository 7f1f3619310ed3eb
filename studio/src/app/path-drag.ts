/** Drags in the drawing of the path: of its satellite for the RTT, of a rate for that rate. */
import type { Form } from "./form.ts";
import { STEPS } from "./quantity.ts";

/** Pixels of a drag over the whole range of a slider. */
const RANGE = 300;

/** Makes what the drawing marks with `data-drag` move sliders. The drawing may be drawn anew. */
export function dragPath(drawing: HTMLElement, sliders: Form): void {
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
