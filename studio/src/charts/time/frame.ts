/** What plots use of a canvas, so that a drawing as SVG can stand in for it. */
export type Surface = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "clip"
  | "fill"
  | "fillRect"
  | "fillStyle"
  | "fillText"
  | "font"
  | "globalAlpha"
  | "lineJoin"
  | "lineTo"
  | "lineWidth"
  | "measureText"
  | "moveTo"
  | "rect"
  | "restore"
  | "save"
  | "setLineDash"
  | "stroke"
  | "strokeStyle"
  | "textAlign"
  | "textBaseline"
>;

/** Where a plot is drawn on its canvas (device pixels), and the window of data that it shows. */
export interface Frame {
  ctx: Surface;
  /** Begins a path, or copies one. */
  path: (from?: Path2D) => Path2D;
  left: number;
  top: number;
  width: number;
  height: number;
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  dpr: number;
}

/** The fonts of text on a canvas, as in the style sheet. */
export const FONTS =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** The font of text on a canvas, `size` CSS pixels high. */
export const font = (size: number, dpr = 1): string => `${size * dpr}px ${FONTS}`;

/** Returns the function from times to canvas pixels. */
export function toX({ left, width, x0, x1 }: Frame): (t: number) => number {
  const scale = width / (x1 - x0);
  return (t) => left + (t - x0) * scale;
}

/** Returns the function from values to canvas pixels. */
export function toY({ top, height, y0, y1 }: Frame): (v: number) => number {
  const scale = height / (y1 - y0);
  return (v) => top + height - (v - y0) * scale;
}
