// Packs the engine of editable reports into elements of HTML, which the command puts into reports.
//
//   node tools/build/pack-engine.mjs BENTPIPE
//
// Writes target/wasm/engine.html from what `tools/build/wasm` has built there, the editor in
// studio/dist, and the schema of scenarios as the command BENTPIPE prints it: the code that makes
// it would be larger than the text. studio/src/engine/pack.ts unpacks.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadEngine } from "./load-engine.mjs";

const root = resolve(import.meta.dirname, "../..");
const [built, dist] = [join(root, "target/wasm"), join(root, "studio/dist")];
const bentpipe = process.argv[2];
if (!bentpipe) {
  console.error("usage: node tools/build/pack-engine.mjs BENTPIPE");
  process.exit(2);
}
const schema = JSON.parse(execFileSync(resolve(bentpipe), ["schema"], { maxBuffer: 1 << 24 }));
const parts = {
  wasm: readFileSync(join(built, "bentpipe_wasm_bg.wasm")),
  glue: readFileSync(join(built, "bentpipe_wasm.js")),
  script: readFileSync(join(dist, "editor.js")),
  style: readFileSync(join(dist, "editor.css")),
  schema: Buffer.from(JSON.stringify(schema)),
};
const sizes = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.length]));
const whole = Buffer.concat([Buffer.from(`${JSON.stringify(sizes)}\n`), ...Object.values(parts)]);
const packed = execFileSync("xz", ["--check=crc32", "--lzma2=preset=9e,lc=4,pb=0", "--stdout"], {
  input: whole,
  maxBuffer: 1 << 28,
});

/** Seven bits a character, as studio/src/engine/dense-text.ts reads them. */
function text(bytes) {
  const codes = [];
  let [bits, held] = [0, 0];
  const add = (value) => codes.push([0, 10, 13, 60].includes(value) ? 0xc0 + value : value);
  for (const byte of bytes) {
    bits = ((bits & 0x7f) << 8) | byte;
    held += 8;
    while (held >= 7) {
      held -= 7;
      add((bits >> held) & 0x7f);
    }
  }
  if (held > 0) add((bits << (7 - held)) & 0x7f);
  return codes.map((code) => String.fromCharCode(code)).join("");
}

const digest = loadEngine(built).sources();
const loader = readFileSync(join(dist, "loader.js"), "utf8");
const out = join(built, "engine.html");
writeFileSync(
  out,
  `<!--bentpipe-engine ${digest}-->\n` +
    `<script type="text/plain" id="bentpipe-engine" data-bytes="${packed.length}">` +
    `${text(packed)}</script>\n` +
    `<script>${loader}</script>\n`,
);
const kilo = (n) => `${Math.round(n / 1000)} kB`;
const listed = Object.entries(sizes).map(([name, size]) => `${name} ${kilo(size)}`);
console.log(`pack-engine: ${listed.join(", ")}; compressed ${kilo(packed.length)}`);
console.log(`pack-engine: ${out}: ${kilo(readFileSync(out).length)}`);
