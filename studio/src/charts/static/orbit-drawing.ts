import type { HopSummary, PathSummary } from "../../data/report.types.ts";
import { type Child, svg } from "../../page/dom.ts";
import { dish, laptop, rack, satellite } from "./icons.ts";

/** Names of the kinds of links of a constellation, as path summaries give them. */
const LINKS = { between: "inter-satellite", fibre: "fibre" } as const;

/** Heights of the satellites and the ground, and of the whole drawing. */
const SKY = 44;
const GROUND = 132;
const HEIGHT = 196;

/** What a kind of link is and carries, in two lines around a place. */
function words(hop: HopSummary, x: number, y: number): Child {
  const both = hop.forward === hop.return ? hop.forward : `◂ ${hop.forward}   ▸ ${hop.return}`;
  const at = { x, "text-anchor": "middle" };
  return [
    svg("text", { ...at, class: "hop-name", y }, hop.name),
    svg("text", { ...at, class: "hop", y: y + 17 }, both.replaceAll(", ", " · ")),
  ];
}

/**
 * A path over a constellation: from the client's place up to a satellite, over links between
 * satellites if it has any, and down to the server's place, or to a gateway with a fibre to it.
 */
export function orbitDrawing(
  path: PathSummary,
  width: number,
  [client, server]: [string, string],
  label: string,
): SVGSVGElement {
  const hopNamed = (name: string): HopSummary | undefined =>
    path.hops.find((hop) => hop.name === name);
  const between = hopNamed(LINKS.between);
  const fibre = hopNamed(LINKS.fibre);
  const ground = path.hops.find((hop) => hop !== between && hop !== fibre);
  const [left, right] = [70, width - 70];
  const gate = fibre ? left + (right - left) * 0.62 : right;
  const middle = (left + gate) / 2;
  const [one, two] = between
    ? [left + (gate - left) * 0.28, left + (gate - left) * 0.72]
    : [middle, middle];
  const root = svg("svg", {
    class: "path",
    width,
    height: HEIGHT,
    role: "img",
    "aria-label": label,
  });
  const line = (kind: string, d: string): Child => svg("path", { class: kind, d });
  const place = (name: string, x: number): Child =>
    svg("text", { class: "hop-name", x, y: GROUND + 42, "text-anchor": "middle" }, name);
  const parts: Child[] = [
    line("beam", `M${left + 12},${GROUND - 14}L${one - 16},${SKY + 12}`),
    line("beam", `M${two + 16},${SKY + 12}L${gate - 12},${GROUND - 14}`),
    satellite(one, SKY),
    laptop(left, GROUND),
    place(client, left),
    ground && words(ground, middle, GROUND - (between ? 16 : 6)),
  ];
  if (between)
    parts.push(
      line("beam between", `M${one + 32},${SKY}H${two - 32}`),
      satellite(two, SKY),
      words(between, middle, SKY - 26),
    );
  if (fibre)
    parts.push(
      line("wire", `M${gate + 20},${GROUND}H${right - 20}`),
      dish(gate, GROUND),
      words(fibre, (gate + right) / 2, GROUND + 22),
    );
  parts.push(rack(right, GROUND), place(server, right));
  for (const part of parts.flat(2)) if (part instanceof Node) root.append(part);
  return root;
}
