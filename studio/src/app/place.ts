import { base64Bytes } from "../data/blob.ts";
import { SCENARIO } from "../page/editable.ts";

/** What a page is to open: a file, and perhaps a text of it that is not the saved one. */
export interface Place {
  file: string;
  text: string | null;
}

/** Largest text in an address, in bytes: the same as of a scenario. */
const MAX_TEXT = 1 << 20;

/** Reads the fragment of the page's address. Empty if it cannot be read. */
export async function readPlace(hash: string): Promise<Place> {
  const [file = "", packed] = hash.replace(/^#/, "").split("&text=", 2);
  try {
    return {
      file: decodeURIComponent(file),
      text: packed === undefined ? null : await unpacked(packed),
    };
  } catch {
    return { file: "", text: null };
  }
}

/** The fragment that `readPlace` reads. */
export const placeHash = async ({ file, text }: Place): Promise<string> =>
  `#${encodeURIComponent(file)}${text === null ? "" : `&text=${await pack(text)}`}`;

/** The text in a fragment with `scenario=`; null if there is none, or none that can be read. */
export async function linkedText(hash: string): Promise<string | null> {
  const [, packed] = SCENARIO.exec(hash) ?? [];
  return packed === undefined ? null : unpacked(packed).catch(() => null);
}

/** The fragment that `linkedText` reads. */
export const linkHash = async (text: string): Promise<string> => `#scenario=${await pack(text)}`;

/** A text as deflated base64 with letters that addresses may have. */
async function pack(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(packed: string): Promise<string> {
  const bytes = base64Bytes(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    // A short address may unpack to anything.
    if (size > MAX_TEXT) throw new Error("the text is larger than 1 MB, the most allowed");
    parts.push(value);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(
    await new Blob(parts as never).arrayBuffer(),
  );
}
