// Compares the virtual clock of a page with the command's, byte for byte: `results.json` of all
// files in scenarios/examples that run no real program, as they are, and of published ones at
// reduced size. Two examples are too large for a page, but not for the module in it.
//
//   node tools/build/compare-wasm.mjs BENTPIPE
//
// BENTPIPE is a built command; `tools/build/wasm` has built target/wasm. Exits with 1 if any
// results differ.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { loadEngine } from "./load-engine.mjs";

const root = resolve(import.meta.dirname, "../..");
const bentpipe = process.argv[2];
if (!bentpipe) {
  console.error("usage: node tools/build/compare-wasm.mjs BENTPIPE");
  process.exit(2);
}

/** Published scenarios of each kind: paths, QUIC, TCP, proxies, orbits, pages. */
const PUBLISHED = [
  "capacity-on-demand",
  "careful-resume-11",
  "cnes-loss",
  "credit-updates",
  "dama-pages",
  "hypatia-single",
  "leo-hints",
  "page-geo",
  "picoquic-satellite-loss",
  "return-bytes",
];
/** Fewer compared examples than this would mean that most of them were left out. */
const LEAST_EXAMPLES = 20;

const engine = loadEngine(join(root, "target/wasm"));

const directory = mkdtempSync(join(tmpdir(), "bentpipe-wasm-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));

/** A scenario with one repeat, a 200th of its sizes, and a twentieth of its durations. */
function reduced(text) {
  const kilo = { GB: 5_000, MB: 5 };
  return text
    .replace(/^repeat = .*$/m, "repeat = 1")
    .replace(/"([\d.]+) (MB|GB)"/g, (_, number, unit) => `"${Number(number) * kilo[unit]} kB"`)
    .replace(/(duration = )"(\d+) s"/g, (_, key, number) => `${key}"${Number(number) / 20} s"`);
}

/** Runs the command, without results of earlier runs; returns what it says. */
function run(args) {
  const env = { ...process.env, BENTPIPE_STORE: join(directory, "store") };
  const child = spawn(resolve(bentpipe), args, { stdio: ["ignore", "ignore", "pipe"], env });
  let said = "";
  child.stderr.on("data", (data) => {
    said += data;
  });
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", () => done(said));
  });
}

/**
 * Runs a scenario natively. Returns its results, and the text and the files of the run directory;
 * or why it does not run.
 */
async function native(file, options = []) {
  const out = join(directory, basename(file, ".toml"));
  const said = await run(["run", file, "--out", out, ...options]);
  // Expectations that fail (status 1) and transfers that do (status 3) are results, too.
  if (!existsSync(join(out, "results.json"))) return { refused: said };
  const read = (name) => readFileSync(join(out, name), "utf8");
  const manifest = JSON.parse(read("manifest.json"));
  const inputs = manifest.inputs ?? [];
  const files = Object.fromEntries(inputs.map(({ name, file }) => [name, read(file)]));
  return { results: read("results.json"), text: manifest.source, files };
}

/** Runs a scenario in WebAssembly. Returns its results, or why it does not run. */
function inPage(file, text, files) {
  try {
    const completed = engine.run_any_size(basename(file), text, JSON.stringify(files));
    const { results } = completed;
    completed.free();
    return { results };
  } catch (refused) {
    return { refused: String(refused) };
  }
}

/** Where two texts differ first, with what is around it. */
function difference(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 80), at + 40));
  return `from byte ${at}:\n  native ${around(a)}\n  wasm   ${around(b)}`;
}

/** Compares one scenario. */
async function compare(file) {
  const text = readFileSync(file, "utf8");
  let own = inPage(file, text, {});
  const expected = await native(file);
  const { files = {} } = expected;
  if (Object.keys(files).length > 0) own = inPage(file, text, files);
  if (expected.refused !== undefined) {
    const programs = expected.refused.includes("real") && own.refused !== undefined;
    return programs ? { skipped: own.refused } : { differs: `${expected.refused}\n${own.refused}` };
  }
  if (own.refused !== undefined) return { differs: own.refused };
  return own.results === expected.results
    ? { bytes: own.results.length }
    : { differs: difference(expected.results, own.results) };
}

let failures = 0;
const compared = { examples: 0, published: 0 };
async function report(kind, name, file) {
  const { differs, skipped, bytes } = await compare(file);
  if (differs) {
    failures += 1;
    console.log(`DIFFERS  ${kind}/${name} ${differs}`);
  } else if (skipped) console.log(`left out ${kind}/${name}: ${skipped}`);
  else {
    compared[kind] += 1;
    console.log(`equal    ${kind}/${name}: ${bytes} bytes`);
  }
}

const examples = join(root, "scenarios/examples");
for (const name of readdirSync(examples).filter((name) => name.endsWith(".toml")).sort())
  await report("examples", name, join(examples, name));
for (const name of PUBLISHED) {
  const file = join(directory, `${name}.toml`);
  const inFull = ["published", "studies"]
    .map((folder) => join(root, `scenarios/${folder}/${name}.toml`))
    .find((path) => existsSync(path));
  writeFileSync(file, reduced(readFileSync(inFull, "utf8")));
  await report("published", `${name}.toml`, file);
}
// A comparison that finds nothing must be able to find something: another seed.
const random = join(directory, "cnes-loss.toml");
const seeded = await native(random, ["--seed", "4711"]);
const planted = inPage(random, readFileSync(random, "utf8"), {});
if (!seeded.results || !planted.results || seeded.results === planted.results) {
  failures += 1;
  console.log("a planted difference was not found");
}
// The linker bounds its memory to 1 GiB.
try {
  engine.memory.grow((2 ** 30 - engine.memory.buffer.byteLength) / 65_536 + 1);
  failures += 1;
  console.log("the memory of the module grew beyond 1 GiB");
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
}
if (compared.examples < LEAST_EXAMPLES || compared.published < PUBLISHED.length) failures += 1;
console.log(
  `${compared.examples} examples and ${compared.published} published scenarios are equal` +
    (failures > 0 ? `; ${failures} failures` : ""),
);
process.exit(failures > 0 ? 1 : 0);
