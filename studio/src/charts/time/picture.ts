import type { Picture } from "../../page/picture.ts";
import type { TimeChart } from "./chart.ts";
import { font } from "./frame.ts";
import { escaped, SvgSurface } from "./svg-surface.ts";

/** Space around a picture, heights of its title and of a legend line. CSS pixels. */
const EDGE = 14;
const TITLE = 26;
const LINE = 20;

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * Draws plots below each other, each with its name and legend, under a common title and over a
 * caption.
 */
export function pictureOf(
  title: string,
  charts: { name: string; chart: TimeChart }[],
  caption: string,
): Picture {
  const measure = document.createElement("canvas").getContext("2d")!;
  const width = Math.max(...charts.map(({ chart }) => chart.size.width)) + 2 * EDGE;
  const groups: string[] = [];
  let y = EDGE;
  const text = (words: string, x: number, size: number, colour: string, bold = false): void => {
    groups.push(
      `<text x="${x}" y="${y + size}" font-size="${size}" ` +
        `font-family="${escaped(font(size).replace(/^\S+ /, ""))}" ` +
        `${bold ? 'font-weight="650" ' : ""}fill="${colour}">${escaped(words)}</text>`,
    );
  };
  text(title, EDGE, 15, css("--ink"), true);
  y += TITLE;
  charts.forEach(({ name, chart }, i) => {
    if (name) {
      text(name, EDGE, 13, css("--ink"));
      y += LINE;
    }
    let x = EDGE;
    measure.font = font(12);
    for (const { words, colour } of chart.legendItems()) {
      const room = measure.measureText(words).width + 34;
      if (x + room > width - EDGE && x > EDGE) {
        x = EDGE;
        y += LINE;
      }
      groups.push(`<rect x="${x}" y="${y + 2}" width="12" height="10" fill="${colour}"/>`);
      text(words, x + 17, 12, css("--text"));
      x += room;
    }
    y += LINE + 4;
    const own = new SvgSurface(measure, `clip${i}`);
    chart.drawOn(own);
    groups.push(`<g transform="translate(${EDGE} ${y})">${own.elements}</g>`);
    y += chart.size.height + 8;
  });
  text(caption, EDGE, 10.5, css("--muted"));
  const height = y + LINE + EDGE;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="${css("--card")}"/>` +
    `${groups.join("\n")}</svg>\n`;
  return { svg, width, height };
}
