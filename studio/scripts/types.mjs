/**
 * Generates the types and the table of metrics from src/data/report.schema.json.
 *
 *     npm run types              # writes all files
 *     npm run types -- --check   # fails if they differ from the schema
 *
 * The schema itself is generated from the Rust types by a test of the crate `bentpipe-report`.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const WIDTH = 100;
const BANNER = "// Generated from report.schema.json by `npm run types`; do not edit.\n\n";

/** Names that would hide globals of JavaScript. */
const RENAMED = { Object: "FlowObject" };

const path = (name) => fileURLToPath(new URL(`../src/data/${name}`, import.meta.url));
const schema = JSON.parse(readFileSync(path("report.schema.json"), "utf8"));
const traceSchema = JSON.parse(readFileSync(path("trace.schema.json"), "utf8"));

/** Splits a text into lines of at most `room` characters. */
function wrapped(text, room) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last && last.length + 1 + word.length > room) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

/** The schema as json-schema-to-typescript understands it, with texts that fit into lines. */
function prepared(node, depth = 0) {
  if (Array.isArray(node)) return node.map((item) => prepared(item, depth));
  if (node === null || typeof node !== "object") return node;
  // A description beside a reference would replace that of the type.
  if (node.$ref) return { $ref: node.$ref.replace(/\w+$/, (name) => RENAMED[name] ?? name) };
  const { prefixItems, oneOf, description, ...rest } = node;
  const out = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, prepared(value, depth + 1)]),
  );
  if (prefixItems) out.items = prepared(prefixItems, depth);
  if (typeof description === "string") out.description = wrapped(description, WIDTH - 8).join("\n");
  else if (description) out.description = prepared(description, depth + 1);
  if (oneOf?.every((option) => "const" in option)) out.enum = oneOf.map((option) => option.const);
  else if (oneOf) out.oneOf = prepared(oneOf, depth);
  return out;
}

async function types() {
  const { "x-metrics": _, "x-main-metrics": __, "x-time-parts": ___, $defs, ...report } = schema;
  // The meanings of the parts are in time-parts.generated.ts; layers have labels as metrics.
  for (const type of [$defs.TimeBudget, $defs.Episode, $defs.ReverseBytes, $defs.ProxyEmulation])
    for (const field of Object.values(type.properties)) delete field.description;
  return compiled("Report", report, $defs);
}

/** The types of a schema, whose definitions are apart. */
async function compiled(name, whole, $defs) {
  const definitions = Object.fromEntries(
    Object.entries(prepared($defs)).map(([name, type]) => [
      RENAMED[name] ?? name,
      { ...type, title: RENAMED[name] ?? name },
    ]),
  );
  const text = await compile({ ...prepared(whole), $defs: definitions }, name, {
    additionalProperties: false,
    bannerComment: "",
    format: false,
  });
  // Short comments stand on one line.
  return text.replace(/\/\*\*\n\s*\* ([^\n]*)\n\s*\*\//g, (comment, line) =>
    line.length < WIDTH - 10 ? `/** ${line} */` : comment,
  );
}

/** Type whose types have a file of their own, as results without a report have them. */
const RESULTS = "Run";

/** The declarations of source text, with the comments before them. */
function declarations(text) {
  const comment = String.raw`(?:/\*\*(?:(?!\*/)[\s\S])*\*/\s*)?`;
  const begin = `${comment}export (?:interface|type) `;
  const found = text.matchAll(
    new RegExp(`${begin}(\\w+)[\\s\\S]*?(?=\\n${begin}|$(?![\\s\\S]))`, "g"),
  );
  return [...found].map(([code, name]) => ({ name, text: code }));
}

/** True if source text uses a type; comments name types too. */
function uses(code, name) {
  const bare = code.replace(/\/\*\*[\s\S]*?\*\//g, "");
  return new RegExp(`\\b${name}\\b`).test(bare);
}

/** Divides source text: what [`RESULTS`] needs, and the rest, which imports it. */
function divided(text) {
  const all = declarations(text);
  const needed = new Set([RESULTS]);
  for (const name of needed) {
    const { text: code } = all.find((declaration) => declaration.name === name);
    for (const other of all) if (uses(code, other.name)) needed.add(other.name);
  }
  const part = (own) =>
    all
      .filter(({ name }) => needed.has(name) === own)
      .map((declaration) => declaration.text)
      .join("\n");
  const rest = part(false);
  const imported = [...needed].filter((name) => uses(rest, name)).join(", ");
  const from = 'from "./results.types.ts";';
  return [part(true), `import type { ${imported} } ${from}\n\nexport type * ${from}\n\n${rest}`];
}

/** The rows of metrics. Names of fields in each row would be a fortieth of the page. */
function metricRows(metrics) {
  const literal = (text) => {
    const parts = wrapped(text, WIDTH - 14);
    return parts.map((line, i) => JSON.stringify(i < parts.length - 1 ? `${line} ` : line));
  };
  const rows = metrics.map(
    ({ name, scope, unit, better, label, about, detail }) =>
      `[${[name, scope, unit, better, label].map((cell) => JSON.stringify(cell)).join(", ")}, ` +
      `${literal(about).join(" + ")}, ${detail}],`,
  );
  return rows.join("\n");
}

/** Splits the name of a metric of a stream of a call, such as `audio_download.mos`. */
const ofStream = ({ name }) => /^((audio|video)_(download|upload))\.(.+)$/.exec(name);

const ofFlows = ({ scope }) => scope === "flow";

/** Selects the metrics of flows that are fields of a type. */
function ofType(type) {
  const { properties } = schema.$defs[type];
  return (row) => ofFlows(row) && Object.hasOwn(properties, row.name);
}

const ofCalls = ofType("CallStream");
const ofResponsiveness = ofType("ResponsivenessMetrics");

/** The metrics that `which` selects. METRIC_ROWS, which has them, checks their type. */
function metricsThat(which, name, about) {
  return `/** ${about} */
export const ${name} = [
${metricRows(schema["x-metrics"].filter(which))}
] as const;
`;
}

/** Metrics of calls, and their streams, whose metrics are the same: they are written once. */
function callMetrics() {
  const streams = new Map();
  for (const metric of schema["x-metrics"].filter(ofStream)) {
    const [, stream, media, direction, name] = ofStream(metric);
    const words = `${media}, ${direction}`;
    const label = metric.label.replace(`: ${words}`, "");
    const { metrics } =
      streams.get(stream) ?? streams.set(stream, { words, metrics: [] }).get(stream);
    metrics.push({ ...metric, name, label, detail: false });
  }
  const own = metricRows(schema["x-metrics"].filter(ofCalls));
  for (const [stream, { metrics }] of streams)
    if (metricRows(metrics) !== own) throw new Error(`${stream} has other metrics than calls`);
  const names = [...streams].map(([name, { words }]) => JSON.stringify([name, words]));
  return `/** Streams of a call, and what the labels of their metrics say of them. */
export const CALL_STREAMS = [${names.join(", ")}] as const;

${metricsThat(ofCalls, "CALL_ROWS", "Metrics of a call, and of each of its streams.")}`;
}

function metrics() {
  const main = schema["x-main-metrics"].map((name) => JSON.stringify(name)).join(", ");
  return `import { CALL_ROWS } from "./call-metrics.generated.ts";
import { FLOW_ROWS } from "./flow-metrics.generated.ts";
import type { MetricRow } from "./metric-row.ts";
import { PART_ROWS } from "./part-metrics.generated.ts";
import { RESPONSIVENESS_ROWS } from "./responsiveness-metrics.generated.ts";

/** Metrics of the short table beside a scenario's text; the report has all. */
export const MAIN_METRICS: readonly string[] = [${main}];

/**
 * Every metric of the results: of a flow, of flows that share a path, of a link. Those of
 * the streams of calls are not among them.
 */
export const METRIC_ROWS = [
...FLOW_ROWS,
...RESPONSIVENESS_ROWS,
...CALL_ROWS,
...PART_ROWS,
${metricRows(schema["x-metrics"].filter((row) => !ofFlows(row)))}
] as const satisfies readonly MetricRow[];
`;
}

function timeParts() {
  const rows = schema["x-time-parts"].map(
    ({ name, label, words, needed, about }) =>
      `{ name: ${JSON.stringify(name)}, label: ${JSON.stringify(label)}, ` +
      `words: ${JSON.stringify(words)}, needed: ${needed}, about: ${JSON.stringify(about)} },`,
  );
  return `/** Parts of time budgets, in their order. */
export const TIME_PARTS = [
${rows.join("\n")}
] as const satisfies readonly {
  name: string;
  label: string;
  /** What it is called in a sentence. */
  words: string;
  /** True if every transfer needs it: not a cause of slowness. */
  needed: boolean;
  about: string;
}[];
`;
}

/** Formats source text as the rest of the page's sources. */
function formatted(name, text) {
  const biome = fileURLToPath(new URL("../node_modules/.bin/biome", import.meta.url));
  const run = spawnSync(biome, ["format", `--stdin-file-path=src/data/${name}`], {
    input: BANNER + text,
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(`biome: ${run.stderr}`);
  // A blank line between types.
  return run.stdout.replace(/\n}\n(?=\S)/g, "\n}\n\n");
}

/** The types of the page of a trace; those that reports have too are imported. */
async function traceTypes() {
  const { $defs, ...page } = traceSchema;
  const same = (name) => JSON.stringify($defs[name]) === JSON.stringify(schema.$defs[name]);
  const shared = Object.keys($defs).filter(same);
  const own = declarations(await compiled("TracePage", page, $defs));
  const kept = own.filter(({ name }) => !shared.includes(name)).map(({ text }) => text);
  const used = shared.filter((name) => kept.some((text) => uses(text, name))).sort();
  return `import type { ${used.join(", ")} } from "./report.types.ts";\n\n${kept.join("\n")}`;
}

const [resultsTypes, reportTypes] = divided(await types());
const files = [
  ["results.types.ts", resultsTypes],
  ["report.types.ts", reportTypes],
  ["trace.types.ts", await traceTypes()],
  [
    "flow-metrics.generated.ts",
    metricsThat(
      (row) => ofFlows(row) && !row.detail && !ofResponsiveness(row) && !ofCalls(row),
      "FLOW_ROWS",
      "Metrics of a flow.",
    ),
  ],
  [
    "responsiveness-metrics.generated.ts",
    metricsThat(ofResponsiveness, "RESPONSIVENESS_ROWS", "Metrics of a test of responsiveness."),
  ],
  [
    "part-metrics.generated.ts",
    metricsThat(
      (row) => ofFlows(row) && row.detail && !ofStream(row),
      "PART_ROWS",
      "Parts of metrics of a flow.",
    ),
  ],
  ["call-metrics.generated.ts", callMetrics()],
  ["metrics.generated.ts", metrics()],
  ["time-parts.generated.ts", timeParts()],
];
for (const [name, text] of files) {
  const fresh = formatted(name, text);
  if (!process.argv.includes("--check")) writeFileSync(path(name), fresh);
  else if (fresh !== readFileSync(path(name), "utf8")) {
    console.error(`src/data/${name} differs from report.schema.json: run \`npm run types\``);
    process.exitCode = 1;
  }
}
