/**
 * Colours as colour-blind readers see them: linear RGB matrices of Machado, Oliveira and Fernandes
 * (2009), full severity.
 */
export const VISIONS: Record<string, number[]> = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanope: [
    0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
  ],
  deuteranope: [
    0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
  ],
  tritanope: [
    1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039,
  ],
};

const channels = (hex: string): number[] =>
  [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);

/** A #rrggbb colour laid over another with some opacity. */
export function blend(over: string, under: string, opacity: number): string {
  const below = channels(under);
  const mixed = channels(over).map((v, i) => v * opacity + below[i]! * (1 - opacity));
  return `#${mixed
    .map((v) =>
      Math.round(v * 255)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/** CIELAB coordinates (D65) of a colour as seen. */
function lab(hex: string, vision: string): [number, number, number] {
  const m = VISIONS[vision]!;
  const linear = channels(hex).map((c) =>
    c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4,
  );
  const [r, g, b] = [0, 3, 6].map((k) =>
    Math.min(1, Math.max(0, m[k]! * linear[0]! + m[k + 1]! * linear[1]! + m[k + 2]! * linear[2]!)),
  ) as [number, number, number];
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** How different two colours look (CIE 1976). */
export function distance(a: string, b: string, vision: string): number {
  const q = lab(b, vision);
  return Math.hypot(...lab(a, vision).map((v, i) => v - q[i]!));
}
