import type { ByteLayer } from "../data/byte-layers.ts";
import type { PhaseKind } from "../data/phases.ts";

/**
 * Colours of variants, by index: twelve that readers with any common colour vision tell apart, with
 * a contrast of at least 3:1 against their background. Beyond twelve, marks and dashes differ.
 */
const LIGHT = [
  "#0060a8",
  "#c8500a",
  "#00805f",
  "#93458f",
  "#0f96d2",
  "#780000",
  "#4ba55a",
  "#c378a5",
  "#690069",
  "#1e96ff",
  "#4a4f57",
  "#2d5a2d",
];
const DARK = [
  "#62b5ff",
  "#ff9559",
  "#3fd0a8",
  "#dc9fe4",
  "#e6bf4f",
  "#b45a00",
  "#78ffa5",
  "#5a69a5",
  "#a55a3c",
  "#0069d2",
  "#c3c9d1",
  "#007878",
];

/** What a line or mark shows in the time plots; each role has one colour everywhere. */
export type Role =
  | "sent"
  | "acked"
  | "received"
  | "lost"
  | "droppedPolicer"
  | "droppedQueue"
  | "droppedChannel"
  | "droppedRouting"
  | "cwnd"
  | "flight"
  | "ssthresh"
  | "rtt"
  | "srtt"
  | "pacing"
  | "limit"
  | "requested"
  | "allocated"
  | "used"
  | "reference";

const ROLES: Record<Role, [light: string, dark: string]> = {
  sent: ["#0060a8", "#62b5ff"],
  acked: ["#00805f", "#3fd0a8"],
  received: ["#93458f", "#dc9fe4"],
  lost: ["#c8300a", "#ff7d5c"],
  droppedPolicer: ["#8a3fb0", "#cf9cf0"],
  droppedQueue: ["#a86400", "#f0b13c"],
  droppedChannel: ["#c02a5c", "#ff86ac"],
  droppedRouting: ["#5a6472", "#a9b4c2"],
  cwnd: ["#0060a8", "#62b5ff"],
  flight: ["#c8500a", "#ff9559"],
  ssthresh: ["#5a616b", "#b4bcc6"],
  rtt: ["#5b97c9", "#3f82bd"],
  srtt: ["#c8500a", "#ff9559"],
  pacing: ["#00805f", "#3fd0a8"],
  limit: ["#c8500a", "#ff9559"],
  requested: ["#c8500a", "#ff9559"],
  allocated: ["#0060a8", "#62b5ff"],
  used: ["#00805f", "#3fd0a8"],
  reference: ["#6b7280", "#98a2ae"],
};

/** Number of colours of variants. */
export const VARIANT_COLOURS = LIGHT.length;

/** True while the page shows its dark colours. */
export function isDark(): boolean {
  return document.documentElement.dataset.theme === "dark";
}

/** The colour of the index-th variant (or link) in the theme shown. */
export function variantColour(index: number, dark = isDark()): string {
  const set = dark ? DARK : LIGHT;
  return set[((index % set.length) + set.length) % set.length]!;
}

/** The colour of a role in the theme shown. */
export function roleColour(role: Role, dark = isDark()): string {
  return ROLES[role][dark ? 1 : 0];
}

/**
 * Colours of phases in the strip. Those of Careful Resume differ in lightness as well as in hue, so
 * that even their tints differ for colour-blind readers; text on each has a contrast of at least
 * 4.5:1.
 */
const PHASES: Record<PhaseKind, [light: string, dark: string]> = {
  reconnaissance: ["#5ea4ef", "#1a66cc"],
  unvalidated: ["#f0ca3a", "#86660f"],
  validating: ["#4fe3a0", "#067046"],
  "safe retreat": ["#c0639c", "#6a2478"],
  "backing off": ["#c3c9d0", "#48525e"],
  other: ["#e3e7eb", "#2b333d"],
};

/** The colour of a phase in the strip, and the opacity of its tint in the plot (0: none). */
export function phaseColour(kind: PhaseKind, dark = isDark()): { head: string; body: number } {
  return { head: PHASES[kind][dark ? 1 : 0], body: kind === "other" ? 0 : dark ? 0.3 : 0.26 };
}

/** The colour of a part of a time budget. */
export const partColour = (part: { colour: [string, string] }, dark = isDark()): string =>
  part.colour[dark ? 1 : 0];

/** The colour of a layer of bytes. */
export const layerColour = (layer: ByteLayer, dark = isDark()): string =>
  layer.colour[dark ? 1 : 0];

/** Dash pattern of the index-th variant, which differs when colours repeat. */
export function variantDash(index: number): number[] {
  return [[], [6, 3], [2, 3]][Math.floor(index / LIGHT.length) % 3]!;
}

/** Relative luminance of a #rrggbb colour, after WCAG 2. */
function luminance(hex: string): number {
  const part = (i: number): number => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

/** Contrast ratio of two #rrggbb colours, after WCAG 2. */
export function contrast(a: string, b: string): number {
  const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (hi + 0.05) / (lo + 0.05);
}

/** The ink to write with on a colour: white or black, of which one has a contrast of 4.5 on any. */
export const inkOn = (colour: string): string =>
  contrast("#ffffff", colour) > contrast("#000000", colour) ? "#ffffff" : "#000000";

/** All colours of one theme, for tests and legends. */
export function allColours(dark: boolean): string[] {
  return [...(dark ? DARK : LIGHT), ...Object.values(ROLES).map((r) => r[dark ? 1 : 0])];
}
