import type { Surface } from "./frame.ts";

/** Text for attributes and contents of SVG. */
export const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

const short = (x: number): string => String(Math.round(x * 100) / 100);

/** A path that also keeps its commands as those of SVG. */
export class SvgPath extends Path2D {
  d: string;

  constructor(from?: Path2D) {
    super(from);
    this.d = from instanceof SvgPath ? from.d : "";
  }

  override moveTo(x: number, y: number): void {
    this.d += `M${short(x)},${short(y)}`;
  }

  override lineTo(x: number, y: number): void {
    this.d += `L${short(x)},${short(y)}`;
  }

  override closePath(): void {
    this.d += "Z";
  }

  /** Draws a whole circle, which is all that plots need. */
  override arc(x: number, y: number, r: number): void {
    const [left, right, radius] = [short(x - r), short(x + r), short(r)];
    const half = `A${radius},${radius} 0 1,0 `;
    this.d += `M${right},${short(y)}${half}${left},${short(y)}${half}${right},${short(y)}`;
  }
}

/** What `save` keeps and `restore` brings back. */
const KEPT = [
  "fillStyle",
  "font",
  "globalAlpha",
  "lineJoin",
  "lineWidth",
  "strokeStyle",
  "textAlign",
  "textBaseline",
] as const;

/** A surface whose drawing is SVG. */
export class SvgSurface implements Surface {
  fillStyle: Surface["fillStyle"] = "#000";
  strokeStyle: Surface["strokeStyle"] = "#000";
  font = "12px sans-serif";
  globalAlpha = 1;
  lineJoin: CanvasLineJoin = "miter";
  lineWidth = 1;
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  readonly #out: string[] = [];
  readonly #states: { kept: Record<string, unknown>; groups: number; dash: number[] }[] = [];
  readonly #id: string;
  #path = new SvgPath();
  #dash: number[] = [];
  #groups = 0;
  #clips = 0;

  /** `measure` measures texts; `id` begins the ids of clip paths. */
  constructor(
    readonly measure: CanvasRenderingContext2D,
    id: string,
  ) {
    this.#id = id;
  }

  /** The elements drawn so far. */
  get elements(): string {
    return this.#out.join("\n");
  }

  save(): void {
    const kept = Object.fromEntries(KEPT.map((key) => [key, this[key]]));
    this.#states.push({ kept, groups: this.#groups, dash: this.#dash });
    this.#groups = 0;
  }

  restore(): void {
    this.#out.push("</g>".repeat(this.#groups));
    const state = this.#states.pop();
    if (!state) return;
    Object.assign(this, state.kept);
    this.#groups = state.groups;
    this.#dash = state.dash;
  }

  setLineDash(dash: number[]): void {
    this.#dash = dash;
  }

  beginPath(): void {
    this.#path = new SvgPath();
  }

  moveTo(x: number, y: number): void {
    this.#path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.#path.lineTo(x, y);
  }

  rect(x: number, y: number, width: number, height: number): void {
    const [left, top, right, bottom] = [x, y, x + width, y + height].map(short);
    this.#path.d += `M${left},${top}H${right}V${bottom}H${left}Z`;
  }

  clip(): void {
    const id = `${this.#id}-${this.#clips++}`;
    this.#out.push(`<clipPath id="${id}"><path d="${this.#path.d}"/></clipPath>`);
    this.#out.push(`<g clip-path="url(#${id})">`);
    this.#groups++;
  }

  fill(path?: unknown): void {
    const { d } = path instanceof SvgPath ? path : this.#path;
    if (d) this.#out.push(`<path d="${d}" fill="${String(this.fillStyle)}"${this.#alpha}/>`);
  }

  stroke(path?: unknown): void {
    const { d } = path instanceof SvgPath ? path : this.#path;
    if (!d) return;
    const dash = this.#dash.length > 0 ? ` stroke-dasharray="${this.#dash.join(" ")}"` : "";
    this.#out.push(
      `<path d="${d}" fill="none" stroke="${String(this.strokeStyle)}" ` +
        `stroke-width="${short(this.lineWidth)}" ` +
        `stroke-linejoin="${this.lineJoin}"${dash}${this.#alpha}/>`,
    );
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.#out.push(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" ` +
        `fill="${String(this.fillStyle)}"${this.#alpha}/>`,
    );
  }

  fillText(text: string, x: number, y: number): void {
    const size = parseFloat(this.font) || 12;
    const family = this.font.slice(this.font.indexOf(" ") + 1);
    const anchor =
      { right: "end", end: "end", center: "middle" }[this.textAlign as "end"] ?? "start";
    const down = this.textBaseline === "middle" ? 0.36 : this.textBaseline === "top" ? 0.8 : 0;
    this.#out.push(
      `<text x="${short(x)}" y="${short(y + down * size)}" font-size="${short(size)}" ` +
        `font-family="${escaped(family)}" text-anchor="${anchor}" ` +
        `fill="${String(this.fillStyle)}"${this.#alpha}>${escaped(text)}</text>`,
    );
  }

  measureText(text: string): TextMetrics {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  get #alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : "";
  }
}
