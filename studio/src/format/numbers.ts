/** Shown for missing values. */
export const NONE = "–";

/** A number with `digits` significant digits at most, never in exponent form for everyday sizes. */
export function significant(x: number, digits = 3): string {
  if (!Number.isFinite(x)) return NONE;
  if (x === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(x)));
  if (magnitude >= 15 || magnitude < -6) return x.toExponential(digits - 1);
  const decimals = Math.max(0, digits - 1 - magnitude);
  const text = x.toFixed(Math.min(decimals, 12));
  return grouped(text.startsWith("-0") && Number(text) === 0 ? text.slice(1) : text);
}

/** A number with four significant digits and no zeros at its end, or as it is when it has fewer. */
export function shortest(x: number): string {
  return Number.isFinite(x)
    ? significant(Number(x.toPrecision(4)), 4)
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "")
    : NONE;
}

/** A text with four digits of its longer numbers: the rate of a carrier has eight. */
export const rounded = (text: string): string =>
  text.replace(/\d+\.\d\d+/g, (n) => shortest(Number(n)));

/** Thousands set apart by thin spaces from 10 000 up. */
export function grouped(text: string): string {
  const [whole = "", rest] = text.split(".");
  const sign = whole.startsWith("-") ? "−" : "";
  const digits = whole.replace("-", "");
  const spaced = digits.length > 4 ? digits.replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits;
  return sign + spaced + (rest === undefined ? "" : `.${rest}`);
}

/** A count as people write it: 12 345. */
export function count(x: number): string {
  return Number.isFinite(x) ? grouped(String(Math.round(x))) : NONE;
}

/** A count and what it counts: 1 run, 2 runs. */
export const plural = (n: number, word: string): string =>
  `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** Unit and divisor for values up to a maximum (decimal units, as on links). */
export interface Scale {
  unit: string;
  divisor: number;
}

/** Scale of bytes. */
export function byteScale(max: number): Scale {
  for (const [unit, divisor] of [
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
  ] as const)
    if (max >= divisor) return { unit, divisor };
  return { unit: "B", divisor: 1 };
}

/** Scale of rates given in Mbps. */
export function rateScale(maxMbps: number): Scale {
  if (maxMbps > 0 && maxMbps < 1e-3) return { unit: "bps", divisor: 1e-6 };
  if (maxMbps >= 1000) return { unit: "Gbps", divisor: 1000 };
  if (maxMbps >= 1 || maxMbps === 0) return { unit: "Mbps", divisor: 1 };
  return { unit: "kbps", divisor: 1e-3 };
}

/** Times in seconds from here on are days, hours, minutes and seconds. Our choice. */
export const LONG = 7200;

/** Scale of times given in seconds. */
export function timeScale(max: number): Scale {
  if (max >= 4 * 86400) return { unit: "d", divisor: 86400 };
  return max >= LONG ? { unit: "h", divisor: 3600 } : { unit: "s", divisor: 1 };
}

/** Unit and divisor of a plot's axis that reaches up to `max`. */
export function plotScale(unit: string, max: number): Scale {
  switch (unit) {
    case "bytes":
    case "B":
      return byteScale(max);
    case "Mbps":
      return rateScale(max);
    case "kbps": {
      const { unit: better, divisor } = rateScale(max / 1000);
      return { unit: better, divisor: divisor * 1000 };
    }
    case "ms": {
      const { unit: longer, divisor } = timeScale(max / 1000);
      return max < 100_000 ? { unit, divisor: 1 } : { unit: longer, divisor: divisor * 1000 };
    }
    default:
      return { unit, divisor: 1 };
  }
}

/** Bytes with a suitable unit: 4.06 MB. */
export function bytes(x: number): string {
  const s = byteScale(Math.abs(x));
  return `${significant(x / s.divisor)}\u00a0${s.unit}`;
}

/** Milliseconds as such below ten seconds, else seconds. */
export function ms(x: number): string {
  if (Math.abs(x) >= LONG * 1000) return seconds(x / 1000);
  return Math.abs(x) < 10_000
    ? `${significant(x, x < 1 ? 2 : 3).replace(/\.0+$/, "")}\u00a0ms`
    : `${significant(x / 1000)}\u00a0s`;
}

/** A value with the unit of its plot. */
export function unitValue(unit: string, v: number): string {
  switch (unit) {
    case "bytes":
    case "B":
      return bytes(v);
    case "Mbps":
    case "kbps": {
      const s = plotScale(unit, Math.abs(v));
      return `${significant(v / s.divisor)}\u00a0${s.unit}`;
    }
    case "ms":
      return ms(v);
    case "packets":
      // A number that may be a packet's, or an average of counts.
      return Number.isInteger(v) ? count(v) : significant(v);
    default:
      return unit ? `${significant(v)}\u00a0${unit}` : significant(v);
  }
}

/** Seconds with three significant digits, milliseconds below a tenth; long ones as `clock`. */
export function seconds(x: number): string {
  if (Math.abs(x) >= LONG) return (x < 0 ? "−" : "") + clock(Math.abs(x));
  return Math.abs(x) < 0.1 && x !== 0
    ? `${significant(x * 1000)}\u00a0ms`
    : `${significant(x)}\u00a0s`;
}

/** A span of two hours and more in days and hours, `5 d 10:04:18`; empty for a shorter one. */
export function clock(x: number): string {
  return x >= LONG ? clockTime(x) : "";
}

/** A time in days, hours, minutes and, unless `minutes`, seconds. */
export function clockTime(x: number, minutes = false): string {
  const two = (n: number): string => String(Math.floor(n)).padStart(2, "0");
  const days = Math.floor(x / 86400);
  const time = [(x / 3600) % 24, (x / 60) % 60, ...(minutes ? [] : [x % 60])].map(two).join(":");
  return days > 0 ? `${count(days)}\u00a0d ${time}` : time;
}

/** A share of one as per cent. */
export function percent(x: number): string {
  return `${significant(x * 100)}\u00a0%`;
}
