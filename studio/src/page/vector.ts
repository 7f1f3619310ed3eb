import { svg } from "./dom.ts";

/** What is no part of a figure that is taken away: controls, tips, what is folded. */
const LEFT_OUT =
  ".controls, .segments, .tip, .figure-menu, .quiet-button, .budgets-foot, details, .spot-ring";

/** Properties of drawings that style sheets set. */
const DRAWN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
] as const;

/** How a figure is written for a paper. */
export interface PaperStyle {
  /** Width in millimetres; 0: as on the screen. */
  width: number;
  serif: boolean;
  /** Colours as a printer without colours makes them. */
  grey: boolean;
}

/** The grey of a colour's luminance. */
function greyOf(colour: string): string {
  const [r = 0, g = 0, b = 0, a = 1] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  // Mixed colours are parts of one, as in `color(srgb 0.1 0.3 0.2)`.
  const most = colour.startsWith("color") ? 255 : 1;
  const y = Math.round(most * (0.2126 * r + 0.7152 * g + 0.0722 * b));
  return a === 1 ? `rgb(${y}, ${y}, ${y})` : `rgba(${y}, ${y}, ${y}, ${a})`;
}

const isSeen = (colour: string): boolean => !/^rgba\(.*, 0\)$|^transparent$|^none$/.test(colour);

/** Writes a figure of HTML and drawings as one drawing: boxes, lines, texts where they stand. */
class Vector {
  readonly out = svg("svg", { xmlns: "http://www.w3.org/2000/svg" });
  readonly #measure = document.createElement("canvas").getContext("2d")!;

  constructor(
    readonly origin: DOMRect,
    readonly style: PaperStyle,
  ) {}

  #colour(colour: string): string {
    return this.style.grey && /^(rgb|color)/.test(colour) ? greyOf(colour) : colour;
  }

  #rect(x: number, y: number, width: number, height: number, more: Record<string, string>): void {
    const place = { x: x - this.origin.x, y: y - this.origin.y, width, height };
    this.out.append(svg("rect", { ...place, ...more }));
  }

  /** The background and the borders of a box. */
  #box(el: Element, css: CSSStyleDeclaration): void {
    const { x, y, width, height, bottom, right } = el.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    // A scale of colours is as many boxes.
    const steps = css.backgroundImage.match(/rgba?\([^)]*\)/g) ?? [];
    steps.forEach((fill, i) => {
      const part = width / steps.length;
      this.#rect(x + i * part, y, part, height, { fill: this.#colour(fill) });
    });
    if (isSeen(css.backgroundColor))
      this.#rect(x, y, width, height, {
        fill: this.#colour(css.backgroundColor),
        rx: String(parseFloat(css.borderTopLeftRadius) || 0),
      });
    for (const [side, x1, y1, x2, y2] of [
      ["top", x, y, right, y],
      ["bottom", x, bottom, right, bottom],
      ["left", x, y, x, bottom],
      ["right", right, y, right, bottom],
    ] as const) {
      const wide = parseFloat(css.getPropertyValue(`border-${side}-width`));
      const kind = css.getPropertyValue(`border-${side}-style`);
      if (!(wide > 0) || kind === "none") continue;
      const [dx, dy] = [this.origin.x, this.origin.y];
      const stroke = this.#colour(css.getPropertyValue(`border-${side}-color`));
      const dash = kind === "dashed" ? { "stroke-dasharray": "4 3" } : {};
      const ends = { x1: x1 - dx, y1: y1 - dy, x2: x2 - dx, y2: y2 - dy };
      this.out.append(svg("line", { ...ends, stroke, "stroke-width": wide, ...dash }));
    }
  }

  /** The lines of a text where they stand. */
  #text(node: Text, el: Element, css: CSSStyleDeclaration): void {
    const range = document.createRange();
    const lines: { words: string; box: DOMRect }[] = [];
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      const last = lines.at(-1);
      if (last && Math.abs(last.box.top - box.top) < 2) last.words += ` ${word}`;
      else if (box.width > 0) lines.push({ words: word, box });
    }
    // What the page cuts off is cut here too.
    const cut = css.overflowX !== "visible" ? el.clientWidth / Math.max(1, el.scrollWidth) : 1;
    this.#measure.font = css.font;
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } =
      this.#measure.measureText("x");
    for (const { words, box } of lines) {
      const shown = cut < 0.99 ? `${words.slice(0, Math.floor(words.length * cut) - 1)}…` : words;
      const at = {
        x: box.left - this.origin.x,
        y: box.top - this.origin.y + (box.height - up - down) / 2 + up,
        fill: this.#colour(css.color),
        "font-size": css.fontSize,
        "font-weight": css.fontWeight,
        "font-family": this.style.serif ? "serif" : css.fontFamily,
      };
      this.out.append(svg("text", at, shown));
    }
  }

  /** A drawing, with what style sheets give it. */
  #drawing(el: SVGSVGElement): void {
    const { x, y, width, height } = el.getBoundingClientRect();
    const copy = el.cloneNode(true) as SVGSVGElement;
    const own = [...el.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((to, i) => {
      const css = getComputedStyle(own[i]!);
      to.removeAttribute("style");
      to.removeAttribute("class");
      for (const name of DRAWN) {
        const value = css.getPropertyValue(name);
        const serif = name === "font-family" && this.style.serif;
        if (value) to.setAttribute(name, serif ? "serif" : this.#colour(value));
      }
    });
    for (const { name } of [...copy.attributes])
      if (!["viewBox", "width", "height"].includes(name)) copy.removeAttribute(name);
    for (const ring of copy.querySelectorAll(".spot-ring")) ring.remove();
    const place = { x: x - this.origin.x, y: y - this.origin.y, width, height };
    for (const [name, value] of Object.entries({ ...place, overflow: "visible" }))
      copy.setAttribute(name, String(value));
    this.out.append(copy);
  }

  add(el: Element): void {
    const css = getComputedStyle(el);
    if (el.matches(LEFT_OUT) || css.display === "none" || css.visibility === "hidden") return;
    if (el instanceof SVGSVGElement) this.#drawing(el);
    else if (el instanceof HTMLCanvasElement) {
      const { x, y, width, height } = el.getBoundingClientRect();
      const place = { x: x - this.origin.x, y: y - this.origin.y, width, height };
      this.out.append(svg("image", { ...place, href: el.toDataURL() }));
    } else {
      this.#box(el, css);
      for (const child of el.childNodes) {
        if (child instanceof Element) this.add(child);
        else if (child instanceof Text && child.data.trim()) this.#text(child, el, css);
      }
    }
  }
}

/** Space beside a caption, height of its lines and size of its letters, in CSS pixels. */
const EDGE = 16;
const LINE = 14;
const SMALL = 10.5;

/** A text in lines of a width. */
function inLines(text: string, width: number, font: string): string[] {
  const measure = document.createElement("canvas").getContext("2d")!;
  measure.font = font;
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (measure.measureText(longer).width <= width) lines.splice(-1, 1, longer);
    else lines.push(word);
  }
  return lines;
}

/** A figure as SVG text with its size in CSS pixels, and a caption below it. */
export function vectorOf(
  figure: HTMLElement,
  caption: string,
  style: PaperStyle,
): { svg: string; width: number; height: number } {
  const box = figure.getBoundingClientRect();
  const vector = new Vector(box, style);
  const width = Math.ceil(box.width);
  const font = style.serif ? "serif" : getComputedStyle(figure).fontFamily;
  const lines = inLines(caption, width - 2 * EDGE, `${SMALL}px ${font}`);
  const height = Math.ceil(box.height) + lines.length * LINE + EDGE / 2;
  const ground = getComputedStyle(figure).backgroundColor;
  const muted = getComputedStyle(document.documentElement).getPropertyValue("--muted").trim();
  vector.out.append(svg("title", {}, caption));
  vector.out.append(svg("rect", { width, height, fill: style.width > 0 ? "#fff" : ground }));
  for (const child of figure.children) vector.add(child);
  lines.forEach((words, i) => {
    const y = height - EDGE / 2 - (lines.length - 1 - i) * LINE;
    const at = { x: EDGE, y, "font-size": SMALL, "font-family": font, fill: muted };
    vector.out.append(svg("text", at, words));
  });
  const mm = style.width;
  const size = mm > 0 ? [`${mm}mm`, `${((mm * height) / width).toFixed(2)}mm`] : [width, height];
  for (const [name, value] of [
    ["viewBox", `0 0 ${width} ${height}`],
    ["width", size[0]],
    ["height", size[1]],
  ] as const)
    vector.out.setAttribute(name, String(value));
  return { svg: `${new XMLSerializer().serializeToString(vector.out)}\n`, width, height };
}
