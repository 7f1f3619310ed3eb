import type { Point } from "./points.ts";

/** Which run to run again. */
export interface RunName {
  variant: string;
  point: Point;
  run: number;
}

/**
 * The command that runs a run again with everything that can be recorded. `page` is the address of
 * the report; unless it is a file, the run directory is called `DIR`.
 */
export function replayCommand({ variant, point, run }: RunName, page: string): string {
  const url = new URL(page);
  const path = decodeURIComponent(url.pathname);
  const directory = url.protocol === "file:" ? path.slice(0, path.lastIndexOf("/")) || "/" : "DIR";
  const values = Object.entries(point).map(
    ([key, value]) => ` --point ${quoted(`${key}=${value}`)}`,
  );
  const which = `--variant ${quoted(variant)} --run ${run}${values.join("")}`;
  return `bentpipe replay ${quoted(directory)} ${which}`;
}

/** An argument as a POSIX shell reads it. */
function quoted(text: string): string {
  return /^[\w./=:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
