/** Keys, values and texts for completion and hover, from the JSON Schema of scenarios. */

interface Node {
  $ref?: string;
  description?: string;
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  items?: Node;
  anyOf?: Node[];
  oneOf?: Node[];
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  default?: unknown;
  $defs?: Record<string, Node>;
}

/** A key or value that may stand at a place. */
export interface Offer {
  label: string;
  detail: string;
  info: string;
}

/** The place of a cursor: the keys above it, and the key whose value it is in. */
export interface Place {
  table: string[];
  key: string | null;
}

/** Finds the place of a position in TOML: the last header above, and the key of its line. */
export function placeAt(text: string, at: number): Place {
  const lines = text.slice(0, at).split("\n");
  const current = lines.pop() ?? "";
  let table: string[] = [];
  for (const line of lines) {
    const header = /^\s*\[\[?([^\]]+)\]\]?/.exec(line);
    if (header) table = keys(header[1]!);
  }
  // Inline tables: each open brace belongs to the key before it. Braces, commas and the like in
  // strings are none: what is searched has the strings masked, in the same places.
  const masked = current.replace(STRING, (string) => string[0]!.padEnd(string.length, "_"));
  const inline: string[] = [];
  let from = 0;
  for (let open = masked.indexOf("{"); open >= 0 && !masked.slice(open).includes("}"); ) {
    const before = BEFORE_BRACE.exec(current.slice(from, open));
    if (before) inline.push(...keys(before[1]!));
    from = open + 1;
    open = masked.indexOf("{", from);
  }
  if (inline.length > 0) from = Math.max(from, masked.lastIndexOf(",") + 1);
  const assigned = ASSIGNED.exec(current.slice(from));
  const dotted = assigned ? keys(assigned[1]!) : [];
  const key = dotted.pop() ?? null;
  return { table: [...table, ...inline, ...dotted], key };
}

/** Strings of TOML on one line. */
const STRING = /"(?:[^"\\]|\\.)*"|'[^']*'/g;
/** A part of a key: bare or quoted, in which a dot separates nothing. */
const PART = `(?:[\\w-]+|${STRING.source})`;
const KEY = `(${PART}(?:\\s*\\.\\s*${PART})*)`;
const ASSIGNED = new RegExp(`^\\s*${KEY}\\s*=`);
const BEFORE_BRACE = new RegExp(`${KEY}\\s*=\\s*$`);

/** The parts of a key with dots. */
const keys = (text: string): string[] =>
  [...text.matchAll(new RegExp(PART, "g"))].map(([part]) => part.replace(/^["']|["']$/g, ""));

/** The schema of scenarios. */
export class ScenarioSchema {
  readonly #root: Node;

  constructor(root: unknown) {
    this.#root = root as Node;
  }

  /** What may stand at a place: keys of the table, or values of the key. */
  offers({ table, key }: Place): Offer[] {
    const node = this.#find(table);
    if (key === null) {
      return this.#shapes(node).flatMap((shape) =>
        Object.entries(shape.properties ?? {}).map(([label, inner]) => ({
          label,
          detail: kind(this.#shapes(inner)),
          info: this.#text(inner),
        })),
      );
    }
    return this.#shapes(this.#child(node, key)).flatMap((shape) => values(shape));
  }

  /** What a key means. */
  explain(table: string[], key: string): string {
    return this.#text(this.#child(this.#find(table), key));
  }

  #find(path: string[]): Node | null {
    let node: Node | null = this.#root;
    for (const key of path) node = this.#child(node, key);
    return node;
  }

  #child(node: Node | null, key: string): Node | null {
    for (const shape of this.#shapes(node)) {
      const inner = shape.properties?.[key];
      if (inner) return inner;
    }
    return null;
  }

  /** The alternatives of a node, without references, lists and nulls. */
  #shapes(node: Node | null, depth = 0): Node[] {
    if (!node || depth > 8) return [];
    if (node.$ref) return this.#shapes(this.#resolve(node.$ref), depth + 1);
    if (node.items) return this.#shapes(node.items, depth + 1);
    const inner = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
    const own = node.properties || node.enum || node.const !== undefined || inner.length === 0;
    return [...(own ? [node] : []), ...inner.flatMap((one) => this.#shapes(one, depth + 1))];
  }

  #resolve(ref: string): Node | null {
    return this.#root.$defs?.[ref.replace("#/$defs/", "")] ?? null;
  }

  #text(node: Node | null): string {
    if (!node) return "";
    const own = node.description ?? "";
    return own || (node.$ref ? this.#text(this.#resolve(node.$ref)) : "");
  }
}

function kind(shapes: Node[]): string {
  const types = shapes.flatMap((shape) => shape.type ?? []).filter((type) => type !== "null");
  return [...new Set(types)].map((type) => (type === "object" ? "table" : type)).join(" or ");
}

function values(shape: Node): Offer[] {
  const all = [...(shape.enum ?? []), ...(shape.const === undefined ? [] : [shape.const])];
  return all
    .filter((value) => value !== null)
    .map((value) => ({
      label: JSON.stringify(value),
      detail: "",
      info: shape.const === undefined ? "" : (shape.description ?? ""),
    }));
}
