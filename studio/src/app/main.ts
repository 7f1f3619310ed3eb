/** The application of `bentpipe studio`: a scenario's text, its path, its form and its runs. */
import "../style/base.css";
import "../style/header.css";
import "../style/page.css";
import "./studio.css";
import { pathView } from "../charts/static/path-drawing.ts";
import { plural } from "../format/numbers.ts";
import { button, h, replace } from "../page/dom.ts";
import { themeToggle } from "../page/theme.ts";
import { reasonOf } from "../sections/parts.ts";
import { api, type Checked, isActive, type RunState, reportUrl } from "./api.ts";
import { type ComparedRun, comparison } from "./comparison.ts";
import { Editor } from "./editor.ts";
import { Form } from "./form.ts";
import { History, phaseText } from "./history.ts";
import { ScenarioSchema } from "./schema.ts";

/** Time without typing after which a text is checked. */
const PAUSE_MS = 150;
/** Time between two requests for the states of runs that have not ended. */
const FOLLOW_MS = 40;
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
let following = false;
let announced = "";
/** Summaries of the runs that are or were compared. */
const summaries = new Map<number, ComparedRun>();
let compared = "";

const editor = new Editor({
  changed: () => {
    mark();
    clearTimeout(timer);
    timer = setTimeout(() => void check(), PAUSE_MS);
  },
  run: () => void run(false),
  save: () => void save(),
});
const history = new History({
  show: (id) => {
    shown = id;
    void guard(draw);
  },
  pin: (id) => {
    pins = pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id].slice(-4);
    void guard(draw);
  },
  cancel: (id) => void guard(async () => void (await api.cancel(id))),
  restore: (id) => void guard(async () => editor.set(await api.textOf(id))),
});
const form = new Form((key, value) => void change(key, value));

/** Does something, and shows what went wrong with it. */
async function guard(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    notify(reasonOf(error), true);
  }
}

function notify(text: string, bad = false): void {
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
    notify(`saved ${file}`);
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
    replace(status, `${plan.title}: ${plural(plan.runs, "run")}${variants}${stored}`);
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
    else void follow();
  });
}

/**
 * Waits until a run has ended, so that a moving slider shows answers on its way; but not for long
 * if the slider has moved on.
 */
async function settled(id: number): Promise<void> {
  const [begun, moves] = [performance.now(), moved];
  void follow();
  do await pause(FOLLOW_MS / 2);
  while (
    (moves === moved || performance.now() < begun + PATIENCE_MS) &&
    following &&
    runs.some((one) => one.id === id && isActive(one))
  );
}

const pause = (time: number): Promise<void> => new Promise((done) => setTimeout(done, time));

/** Follows runs until all have ended. */
async function follow(): Promise<void> {
  if (following) return;
  following = true;
  try {
    for (;;) {
      runs = await api.runs();
      await draw();
      if (!runs.some(isActive)) return;
      await pause(FOLLOW_MS);
    }
  } catch (error) {
    notify(reasonOf(error), true);
  } finally {
    following = false;
  }
}

/** Shows the runs, and the shown and the pinned ones side by side. */
async function draw(): Promise<void> {
  history.show(runs, shown, pins);
  const current = runs.find(({ id }) => id === shown);
  const words = current && `run ${current.id}: ${phaseText(current)}`;
  if (words && words !== announced) notify(words, current.phase === "failed");
  announced = words ?? "";
  if (current?.has_report && framed !== shown) frame(current.id);
  await compare();
}

/** Redraws the comparison if other runs are to be compared. */
async function compare(): Promise<void> {
  const columns = [...pins, ...(shown !== null && !pins.includes(shown) ? [shown] : [])];
  const ids = columns.filter((id) => runs.some((one) => one.id === id && one.has_report));
  const wanted = ids.join();
  if (ids.length === 0 || wanted === compared) return;
  compared = wanted;
  const columnsOf = ids.map(async (id) => {
    const known = summaries.get(id) ?? (await api.details(id));
    summaries.set(id, known);
    return known;
  });
  const all = await Promise.all(columnsOf);
  // Other runs may have been chosen in the meantime.
  if (wanted === compared) replace(table, comparison(all));
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
      h("label", { class: "check", for: "live" }, live, "Run while sliders move"),
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
        h(
          "section",
          { class: "card", "aria-label": "Runs" },
          h("h2", {}, "Runs"),
          history.element,
          table,
        ),
      ),
    ),
    report,
  );
  await guard(async () => {
    await draw();
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
    await draw();
    const wanted = decodeURIComponent(location.hash.slice(1));
    const first = scenarios.includes(wanted) ? wanted : scenarios[0];
    if (first) await open(first);
    else notify(`no scenarios in ${directory}; to make one there: bentpipe init mine.toml`, true);
  });
}

addEventListener("beforeunload", (event) => {
  if (editor.text !== saved) event.preventDefault();
});

void start();
