import { BYTE_LAYERS } from "../../data/byte-layers.ts";
import type { ReverseTraffic } from "../../data/reverse.ts";
import { bytes, percent } from "../../format/numbers.ts";
import { inkOn, layerColour } from "../../format/palette.ts";
import { type Child, h } from "../../page/dom.ts";

/** Smallest part of the longest bar that has its share written in it. */
const WORDED = 0.09;

/** Reverse bytes of a run by layer: a bar per variant, all to one scale. */
export function layerBars(all: ReverseTraffic[]): HTMLElement {
  const most = Math.max(...all.map((s) => s.total));
  const used = BYTE_LAYERS.filter((layer) =>
    all.some((s) => s.parts.some((p) => p.layer === layer)),
  );
  const segment = ({ layer, bytes: n }: ReverseTraffic["parts"][number], total: number): Child => {
    const background = layerColour(layer);
    const ink = inkOn(background);
    const width = `${((100 * n) / most).toFixed(3)}%`;
    const style = `width: ${width}; background: ${background}; color: ${ink}`;
    const title = `${layer.name}: ${bytes(n)}, ${percent(n / total)}`;
    return h(
      "span",
      { style, title },
      n / most >= WORDED && `${Math.round((100 * n) / total)}\u00a0%`,
    );
  };
  const row = (s: ReverseTraffic): Child => {
    const words = s.parts.map((p) => `${p.layer.name} ${bytes(p.bytes)}`).join(", ");
    const label = `${s.variant}: ${words}`;
    return [
      h("div", { class: "layer-name" }, s.variant),
      h(
        "div",
        { class: "layer-bar", role: "img", "aria-label": label },
        s.parts.map((p) => segment(p, s.total)),
      ),
      h("div", { class: "num strong" }, bytes(s.total)),
    ];
  };
  const several = all.some((s) => s.runs > 1);
  const key = used.map((layer) =>
    h(
      "span",
      {},
      h("i", { class: "block", style: `background: ${layerColour(layer)}` }),
      layer.name,
    ),
  );
  return h(
    "figure",
    { class: "card layers" },
    h(
      "figcaption",
      {},
      h("h3", {}, "Reverse bytes by layer", several && h("small", {}, " mean of the runs")),
    ),
    h("div", { class: "key" }, key),
    h("div", { class: "layer-rows" }, all.map(row)),
    h(
      "p",
      { class: "howto" },
      "All bytes sent against the data, with handshake and requests. ACK and " +
        "flow-control frames, or TCP headers and options, are about the data; the rest is " +
        "their cost as packets.",
    ),
  );
}
