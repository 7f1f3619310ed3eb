/** The built command, and the engine for pages, for tests that need them. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { env } from "node:process";
import { fileURLToPath } from "node:url";

const command = env.BENTPIPE_COMMAND;
const engine = fileURLToPath(new URL("../../target/wasm/engine.html", import.meta.url));

/** Why tests of the command cannot run; null if they can. */
export const noCommand = command ? null : "BENTPIPE_COMMAND does not name the command `bentpipe`";
/** Why tests of the engine cannot run; null if they can. */
export const noEngine = noCommand ?? (existsSync(engine) ? null : "no engine for pages: make wasm");

/** Says why tests are skipped, if they are; returns whether. */
export function skipped(reason: string | null): boolean {
  if (reason) console.log(`skipped: ${reason}`);
  return reason !== null;
}

/** The command with arguments, as those of `spawn`. */
export const bentpipe = (...args: string[]): [string, string[]] => [resolve(command!), args];

/** A directory for scenarios and results. */
export class Workplace {
  readonly dir = mkdtempSync(join(tmpdir(), "bentpipe-test-"));

  /** Writes a file and returns its path. */
  write(name: string, text: string): string {
    const file = join(this.dir, name);
    writeFileSync(file, text);
    return file;
  }

  /** Runs a scenario and returns the path of its editable report. The report is beside it. */
  exported(name: string, text: string, ...more: string[]): string {
    const file = this.write(`${name}.toml`, text);
    const out = join(this.dir, name);
    const stdio = ["ignore", "ignore", "inherit"] as const;
    execFileSync(...bentpipe("run", file, "--no-store", "--out", out, ...more), {
      stdio: [...stdio],
    });
    execFileSync(...bentpipe("report", "--editable", out), { stdio: [...stdio] });
    return join(out, "editable.html");
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
