/** The engine as it travels in a page: compressed parts, from `tools/build/pack-engine.mjs`. */

import { decoded } from "./dense-text.ts";
import type { EngineCode } from "./engine.ts";
import { decompressed } from "./xz.ts";

/** What travels. */
export interface Pack {
  engine: EngineCode;
  /** The script of the editor around it, and its style sheet. */
  script: string;
  style: string;
}

/** Names and lengths of the parts, which stand before them as one line. */
type Header = Record<"wasm" | "glue" | "script" | "style" | "schema", number>;

/** Unpacks the content of an element of the page. */
export async function unpack(element: HTMLElement): Promise<Pack> {
  const packed = decoded(element.textContent ?? "", Number(element.dataset.bytes));
  const bytes = await decompressed(packed);
  const end = bytes.indexOf(10);
  const header = JSON.parse(words(bytes.subarray(0, end))) as Header;
  let at = end + 1;
  const parts = Object.entries(header).map(([name, length]): [string, Uint8Array<ArrayBuffer>] => {
    at += length;
    return [name, bytes.subarray(at - length, at)];
  });
  const part = Object.fromEntries(parts) as Record<keyof Header, Uint8Array<ArrayBuffer>>;
  return {
    engine: {
      module: await WebAssembly.compile(part.wasm),
      glue: words(part.glue),
      schema: words(part.schema),
    },
    script: words(part.script),
    style: words(part.style),
  };
}

const words = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
