/** What an element may contain: elements, text, or nothing. Text never becomes markup. */
export type Child = Node | string | number | null | undefined | false | Child[];

/** Attributes; functions become listeners for the event of that name. */
export type Attributes = Record<
  string,
  string | number | boolean | null | undefined | ((event: never) => void)
>;

function fill(el: Element, attributes: Attributes, children: Child[]): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") el.addEventListener(key, value as (event: Event) => void);
    else el.setAttribute(key, value === true ? "" : String(value));
  }
  append(el, children);
}

/** Appends children; strings and numbers go in as text. */
export function append(el: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(el, child);
    else el.append(typeof child === "number" ? String(child) : child);
  }
}

/** Makes an HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  fill(el, attributes, children);
  return el;
}

/** Makes an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(el, attributes, children);
  return el;
}

/** A text, in which words between backticks are code. */
export function withCode(text: string): Child {
  const parts = text.split("`");
  // A backtick without its pair stays as it is.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));
}

/** Replaces all children. */
export function replace(el: Element, ...children: Child[]): void {
  el.replaceChildren();
  append(el, children);
}

/** A labelled drop-down. */
export function select(
  label: string,
  options: { value: string; text: string }[],
  value: string,
  change: (value: string) => void,
): HTMLLabelElement {
  const el = h(
    "select",
    // A style may hide the label.
    { change: () => change(el.value), "aria-label": label },
    options.map((o) => h("option", { value: o.value, selected: o.value === value }, o.text)),
  );
  return h("label", { class: "field" }, h("span", {}, label), el);
}

/** A button that does something at once. */
export function button(
  text: string,
  click: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  return h("button", { type: "button", click, ...attributes }, text);
}

const sized = new Map<Element, () => void>();
const observer =
  typeof ResizeObserver === "undefined"
    ? null
    : new ResizeObserver((entries) => entries.forEach((e) => sized.get(e.target)?.()));

/** True on a screen as narrow as a phone's. */
export const onPhone = (): boolean => matchMedia("(max-width: 640px)").matches;

/** Calls back with the width of an element, now and at each change, while it is on the page. */
export function onWidth(el: Element, draw: (width: number) => void): void {
  let width = -1;
  sized.set(el, () => {
    if (!el.isConnected) {
      sized.delete(el);
      observer?.unobserve(el);
      return;
    }
    const now = Math.floor(el.clientWidth);
    if (now !== width && now > 0) {
      width = now;
      draw(now);
    }
  });
  observer?.observe(el);
}

/** Redraws what has changed its width at once, as printing does not wait. */
export function remeasure(): void {
  for (const check of [...sized.values()]) check();
}

/** Moves a tip to a place in its container, to the side away from the nearer edge. */
export function placeTip(
  tip: HTMLElement,
  [x, y]: [number, number],
  width: number,
  up: string,
): void {
  const side = x > width / 2 ? "calc(-100% - 10px)" : "10px";
  const at = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  tip.style.transform = `${at} translate(${side}, ${up})`;
}

/** Scrolls to an element, without animation if the reader prefers that. */
export function scrollTo(el: Element | null, block: ScrollLogicalPosition = "start"): void {
  el?.scrollIntoView({
    block,
    behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth",
  });
}
