import { type Bin, binsOf, sharesIn, sizeAt } from "../../data/ack-sizes.ts";
import type { ReverseTraffic } from "../../data/reverse.ts";
import { count, percent } from "../../format/numbers.ts";
import { variantColour } from "../../format/palette.ts";
import { type Child, h } from "../../page/dom.ts";
import { swatch } from "./marks.ts";

/** Most sizes written below a distribution, so that they do not overlap. */
const LABELS = 9;

const OF_TCP =
  " For TCP, bytes of options in pure ACKs: timestamps, and SACK if segments are missing.";

const binText = ({ from, to }: Bin): string =>
  to - from <= 1 ? `${from} bytes` : `${from} to ${Math.ceil(to) - 1} bytes`;

/** One bar, at least 3 % high, so that rare sizes stay visible. */
function bar(share: number, largest: number, bin: Bin, frames: number, index: number): Child {
  if (share === 0) return h("span", {});
  const height = `${Math.max(3, (100 * share) / largest).toFixed(2)}%`;
  const title = `${binText(bin)}: ${percent(share)} of ${count(frames)} ACKs`;
  const style = `height: ${height}; background: ${variantColour(index)}`;
  return h("span", { title }, h("i", { style }));
}

/** Sizes of ACK frames: a row of bars per variant, all to one scale; null if there are none. */
export function sizeBars(all: ReverseTraffic[]): HTMLElement | null {
  const sized = all.filter((s) => s.sizes.length > 0);
  if (sized.length === 0) return null;
  const bins = binsOf(sized.flatMap((s) => s.sizes.map(([size]) => size)));
  const shares = sized.map((s) => sharesIn(bins, s.sizes));
  const largest = Math.max(...shares.flat());
  const row = ({ sizes, variant, index, sizesOf }: ReverseTraffic, i: number): Child => {
    const [median, p99] = [sizeAt(sizes, 0.5), sizeAt(sizes, 0.99)];
    const frames = sizes.reduce((sum, [, n]) => sum + n, 0);
    const halves = `half of them at most ${median} bytes, 99 % at most ${p99} bytes`;
    const label = `${variant}: ${count(frames)} ACKs, ${halves}`;
    const options = sizesOf === "options" && h("small", {}, "options");
    return [
      h("div", { class: "layer-name" }, swatch(index), variant, options),
      h(
        "div",
        { class: "size-bars", role: "img", "aria-label": label },
        shares[i]!.map((share, k) => bar(share, largest, bins[k]!, frames, index)),
      ),
      h(
        "div",
        { class: "num" },
        h("span", { class: "strong" }, `${median}\u00a0B`),
        h("small", {}, `99 %: ${p99}\u00a0B`),
      ),
    ];
  };
  const every = Math.ceil(bins.length / LABELS);
  const size = ({ from }: Bin, k: number): Child =>
    k % every === 0 && h("b", {}, k === 0 ? `${from}\u00a0B` : String(from));
  const legend = ` tallest bar ${percent(largest)}; median at the right`;
  const tcp = sized.some((s) => s.sizesOf === "options") ? OF_TCP : "";
  return h(
    "figure",
    { class: "card sizes" },
    h("figcaption", {}, h("h3", {}, "ACK frame sizes", h("small", {}, legend))),
    h(
      "div",
      { class: "layer-rows" },
      sized.map(row),
      h("div", {}),
      h(
        "div",
        { class: "size-axis" },
        bins.map((b, k) => h("span", {}, size(b, k))),
      ),
      h("div", {}),
    ),
    h(
      "p",
      { class: "howto" },
      "Bytes of the frame alone, at least five (RFC 9000 §19.3); large packet numbers, long ACK " +
        `delays and gaps in the packets received take more.${tcp}`,
    ),
  );
}
