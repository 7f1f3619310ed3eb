/** A form of all tables of a text: variants, sweeps, flows, orbits, expectations. */
import { button, type Child, h, replace, select } from "../page/dom.ts";
import type { Checked, KnownNames, Setting } from "./api.ts";
import type { SetKey } from "./form.ts";
import type { ScenarioSchema } from "./schema.ts";

/** Tables that a scenario may have several of, with what one is called. */
const LISTS: Record<string, string> = {
  variant: "Variant",
  flow: "Flow",
  expect: "Expectation",
  hop: "Hop",
  published: "Published value",
};
/** Tables with a name of their own. */
const TITLES: Record<string, string> = {
  "": "Scenario",
  path: "Path",
  workload: "Workload",
  sweep: "Sweep",
  output: "Output",
};
/** What is offered to be added, with the first key of each. */
const ADDED: [table: string, key: string][] = [
  ["variant", "name"],
  ["sweep", ""],
  ["expect", "metric"],
];

/** Keys whose values have names that are built in, with the list of those. */
const LISTED: Record<string, string> = {
  constellation: "names-constellations",
  from: "names-cities",
  to: "names-cities",
  city: "names-cities",
};

/** Parts of a key; those with dots are quoted. */
export const keyParts = (key: string): string[] =>
  [...key.matchAll(/"((?:[^"\\]|\\.)*)"|[^."]+/g)].map(([all, quoted]) => quoted ?? all);

const quoted = (part: string): string => (/^[\w-]+$/.test(part) ? part : JSON.stringify(part));

/** A table with its settings. */
interface Group {
  /** Its key; empty: that of the whole text. */
  key: string;
  settings: { key: string; name: string; value: string }[];
}

/** The tables of settings, in their order. Inner tables belong to the outermost one. */
export function groupsOf(settings: Setting[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { key, value } of settings) {
    const parts = keyParts(key);
    const isOfList = /^\d+$/.test(parts[1] ?? "");
    const depth = parts.length === 1 ? 0 : isOfList ? 2 : 1;
    const table = parts.slice(0, depth).map(quoted).join(".");
    const name = parts.slice(depth).join(".");
    const group = groups.get(table) ?? { key: table, settings: [] };
    group.settings.push({ key, name, value });
    groups.set(table, group);
  }
  return [...groups.values()];
}

const listOf = (table: string): string | null => /^(\w+)\.\d+$/.exec(table)?.[1] ?? null;

function titleOf({ key, settings }: Group): string {
  const list = listOf(key);
  if (!list) return TITLES[key] ?? key;
  const named = settings.find(({ name }) => name === "name" || name === "metric");
  return `${LISTS[list] ?? list} ${named?.value ?? Number(key.split(".")[1]) + 1}`;
}

/** The form. */
export class TablesForm {
  readonly element = h("div", { class: "tables" });
  readonly #change: SetKey;
  readonly #inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  /** Keys of tables that are open. */
  readonly #open = new Set<string>();
  #groups: Group[] = [];
  #built = "";
  schema: ScenarioSchema | null = null;
  /** What fields of cities and constellations offer. */
  readonly #lists = h("div", { hidden: true });

  constructor(change: SetKey) {
    this.#change = change;
  }

  set names(names: KnownNames) {
    replace(
      this.#lists,
      Object.entries(names).map(([id, all]: [string, string[]]) =>
        h(
          "datalist",
          { id: `names-${id}` },
          all.map((value) => h("option", { value })),
        ),
      ),
    );
  }

  /** Shows the settings of a text. What has the focus keeps it. */
  show({ settings }: Pick<Checked, "settings">): void {
    if (settings.length === 0) return;
    this.#groups = groupsOf(settings);
    const built = JSON.stringify(this.#groups.map((one) => [titleOf(one), this.#names(one)]));
    if (built !== this.#built) {
      this.#built = built;
      this.#build();
    }
    for (const { key, value } of settings) {
      const input = this.#inputs.get(key);
      if (input && document.activeElement !== input) setValue(input, value);
    }
  }

  #names = ({ key, settings }: Group): string[] => [key, ...settings.map(({ name }) => name)];

  #build(): void {
    this.#inputs.clear();
    const focused = document.activeElement?.id;
    replace(
      this.element,
      this.#groups.map((group) => this.#table(group)),
      this.#adding(),
      this.#lists,
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  #table(group: Group): HTMLElement {
    const list = listOf(group.key);
    const title = titleOf(group);
    const box = h(
      "details",
      {
        open: this.#open.has(group.key),
        toggle: () => {
          if (box.open) this.#open.add(group.key);
          else this.#open.delete(group.key);
        },
      },
      h("summary", {}, title),
      group.settings.map(({ key, name, value }) => this.#setting(key, name, value)),
      this.#more(group),
      list &&
        button("Remove", () => this.#change(group.key, null), {
          class: "bare",
          "aria-label": `Remove ${title}`,
        }),
    );
    return box;
  }

  #setting(key: string, name: string, value: string): HTMLElement {
    const id = `setting-${key}`;
    const input = this.#input(id, key, value);
    this.#inputs.set(key, input);
    return h(
      "div",
      { class: "setting" },
      h("label", { for: id, title: this.#about(key) }, breakable(name)),
      input,
      button("×", () => this.#change(key, null), { class: "bare", "aria-label": `Remove ${key}` }),
    );
  }

  /** A field for a value: a choice if the schema has a list of values. */
  #input(id: string, key: string, value: string): HTMLInputElement | HTMLSelectElement {
    const values = this.#values(key);
    const change = (): void => this.#change(key, input.value.trim() || null);
    const input =
      values.length > 0
        ? h(
            "select",
            { id, change },
            values.map((one) => h("option", { value: one }, one)),
          )
        : h("input", {
            id,
            type: "text",
            spellcheck: "false",
            autocomplete: "off",
            change,
            list: LISTED[keyParts(key).at(-1) ?? ""],
          });
    setValue(input, value);
    return input;
  }

  /** Keys that a table lacks, to be added. */
  #more(group: Group): Child {
    const table = this.#place(group.key);
    const has = new Set(group.settings.map(({ name }) => name.split(".")[0]));
    const offers = (this.schema?.offers({ table, key: null }) ?? []).filter(
      ({ label, detail }) => !has.has(label) && detail !== "table" && detail !== "array",
    );
    if (offers.length === 0 && group.key !== "sweep") return null;
    const slot = h("div", {});
    const ask = (name: string): void => {
      const key = group.key ? `${group.key}.${quoted(name)}` : quoted(name);
      const row = this.#setting(key, name, "");
      replace(slot, row);
      row.querySelector<HTMLElement>("input, select")?.focus();
    };
    if (group.key === "sweep") {
      const key = h("input", { type: "text", placeholder: "path.rtt", "aria-label": "Swept key" });
      return h(
        "div",
        {},
        slot,
        h(
          "div",
          { class: "setting" },
          key,
          button("Sweep it", () => key.value.trim() && ask(key.value.trim())),
        ),
      );
    }
    const options = [
      { value: "", text: "a setting…" },
      ...offers.map(({ label }) => ({ value: label, text: label })),
    ];
    return h(
      "div",
      {},
      slot,
      select("Add", options, "", (name) => name && ask(name)),
    );
  }

  /** Buttons for tables that a text may have more of. */
  #adding(): HTMLElement {
    const count = (list: string): number =>
      this.#groups.filter(({ key }) => listOf(key) === list).length;
    return h(
      "div",
      { class: "choices" },
      ADDED.filter(
        ([table]) => table !== "sweep" || !this.#groups.some((g) => g.key === table),
      ).map(([table, key]) =>
        button(`Add ${(LISTS[table] ?? TITLES[table] ?? table).toLowerCase()}`, () => {
          if (table === "sweep") {
            this.#open.add("sweep");
            this.#change('sweep."path.rtt"', '["20 ms", "100 ms", "600 ms"]');
            return;
          }
          const index = count(table);
          this.#open.add(`${table}.${index}`);
          const first =
            key === "name" ? `${table}-${index + 1}` : (this.#values(`${table}.0.${key}`)[0] ?? "");
          this.#change(`${table}.${index}.${key}`, first);
        }),
      ),
    );
  }

  #place = (key: string): string[] => keyParts(key).filter((part) => !/^\d+$/.test(part));

  #values(key: string): string[] {
    const table = this.#place(key);
    const name = table.pop();
    if (!name || !this.schema) return [];
    const offers = this.schema.offers({ table, key: name });
    return offers.map(({ label }) => {
      const value = JSON.parse(label) as unknown;
      return typeof value === "string" ? value : label;
    });
  }

  #about(key: string): string {
    const table = this.#place(key);
    const name = table.pop();
    return (name && this.schema?.explain(table, name)) || "";
  }
}

/** A name that may break after its dots and underscores. */
const breakable = (name: string): Child[] =>
  name.split(/(?<=[._])/).flatMap((part, i) => (i > 0 ? [h("wbr"), part] : [part]));

function setValue(input: HTMLInputElement | HTMLSelectElement, value: string): void {
  if (input instanceof HTMLSelectElement && ![...input.options].some((o) => o.value === value))
    input.prepend(h("option", { value }, value || "–"));
  input.value = value;
}
