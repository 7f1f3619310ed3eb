/**
 * Bytes as text in a page, seven bits a character: 18 % more than the bytes, where base64 has 33 %.
 * Characters are those of ASCII. The four that HTML or a line-end conversion would change, NUL,
 * line feed, carriage return and "<", are replaced by letters from U+00C0 on.
 */

const LETTERS = 0xc0;

/** Decodes a text that encodes `length` bytes. */
export function decoded(text: string, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let [bits, held, at] = [0, 0, 0];
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    const value = code < 128 ? code : code - LETTERS;
    if (!(value >= 0 && value < 128)) throw new Error("the simulator's text is damaged");
    bits = ((bits & 0xff) << 7) | value;
    held += 7;
    if (held >= 8 && at < length) {
      held -= 8;
      bytes[at] = bits >> held;
      at += 1;
    }
  }
  if (at < length || held >= 8 + 7) throw new Error("the simulator's text is damaged");
  return bytes;
}
