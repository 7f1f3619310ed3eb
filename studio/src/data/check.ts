import schema from "./report.schema.json";
import type { Report } from "./report.types.ts";

/** The first difference between a document and the schema. */
interface Fault {
  /** Path of the value, such as `runs[3].flows[0].bytes`. */
  at: string;
  problem: string;
}

/** Checks a value; null if it fits. */
type Check = (value: unknown) => Fault | null;

/**
 * The keywords of JSON Schema that the report's schema uses. The build makes the schema shorter: a
 * string is a reference (`#X`) or types (`a|b`; `natural` are integers of at least 0), and
 * `optional` lists what is not required.
 */
interface Node {
  optional?: string[];
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  oneOf?: Schema[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  prefixItems?: Schema[];
  minItems?: number;
  maxItems?: number;
  minimum?: number;
}

type Schema = Node | string;

const KEYWORDS = new Set(
  (
    "$ref type const oneOf anyOf properties required additionalProperties patternProperties " +
    "items prefixItems minItems maxItems minimum optional " +
    // These do not restrict values.
    "$schema $defs title description default format"
  ).split(" "),
);

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (x) => typeof x === "string",
  number: (x) => typeof x === "number",
  integer: (x) => Number.isInteger(x),
  natural: (x) => Number.isInteger(x) && (x as number) >= 0,
  boolean: (x) => typeof x === "boolean",
  null: (x) => x === null,
  array: Array.isArray,
  object: (x) => isObject(x),
};

export const isObject = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && !Array.isArray(x);

/** A value in a message, at most 40 characters. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

const wrong = (value: unknown, expected: string): Fault => ({
  at: "",
  problem: `is ${shown(value)}: expected ${expected}`,
});

/** A fault inside a part of a value, with that part before its path. */
const inside = (part: string, { at, problem }: Fault): Fault => ({
  at: at === "" || at.startsWith("[") ? part + at : `${part}.${at}`,
  problem,
});

const definitions = new Map<string, Check>();

/** The check of a definition, made when it is first used: definitions may refer to each other. */
function referred(ref: string): Check {
  const name = ref.replace(/^#(\/\$defs\/)?/, "");
  return (value) => {
    let check = definitions.get(name);
    if (!check) {
      check = checkOf((schema.$defs as Record<string, Schema>)[name]!);
      definitions.set(name, check);
    }
    return check(value);
  };
}

function typeCheck(types: string[]): Check {
  const tests = types.map((type) => TYPES[type]!);
  const expected = types.join(" or ").replace("natural", "integer");
  return (value) => {
    if (tests.some((test) => test(value))) return null;
    const negative = types.includes("natural") && TYPES.integer!(value);
    return wrong(value, negative ? "at least 0" : expected);
  };
}

/** The check of alternatives; of several faults, that of the first alternative is shown. */
function alternatives(nodes: Schema[]): Check {
  const constants = nodes.flatMap((n) =>
    typeof n === "string" || n.const === undefined ? [] : [n.const],
  );
  const checks = nodes.map(checkOf);
  return (value) => {
    const faults = checks.map((check) => check(value));
    if (faults.includes(null)) return null;
    return constants.length === nodes.length ? wrong(value, constants.join(" or ")) : faults[0]!;
  };
}

function objectCheck(node: Node): Check {
  const properties = Object.entries(node.properties ?? {}).map(
    ([key, child]) => [key, checkOf(child)] as const,
  );
  const named = new Set(properties.map(([key]) => key));
  const { optional } = node;
  const all = properties.map(([key]) => key);
  const required = node.required ?? (optional ? all.filter((key) => !optional.includes(key)) : []);
  const patterns = Object.entries(node.patternProperties ?? {}).map(
    ([pattern, child]) => [new RegExp(pattern, "u"), checkOf(child)] as const,
  );
  const { additionalProperties: others } = node;
  const other = others === undefined || typeof others === "boolean" ? null : checkOf(others);
  const open = others === undefined || others === true;
  return (value) => {
    if (!isObject(value)) return null;
    for (const key of required)
      if (!Object.hasOwn(value, key)) return { at: "", problem: `has no ${key}` };
    for (const [key, check] of properties) {
      const fault = Object.hasOwn(value, key) ? check(value[key]) : null;
      if (fault) return inside(key, fault);
    }
    if (open && patterns.length === 0) return null;
    for (const [key, child] of Object.entries(value)) {
      if (named.has(key)) continue;
      const check = patterns.find(([pattern]) => pattern.test(key))?.[1] ?? other;
      const fault = check ? check(child) : null;
      if (fault) return inside(key, fault);
      if (!check && !open) return { at: "", problem: `has an unknown entry ${shown(key)}` };
    }
    return null;
  };
}

function arrayCheck(node: Node): Check {
  const first = node.prefixItems?.map(checkOf) ?? [];
  const rest = node.items ? checkOf(node.items) : null;
  const { minItems = 0, maxItems = Infinity } = node;
  return (value) => {
    if (!Array.isArray(value)) return null;
    const n = value.length;
    if (n < minItems || n > maxItems)
      return {
        at: "",
        problem: `has ${n} entries: expected ${n < minItems ? minItems : maxItems}`,
      };
    for (let i = 0; i < n; i++) {
      const fault = (first[i] ?? rest)?.(value[i]);
      if (fault) return inside(`[${i}]`, fault);
    }
    return null;
  };
}

/** The check of a part of the schema. Throws at a keyword that it does not know. */
function checkOf(node: Schema): Check {
  if (typeof node === "string")
    return node.startsWith("#") ? referred(node) : typeCheck(node.split("|"));
  const unknown = Object.keys(node).filter((key) => !KEYWORDS.has(key) && !key.startsWith("x-"));
  if (unknown.length > 0) throw new Error(`unknown keyword ${unknown[0]} in the report's schema`);
  const checks: Check[] = [];
  if (node.$ref) checks.push(referred(node.$ref));
  if (node.type) checks.push(typeCheck([node.type].flat()));
  const { const: constant, minimum } = node;
  if (constant !== undefined)
    checks.push((value) => (value === constant ? null : wrong(value, shown(constant))));
  if (node.oneOf ?? node.anyOf) checks.push(alternatives((node.oneOf ?? node.anyOf)!));
  if (node.properties ?? node.patternProperties ?? node.additionalProperties)
    checks.push(objectCheck(node));
  if (node.items ?? node.prefixItems) checks.push(arrayCheck(node));
  if (minimum !== undefined)
    checks.push((value) =>
      typeof value === "number" && value < minimum ? wrong(value, `at least ${minimum}`) : null,
    );
  if (checks.length === 1) return checks[0]!;
  return (value) => {
    for (const check of checks) {
      const fault = check(value);
      if (fault) return fault;
    }
    return null;
  };
}

let whole: Check | null = null;

/** Throws an error with the path of the first value that does not fit the report's schema. */
export function assertReport(document: unknown): asserts document is Report {
  whole ??= checkOf(schema as unknown as Schema);
  const fault = whole(document);
  if (fault) throw new Error(`${fault.at || "the document"} ${fault.problem}`);
}
