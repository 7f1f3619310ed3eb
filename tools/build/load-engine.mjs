// Loads the engine that `tools/build/wasm` has built for pages, in Node.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the exports of crate `bentpipe-wasm` and its memory, from the directory with its module
 * and script.
 */
export function loadEngine(directory) {
  globalThis.bentpipeProgress ??= () => {};
  globalThis.bentpipeFailed ??= (reason) => console.error(`wasm: ${reason}`);
  const glue = readFileSync(join(directory, "bentpipe_wasm.js"), "utf8");
  const engine = new Function(`${glue}\nreturn wasm_bindgen;`)();
  const module = readFileSync(join(directory, "bentpipe_wasm_bg.wasm"));
  const { memory } = engine.initSync({ module });
  engine.begin();
  return Object.assign(engine, { memory });
}
