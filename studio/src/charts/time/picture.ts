import { saveBlob } from "../../page/files.ts";
import type { TimeChart } from "./chart.ts";
import { font } from "./frame.ts";
import { escaped, SvgSurface } from "./svg-surface.ts";

/** Space around a picture, heights of its title and of a legend line. CSS pixels. */
const EDGE = 14;
const TITLE = 26;
const LINE = 20;

/** Pixels of a PNG per CSS pixel. */
const SHARP = 2;

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A picture as SVG text, with its size in CSS pixels. */
export interface Picture {
  svg: string;
  width: number;
  height: number;
}

/** Draws plots below each other, each with its name and legend, under a common title. */
export function pictureOf(title: string, charts: { name: string; chart: TimeChart }[]): Picture {
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
    chart.drawOn(own, css("--muted"), css("--grid"));
    groups.push(`<g transform="translate(${EDGE} ${y})">${own.elements}</g>`);
    y += chart.size.height + 8;
  });
  const height = y + EDGE;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="${css("--card")}"/>` +
    `${groups.join("\n")}</svg>\n`;
  return { svg, width, height };
}

/** Offers a picture as an SVG file. */
export function saveSvg(picture: Picture, name: string): void {
  saveBlob(`${name}.svg`, new Blob([picture.svg], { type: "image/svg+xml" }));
}

/** Offers a picture as a PNG file, with two pixels per CSS pixel. */
export async function savePng({ svg, width, height }: Picture, name: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * SHARP;
  canvas.height = height * SHARP;
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) saveBlob(`${name}.png`, blob);
}
