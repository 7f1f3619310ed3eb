import { VARIANT_COLOURS, variantColour } from "../../format/palette.ts";
import { svg } from "../../page/dom.ts";

/** A small mark in a variant's colour and shape. */
export function swatch(index: number): SVGSVGElement {
  return svg(
    "svg",
    { class: "swatch", viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" },
    svg("path", { d: markerPath(index, 5), fill: variantColour(index) }),
  );
}

/** The outline of the index-th marker around the origin. When colours repeat, shapes differ. */
export function markerPath(index: number, r: number): string {
  switch ((index + Math.floor(index / VARIANT_COLOURS)) % 4) {
    case 0:
      return `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
    case 1:
      return `M${-r * 0.88},${-r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`;
    case 2:
      return `M0,${-r * 1.1}L${r * 1.1},${r * 0.85}H${-r * 1.1}z`;
    default:
      return `M0,${-r * 1.25}L${r * 1.25},0L0,${r * 1.25}L${-r * 1.25},0z`;
  }
}

/** The diamond of a published value: hollow for an objective, filled for a measurement. */
export function publishedMark(kind: string, x = 0, y = 0): SVGPathElement {
  return svg("path", {
    class: `published ${kind === "measured" ? "measured" : "objective"}`,
    d: `M${x},${y - 6}l6,6l-6,6l-6,-6z`,
  });
}
