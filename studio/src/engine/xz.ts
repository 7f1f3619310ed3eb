/** Decompression of xz, which browsers lack. */
import { XzReadableStream } from "xz-decompress";

/** Decompresses a whole file. */
export async function decompressed(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new XzReadableStream(new Blob([bytes]).stream());
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
