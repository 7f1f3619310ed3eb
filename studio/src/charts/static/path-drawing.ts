import type { PathSummary } from "../../data/report.types.ts";
import { bytes, ms, rounded } from "../../format/numbers.ts";
import { type Child, h, onWidth, svg } from "../../page/dom.ts";
import { laptop, rack, router, satellite } from "./icons.ts";
import { orbitDrawing } from "./orbit-drawing.ts";

const NODE = 54;
const LINE = 17;

/** True if the words of a hop say that it goes over a satellite. */
function overSatellite(path: PathSummary, i: number): boolean {
  const words = /\b(geo|leo|meo|sat|satellite|space|bent|orbit|ka|ku)/i;
  const hop = path.hops[i]!;
  if (words.test(hop.name)) return true;
  return path.hops.length === 1 && words.test(`${path.name} ${path.profile ?? ""}`);
}

/** Where satellites of the shortest and of the longest path are drawn, and the RTTs, in ms. */
const [LOW, HIGH] = [72, 34];
const [SHORT, LONG] = [10, 2000];

/** The height of the satellite: the longer the path, the higher. */
function satelliteAt({ rtt_ms: rtt }: PathSummary): number {
  if (!(rtt > 0)) return HIGH;
  const share = Math.log(rtt / SHORT) / Math.log(LONG / SHORT);
  return Math.round(LOW + (HIGH - LOW) * Math.max(0, Math.min(1, share)));
}

/** Splits "50 Mbps, 325 ms, queue 1 MB" into lines no longer than `room` characters. */
export function wrapParts(text: string, room: number): string[] {
  const out: string[] = [];
  for (const part of rounded(text).split(/,\s*/).filter(Boolean)) {
    const last = out.at(-1);
    if (last !== undefined && last.length + part.length + 3 <= room)
      out[out.length - 1] = `${last} · ${part}`;
    else out.push(part.length > room ? `${part.slice(0, Math.max(1, room - 1))}…` : part);
  }
  return out;
}

/** Draws one hop between two nodes: its name on top, forward above the line, return below it. */
function drawHop(path: PathSummary, i: number, x0: number, x1: number, ground: number): Child {
  const hop = path.hops[i]!;
  const middle = (x0 + x1) / 2;
  const room = Math.max(8, Math.floor((x1 - x0 - 22) / 6.7));
  const sky = overSatellite(path, i);
  const forward = wrapParts(hop.forward, room);
  const back = wrapParts(hop.return, room);
  const parts: Child[] = [];
  // Of several hops, nothing says which of them a key is of.
  const only = path.hops.length === 1;
  const label = (lines: string[], y: number, arrow: string, what: string): Child =>
    lines.map((line, k) =>
      svg(
        "text",
        {
          ...{ class: "hop", x: middle, y: y + k * LINE, "text-anchor": "middle" },
          "data-drag": only && k === 0 ? `path.${what}.rate` : null,
        },
        k === 0 && svg("tspan", { class: `arrow ${what}` }, `${arrow} `),
        line,
      ),
    );
  const y = ground;
  if (sky) {
    // The beams go up to the satellite and down again; both directions are written below.
    const top = satelliteAt(path);
    parts.push(
      svg("path", {
        class: "beam",
        d: `M${x0},${y - 6}L${middle - 32},${top + 6}M${middle + 32},${top + 6}L${x1},${y - 6}`,
      }),
    );
    parts.push(satellite(middle, top, only ? "path.rtt" : null));
    parts.push(
      svg("text", { class: "hop-name", x: middle, y: top - 20, "text-anchor": "middle" }, hop.name),
    );
    parts.push(label(forward, y + 2, "◂", "forward"));
    parts.push(label(back, y + 4 + forward.length * LINE, "▸", "return"));
    return parts;
  }
  parts.push(svg("path", { class: "wire", d: `M${x0},${y}H${x1}` }));
  parts.push(
    svg(
      "text",
      { class: "hop-name", x: middle, y: y - 12 - forward.length * LINE, "text-anchor": "middle" },
      hop.name,
    ),
  );
  parts.push(label(forward, y - 10 - (forward.length - 1) * LINE, "◂", "forward"));
  parts.push(label(back, y + 21, "▸", "return"));
  return parts;
}

function drawing(path: PathSummary, width: number, ends: [string, string]): SVGSVGElement {
  const hops = path.hops.length;
  const step = (width - 2 * NODE) / hops;
  const room = Math.max(8, Math.floor((step - NODE - 20) / 6.7));
  let above = 24;
  let below = 40;
  path.hops.forEach((hop, i) => {
    const up = wrapParts(hop.forward, room).length;
    const down = wrapParts(hop.return, room).length;
    const sky = overSatellite(path, i);
    above = Math.max(above, sky ? 118 : up * LINE + 28);
    below = Math.max(below, (sky ? up + down : down + 0.6) * LINE + 6);
  });
  const ground = above;
  const height = ground + below;
  const root = svg("svg", {
    class: "path",
    width,
    height,
    role: "img",
    "aria-label": describe(path),
  });
  const x = (i: number): number => NODE + i * step;
  path.hops.forEach((_, i) =>
    root.append(svg("g", {}, drawHop(path, i, x(i) + 26, x(i + 1) - 26, ground))),
  );
  const node = (i: number): Child =>
    i === 0 ? laptop(x(i), ground) : i === hops ? rack(x(i), ground) : router(x(i), ground);
  for (let i = 0; i <= hops; i++) {
    root.append(svg("g", {}, node(i)));
    const name = i === 0 ? ends[0] : i === hops ? ends[1] : "";
    if (name)
      root.append(
        svg("text", { class: "end", x: x(i), y: ground + 34, "text-anchor": "middle" }, name),
      );
  }
  return root;
}

function describe(path: PathSummary): string {
  const hops = path.hops.map((hop) => `${hop.name}, forward ${hop.forward}, return ${hop.return}`);
  return `Path from client to server: ${hops.join("; ")}`;
}

/**
 * The path as a drawing, or as a list if there is no room, with its RTT and bandwidth-delay
 * product.
 */
export function pathView(
  path: PathSummary,
  swept: string[] = [],
  ends: [string, string] = ["client", "server"],
  orbit = false,
): HTMLElement {
  const stage = h("div", { class: "path-stage" });
  onWidth(stage, (width) => {
    const wide = path.hops.length > 0 && width >= 2 * NODE + path.hops.length * 165;
    stage.replaceChildren(
      wide
        ? orbit
          ? orbitDrawing(path, width, ends, describe(path))
          : drawing(path, width, ends)
        : h(
            "ol",
            { class: "path-list" },
            path.hops.map((hop) =>
              h(
                "li",
                {},
                h("strong", {}, hop.name),
                h("span", {}, h("span", { class: "arrow forward" }, "◂ "), hop.forward),
                h("span", {}, h("span", { class: "arrow return" }, "▸ "), hop.return),
              ),
            ),
          ),
    );
  });
  const across = path.hops.length > 0;
  const fact = (value: string, name: string, title: string): HTMLElement =>
    h("div", { class: "fact", title }, h("strong", {}, value), h("span", {}, name));
  return h(
    "figure",
    { class: across ? "card path-card" : "card path-card plain" },
    across ? stage : h("h3", {}, path.name),
    h(
      "div",
      { class: "facts" },
      Number.isFinite(path.rtt_ms) &&
        fact(
          ms(path.rtt_ms),
          "RTT, empty queues",
          "Round-trip time of the path while its queues are empty",
        ),
      Number.isFinite(path.bdp_bytes) &&
        fact(
          bytes(path.bdp_bytes),
          "bandwidth-delay product",
          "What must be in flight to fill the path",
        ),
    ),
    h(
      "figcaption",
      { class: "howto" },
      across && [
        h("span", { class: "arrow forward" }, "◂ "),
        "forward, towards the client; ",
        h("span", { class: "arrow return" }, "▸ "),
        "return, towards the server. ",
      ],
      path.profile && `Profile ${path.profile}. `,
      path.source && `Source: ${path.source}. `,
      swept.length > 0 &&
        `This is the path of the first point; the sweep changes ${swept.join(" and ")}.`,
    ),
  );
}
