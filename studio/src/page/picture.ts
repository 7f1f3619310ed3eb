import { saveBlob } from "./files.ts";

/** Pixels of a PNG per CSS pixel. */
const SHARP = 2;

/** A picture as SVG text, with its size in CSS pixels. */
export interface Picture {
  svg: string;
  width: number;
  height: number;
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
