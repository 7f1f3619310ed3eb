/** The lines in which two texts differ. */

/** A line of one text, or of both. */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Most pairs of lines that are compared one by one; more differ as a whole. */
const MAX_PAIRS = 4_000_000;

/** The lines of `old` that `fresh` lacks, and those that it has instead, in their order. */
export function lineDiff(old: string, fresh: string): DiffLine[] {
  const [a, b] = [old.split("\n"), fresh.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  )
    end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  const middle =
    left.length * right.length > MAX_PAIRS
      ? [...marked(left, "removed"), ...marked(right, "added")]
      : compared(left, right);
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))];
}

const marked = (lines: string[], kind: "removed" | "added"): DiffLine[] =>
  lines.map((text) => ({ kind, text }));

/** Keeps the longest common subsequence. */
function compared(a: string[], b: string[]): DiffLine[] {
  const width = b.length + 1;
  // Length of the common part of what follows both places.
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const out: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: "same", text: a[i]! });
      i += 1;
      j += 1;
    } else if (
      j >= b.length ||
      (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
    ) {
      out.push({ kind: "removed", text: a[i]! });
      i += 1;
    } else {
      out.push({ kind: "added", text: b[j]! });
      j += 1;
    }
  }
  return out;
}

/** Lines around a difference that say where it is. */
const AROUND = 2;

/** A difference without the lines far from it, of which an empty line stands for some. */
export function around(lines: DiffLine[]): (DiffLine | null)[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== "same"),
  );
  const out: (DiffLine | null)[] = [];
  lines.forEach((line, at) => {
    if (near[at]) out.push(line);
    else if (out.at(-1) !== null) out.push(null);
  });
  return out;
}
