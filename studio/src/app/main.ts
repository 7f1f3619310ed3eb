/** The application of `bentpipe studio`: a scenario's text, its path, its form and its runs. */
import "../style/base.css";
import "../style/header.css";
import "../style/page.css";
import "./studio.css";
import { pathView } from "../charts/static/path-drawing.ts";
import { button, h, replace } from "../page/dom.ts";
import { themeToggle } from "../sections/header.ts";
import { reasonOf } from "../sections/parts.ts";
import { api, type Checked, type RunState, reportUrl } from "./api.ts";
import { Editor } from "./editor.ts";
import { Form } from "./form.ts";
import { comparison, history, phaseText } from "./results.ts";
import { ScenarioSchema } from "./schema.ts";

/** Time without typing after which a text is checked. */
const PAUSE_MS = 150;
/** Time between two looks at runs that have not ended. */
const LOOK_MS = 40;
/** Time that a run may take while the slider that began it has moved on. */
const PATIENCE_MS = 300;
/** Plans of at most this many runs answer while a slider moves. */
const QUICK_RUNS = 60;

const app = document.getElementById("app")!;
const files = h("select", { "aria-label": "Scenario", change: () => void open(files.value) });
/** What the text plans, or what is wrong with it. */
const status = h("p", { class: "status", role: "status" });
/** What happened last. */
const notice = h("p", { class: "status notice", role: "status" });
const drawing = h("section", { "aria-label": "Path" });
const list = h("div", {});
const table = h("div", { class: "scroll" });
const report = h("div", { class: "report" });
const live = h("input", { type: "checkbox", checked: true, id: "live" });
const saveButton = button("Save", () => void save());
const runButton = button("Run", () => void run(false), { class: "main" });

let file = "";
let saved = "";
let checked: Checked | null = null;
let runs: RunState[] = [];
let shown: number | null = null;
let framed: number | null = null;
let pins: number[] = [];
let timer = 0;
let looking = false;
let announced = "";

const editor = new Editor({
  changed: () => {
    mark();
    clearTimeout(timer);
    timer = setTimeout(() => void check(), PAUSE_MS);
  },
  run: () => void run(false),
  save: () => void save(),
});
const form = new Form((key, value) => void change(key, value));

/** Says what went wrong, or nothing. */
async function guard(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    say(reasonOf(error), true);
  }
}

function say(text: string, bad = false): void {
  replace(notice, text);
  notice.classList.toggle("bad", bad);
}

function mark(): void {
  saveButton.disabled = editor.text === saved;
}

async function open(name: string): Promise<void> {
  const lose = "The text has changes that are not saved. Discard them?";
  if (editor.text !== saved && !confirm(lose)) {
    files.value = file;
    return;
  }
  await guard(async () => {
    saved = await api.read(name);
    file = name;
    files.value = name;
    location.hash = encodeURIComponent(name);
    editor.load(saved);
    mark();
    await check();
  });
}

async function save(): Promise<void> {
  await guard(async () => {
    const text = editor.text;
    await api.save(file, text);
    saved = text;
    mark();
    say(`saved ${file}`);
  });
}

async function check(): Promise<void> {
  clearTimeout(timer);
  const text = editor.text;
  await guard(async () => {
    const answer = await api.check(file, text);
    if (text !== editor.text) return;
    checked = answer;
    editor.fault(answer.error);
    form.show(answer.form, answer.plan?.path ?? null);
    runButton.disabled = answer.plan === null;
    const { plan, error } = answer;
    status.classList.toggle("bad", error !== null);
    if (error) {
      replace(
        status,
        error.line > 0 && [
          button(`line ${error.line}`, () => editor.reveal(error), { class: "link" }),
          " ",
        ],
        error.message,
      );
      return;
    }
    if (!plan) return;
    const variants = plan.variants.length > 1 ? `, ${plan.variants.length} variants` : "";
    const stored = plan.in_store > 0 ? `, ${plan.in_store} of them in the result store` : "";
    const all = plan.runs === 1 ? "1 run" : `${plan.runs} runs`;
    replace(status, `${plan.title}: ${all}${variants}${stored}`);
    replace(
      drawing,
      plan.path &&
        pathView(
          plan.path,
          plan.sweep.map(([key]) => key),
        ),
    );
  });
}

/** Changes of the form wait for each other, so that each starts from the text of the last. */
let changes = Promise.resolve();
const latest = new Map<string, symbol>();
let moved = 0;

function change(key: string, value: string | null): Promise<void> {
  const own = Symbol(key);
  latest.set(key, own);
  moved += 1;
  changes = changes.then(() =>
    guard(async () => {
      // A later position of the same slider is what counts.
      if (latest.get(key) !== own) return;
      editor.set(await api.edit(editor.text, key, value));
      await check();
      const few = (checked?.plan?.runs ?? Number.POSITIVE_INFINITY) <= QUICK_RUNS;
      if (live.checked && few) await run(true);
    }),
  );
  return changes;
}

async function run(replacing: boolean): Promise<void> {
  await guard(async () => {
    shown = await api.run(file, editor.text, replacing);
    if (replacing) await settled(shown);
    else void look();
  });
}

/**
 * Waits until a run has ended, so that a moving slider shows answers on its way; but not for long
 * if the slider has moved on.
 */
async function settled(id: number): Promise<void> {
  const [begun, moves] = [performance.now(), moved];
  void look();
  do await pause(LOOK_MS / 2);
  while (
    (moves === moved || performance.now() < begun + PATIENCE_MS) &&
    runs.find((one) => one.id === id)?.phase !== "done" &&
    looking
  );
}

const isActive = ({ phase }: RunState): boolean => phase === "waiting" || phase === "running";
const pause = (time: number): Promise<void> => new Promise((done) => setTimeout(done, time));

/** Follows runs until all have ended. */
async function look(): Promise<void> {
  if (looking) return;
  looking = true;
  try {
    for (;;) {
      runs = await api.runs();
      draw();
      if (!runs.some(isActive)) return;
      await pause(LOOK_MS);
    }
  } catch (error) {
    say(reasonOf(error), true);
  } finally {
    looking = false;
  }
}

function draw(): void {
  replace(
    list,
    history(runs, shown, pins, {
      show: (id) => {
        shown = id;
        draw();
      },
      pin: (id) => {
        pins = pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id].slice(-4);
        draw();
      },
      cancel: (id) => void guard(async () => void (await api.cancel(id))),
      restore: (id) => void guard(async () => editor.set(await api.textOf(id))),
    }),
  );
  const current = runs.find(({ id }) => id === shown);
  const columns = [...pins, ...(shown !== null && !pins.includes(shown) ? [shown] : [])];
  const compared = columns
    .map((id) => runs.find((one) => one.id === id))
    .filter((one) => one?.has_report === true) as RunState[];
  if (compared.length > 0) replace(table, comparison(compared));
  const words = current && `run ${current.id}: ${phaseText(current)}`;
  if (words && words !== announced) say(words, current.phase === "failed");
  announced = words ?? "";
  if (current?.has_report && framed !== shown) frame(current.id);
}

let framing = 0;

/** Shows a run's report, once the reader has stopped moving sliders. */
function frame(id: number): void {
  framed = id;
  clearTimeout(framing);
  framing = setTimeout(() => {
    replace(
      report,
      h(
        "p",
        { class: "hint" },
        `Report of run ${id}. `,
        h("a", { href: reportUrl(id), target: "_blank", rel: "noopener" }, "Open it alone"),
      ),
      // Of an origin of its own: nothing in a report can ask the studio.
      h("iframe", {
        src: reportUrl(id),
        title: `Report of run ${id}`,
        sandbox: "allow-scripts allow-downloads",
      }),
    );
  }, 350);
}

async function start(): Promise<void> {
  replace(
    app,
    h(
      "header",
      { class: "topbar studio-bar" },
      h("span", { class: "brand" }, "Bentpipe studio"),
      files,
      saveButton,
      runButton,
      h("label", { class: "live", for: "live" }, live, "Run while sliders move"),
      themeToggle(() => {}),
    ),
    h("div", { class: "messages" }, status, notice),
    h(
      "main",
      { class: "desk" },
      h("section", { class: "card text", "aria-label": "Text" }, editor.element),
      h(
        "div",
        { class: "side" },
        drawing,
        h("section", { class: "card", "aria-label": "Form" }, form.element),
        h("section", { class: "card", "aria-label": "Runs" }, h("h2", {}, "Runs"), list, table),
      ),
    ),
    report,
  );
  draw();
  await guard(async () => {
    const [{ directory, scenarios }, profiles, schema] = await Promise.all([
      api.list(),
      api.profiles(),
      api.schema(),
    ]);
    form.profiles = profiles;
    editor.schema = new ScenarioSchema(schema);
    replace(
      files,
      scenarios.map((name) => h("option", { value: name }, name)),
    );
    runs = await api.runs();
    shown = runs.find(({ has_report }) => has_report)?.id ?? null;
    draw();
    const wanted = decodeURIComponent(location.hash.slice(1));
    const first = scenarios.includes(wanted) ? wanted : scenarios[0];
    if (first) await open(first);
    else say(`no scenarios in ${directory}; to make one there: bentpipe init mine.toml`, true);
  });
}

addEventListener("beforeunload", (event) => {
  if (editor.text !== saved) event.preventDefault();
});

void start();
