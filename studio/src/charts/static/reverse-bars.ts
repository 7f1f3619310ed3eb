import { type Bin, binsOf, sharesIn, sizeAt } from "../../data/ack-sizes.ts";
import { BYTE_LAYERS } from "../../data/byte-layers.ts";
import type { ReverseTraffic } from "../../data/reverse.ts";
import { bytes, count, percent } from "../../format/numbers.ts";
import { contrast, layerColour, variantColour } from "../../format/palette.ts";
import { type Child, h } from "../../page/dom.ts";
import { swatch } from "./marks.ts";

/** A part of a bar that is at least this part of the longest bar has its share written in it. */
const WORDED = 0.09;

/** Sizes under a distribution: no more than fit beside each other. */
const LABELS = 9;

const INK = ["#ffffff", "#10151c"] as const;

/** Return bytes of a run by layer: a bar for each variant, all to one scale. */
export function layerBars(sides: ReverseTraffic[]): HTMLElement {
  const most = Math.max(...sides.map((s) => s.total));
  const used = BYTE_LAYERS.filter((layer) =>
    sides.some((s) => s.parts.some((p) => p.layer === layer)),
  );
  const row = (s: ReverseTraffic): Child => {
    const words = s.parts.map((p) => `${p.layer.name} ${bytes(p.bytes)}`).join(", ");
    const segments = s.parts.map((p) => {
      const colour = layerColour(p.layer);
      const ink = contrast(colour, INK[0]) > contrast(colour, INK[1]) ? INK[0] : INK[1];
      const style = `width: ${((100 * p.bytes) / most).toFixed(3)}%; background: ${colour}; color: ${ink}`;
      return h(
        "span",
        { style, title: `${p.layer.name}: ${bytes(p.bytes)}, ${percent(p.bytes / s.total)}` },
        p.bytes / most >= WORDED && `${Math.round((100 * p.bytes) / s.total)}\u00a0%`,
      );
    });
    return [
      h("div", { class: "layer-name" }, s.variant),
      h(
        "div",
        { class: "layer-bar", role: "img", "aria-label": `${s.variant}: ${words}` },
        segments,
      ),
      h("div", { class: "num strong" }, bytes(s.total)),
    ];
  };
  const runs = Math.max(...sides.map((s) => s.runs));
  return h(
    "figure",
    { class: "card layers" },
    h(
      "figcaption",
      {},
      h("h3", {}, "Return bytes by layer", h("small", {}, runs > 1 ? " average of the runs" : "")),
    ),
    h(
      "div",
      { class: "key" },
      used.map((layer) =>
        h(
          "span",
          {},
          h("i", { class: "block", style: `background: ${layerColour(layer)}` }),
          layer.name,
        ),
      ),
    ),
    h("div", { class: "layer-rows" }, sides.map(row)),
    h(
      "p",
      { class: "howto" },
      "Everything that goes against the data, handshake and requests included. Only ACK frames and credit, or the header and options of TCP, say anything about the data; the rest is what it costs to send that as packets.",
    ),
  );
}

const binText = ({ from, to }: Bin): string =>
  to - from <= 1 ? `${from} bytes` : `${from} to ${Math.ceil(to) - 1} bytes`;

/** How large ACK frames are: a row of bars for each variant, all to one scale; null where no variant has any. */
export function sizeBars(all: ReverseTraffic[]): HTMLElement | null {
  const sides = all.filter((s) => s.sizes.length > 0);
  if (sides.length === 0) return null;
  const bins = binsOf(sides.flatMap((s) => s.sizes.map(([size]) => size)));
  const shares = sides.map((s) => sharesIn(bins, s.sizes));
  const top = Math.max(...shares.flat());
  const every = Math.ceil(bins.length / LABELS);
  const row = (s: ReverseTraffic, i: number): Child => {
    const [median, p99, frames] = [
      sizeAt(s.sizes, 0.5),
      sizeAt(s.sizes, 0.99),
      s.sizes.reduce((sum, [, n]) => sum + n, 0),
    ];
    const bars = shares[i]!.map((share, k) =>
      // What is seldom is still to be seen.
      h(
        "span",
        {
          title:
            share > 0 ? `${binText(bins[k]!)}: ${percent(share)} of ${count(frames)} ACKs` : null,
        },
        share > 0 &&
          h("i", {
            style: `height: ${Math.max(3, (100 * share) / top).toFixed(2)}%; background: ${variantColour(s.index)}`,
          }),
      ),
    );
    return [
      h(
        "div",
        { class: "layer-name" },
        swatch(s.index),
        s.variant,
        s.sizesOf === "options" && h("small", {}, "options"),
      ),
      h(
        "div",
        {
          class: "size-bars",
          role: "img",
          "aria-label": `${s.variant}: ${count(frames)} ACKs, half of them at most ${median} bytes, 99 % at most ${p99} bytes`,
        },
        bars,
      ),
      h(
        "div",
        { class: "num" },
        h("span", { class: "strong" }, `${median}\u00a0B`),
        h("small", {}, `99 %: ${p99}\u00a0B`),
      ),
    ];
  };
  return h(
    "figure",
    { class: "card sizes" },
    h(
      "figcaption",
      {},
      h(
        "h3",
        {},
        "ACK frame sizes",
        h("small", {}, ` tallest bar ${percent(top)}; at the right the median`),
      ),
    ),
    h(
      "div",
      { class: "layer-rows" },
      sides.map(row),
      h("div", {}),
      h(
        "div",
        { class: "size-axis" },
        bins.map((b, k) =>
          h(
            "span",
            {},
            k % every === 0 && h("b", {}, k === 0 ? `${b.from}\u00a0B` : String(b.from)),
          ),
        ),
      ),
      h("div", {}),
    ),
    h(
      "p",
      { class: "howto" },
      `Bytes of the frame alone, five at the least (RFC 9000 §19.3). Large packet numbers and long delays take more, and so does each hole in what has arrived.${sides.some((s) => s.sizesOf === "options") ? " Of TCP, bytes of options in segments that only acknowledge: timestamps, and SACK where something is missing." : ""}`,
    ),
  );
}
