import { type Child, svg } from "../../page/dom.ts";

/** A laptop around a place. */
export function laptop(x: number, y: number): Child {
  return svg(
    "g",
    { class: "node", transform: `translate(${x},${y})` },
    svg("rect", { x: -15, y: -12, width: 30, height: 19, rx: 2 }),
    svg("path", { d: "M-21,12h42" }),
  );
}

/** A server around a place. */
export function rack(x: number, y: number): Child {
  return svg(
    "g",
    { class: "node", transform: `translate(${x},${y})` },
    svg("rect", { x: -12, y: -17, width: 24, height: 32, rx: 2 }),
    svg("path", { d: "M-12,-6.3h24M-12,4.3h24M-7,-11.6h5M-7,-1h5M-7,9.6h5" }),
  );
}

/** A router around a place. */
export function router(x: number, y: number): Child {
  return svg(
    "g",
    { class: "node", transform: `translate(${x},${y})` },
    svg("circle", { r: 13 }),
    svg("path", { d: "M-7,-3h14m-3.5,-3.5l3.5,3.5l-3.5,3.5M7,4h-14m3.5,-3.5l-3.5,3.5l3.5,3.5" }),
  );
}

/** A satellite around a place; `key` is what dragging it changes, where it can be dragged. */
export function satellite(x: number, y: number, key: string | null = null): Child {
  return svg(
    "g",
    { class: "node", transform: `translate(${x},${y})`, "data-drag": key },
    key && svg("rect", { class: "handle", x: -32, y: -16, width: 64, height: 32 }),
    svg("rect", { x: -6, y: -6, width: 12, height: 12, rx: 1.5 }),
    svg("path", { d: "M-6,0h-4M6,0h4M-26,-5h16v10h-16zM10,-5h16v10h-16zM-18,-5v10M18,-5v10" }),
  );
}

/** A dish that looks to the upper left, around a place. */
export function dish(x: number, y: number): Child {
  return svg(
    "g",
    { class: "node", transform: `translate(${x},${y})` },
    svg("path", { d: "M-13,-7A12,12 0 0,0 5,13zM-4,4L-11,14M-4,4L-1,15M-15,15H2M-4,3l-7,-7" }),
  );
}
