/** Line ends of files: the editor has `\n` between lines, a file may have `\r\n`. */

/** What ends a line of a file. */
export type LineEnd = "\n" | "\r\n";

/** What ends most lines of a text. */
export function lineEndOf(text: string): LineEnd {
  const count = (end: string): number => text.split(end).length - 1;
  return count("\r\n") * 2 > count("\n") ? "\r\n" : "\n";
}

/** The text as the editor has it. */
export const inEditor = (text: string): string => text.replace(/\r\n?/g, "\n");

/** The text of the editor as a file has it. */
export const inFile = (text: string, end: LineEnd): string => text.replaceAll("\n", end);
