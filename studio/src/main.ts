import "./style/index.css";
import { usualFlow } from "./answer/index.ts";
import { competitionOf } from "./data/fairness.ts";
import { flowKey } from "./data/flows.ts";
import { hasRuns, usualMetric } from "./data/offered.ts";
import { embedded, readReport } from "./data/read.ts";
import type { Report } from "./data/report.types.ts";
import { hasReverseTraffic } from "./data/reverse.ts";
import { SeriesSource } from "./data/series-cache.ts";
import { PathsView } from "./outlook/paths-view.ts";
import { h, replace, scrollTo } from "./page/dom.ts";
import { EditableReport } from "./page/editable.ts";
import { parseHash, type State, Store } from "./page/state.ts";
import { themeToggle } from "./page/theme.ts";
import { AnswerSection } from "./sections/answer.ts";
import { shownReport } from "./sections/chosen.ts";
import { dataSection } from "./sections/data.ts";
import { emptyState } from "./sections/empty.ts";
import { addMenus } from "./sections/figure-menu.ts";
import { header } from "./sections/header.ts";
import { reasonOf, versionOf } from "./sections/parts.ts";
import { ResultsSection } from "./sections/results.ts";
import { ReverseSection } from "./sections/reverse.ts";
import { ALL, RunSection, seriesTitle } from "./sections/run.ts";
import { tableSection } from "./sections/table.ts";

const app = document.getElementById("app")!;
/** What a site that shows this report puts above its path. */
const beside = document.querySelector<HTMLTemplateElement>("template#bentpipe-beside");
let recolour = (): void => {};
/** The path over time of the scenario in the editor. */
let paths: PathsView | null = null;
const editable = new EditableReport(
  ({ report, traces }) => load(report, traces),
  (places, data) => {
    paths ??= new PathsView(places);
    void paths.show(data);
  },
);
const toggle = themeToggle(() => {
  recolour();
  paths?.recolour();
});

function topBar(links: [string, string][]): HTMLElement {
  return h(
    "header",
    { class: "topbar" },
    h(
      "a",
      { class: "skip", href: "#main", click: (e: MouseEvent) => jump(e, "main") },
      "Skip to the content",
    ),
    h("span", { class: "brand" }, "Bentpipe"),
    h(
      "nav",
      { "aria-label": "Sections" },
      links.map(([id, name]) =>
        h("a", { href: `#${id}`, click: (e: MouseEvent) => jump(e, id) }, name),
      ),
    ),
    editable.control(),
    toggle,
  );
}

/** Shows the parts of the page. The editor of an editable report, if it is there, stays. */
function lay(bar: HTMLElement, ...parts: HTMLElement[]): void {
  const { slot } = editable;
  if (!slot.isConnected) replace(app, bar, slot);
  else slot.previousElementSibling?.replaceWith(bar);
  while (slot.nextSibling) slot.nextSibling.remove();
  app.append(...parts);
}

/** Scrolls without touching the address, which holds the view. */
function jump(event: MouseEvent, id: string): void {
  event.preventDefault();
  const el = document.getElementById(id);
  if (!el) return;
  scrollTo(el);
  // Tab goes on from there.
  el.tabIndex = -1;
  el.focus({ preventScroll: true });
}

/** What the page shows unless the address says otherwise. */
function usualState(report: Report): State {
  const flow = usualFlow(report);
  const measured = hasRuns(report);
  return {
    metric: usualMetric(report, flow),
    flow: flow ? flowKey(flow) : "",
    picture: "",
    point: "",
    baseline: "",
    find: "",
    only: "",
    sort: "",
    at: "",
    table: "",
    across: "ratio",
    run: 0,
    versus: -1,
    traceFlow: measured ? "" : ALL,
    origin: measured ? "flow" : "run",
    links: "busy",
    zoom: null,
    reversePoint: "",
    reverseFlow: "",
    compared: "",
    count: "bytes",
    reverseZoom: null,
  };
}

function show(report: Report, traces: string | null): void {
  document.title = `${report.title} – Bentpipe`;
  const store = new Store(usualState(report), parseHash(location.hash));
  if (!report.traces[store.state.run]) store.state.run = 0;
  if (!report.traces[store.state.versus]) store.state.versus = -1;
  const source = traces === null ? null : new SeriesSource(traces);
  const series = new RunSection(report, store, source);
  const reverse = hasReverseTraffic(report) ? new ReverseSection(report, store, source) : null;
  const results = new ResultsSection(report, store, (...run) => series.open(...run));
  const table = tableSection(report, store);
  const measured = hasRuns(report);
  const own = beside?.content.cloneNode(true);
  const answer = measured
    ? new AnswerSection(report, store, (...run) => series.open(...run), source, own)
    : null;
  const menus = (el: HTMLElement): void =>
    addMenus(el, { report: () => shownReport(report, store.state), store });
  const drawAnswer = (): void => {
    answer?.draw();
    if (answer) menus(answer.el);
  };
  const draw = (): void => {
    drawAnswer();
    results.draw();
    table.draw();
    menus(results.el);
  };
  // A heat map of pairs marks the run that is shown below.
  const run: (keyof State)[] = competitionOf(report) ? ["run"] : [];
  const keysOfAnswer: (keyof State)[] = ["baseline", "across", ...run];
  store.on((changed) => {
    const keys: (keyof State)[] = ["metric", "flow", "picture", "point", "find", "only"];
    if (keys.some((key) => changed.has(key))) draw();
    else if (keysOfAnswer.some((key) => changed.has(key))) drawAnswer();
    // The table compares with the baseline too.
    if (["baseline", "sort", "table"].some((key) => changed.has(key as keyof State))) table.draw();
  });
  recolour = () => {
    draw();
    series.recolour();
    reverse?.draw();
  };
  draw();
  // `bentpipe orbit` writes paths over time, and neither runs nor statistics.
  const sections: [id: string, name: string, el: HTMLElement][] = [
    ...(measured
      ? ([
          ["results", "Results", results.el],
          ["table", "Table", table.el],
        ] as [string, string, HTMLElement][])
      : []),
    ["series", seriesTitle(report), series.el],
    ...(reverse ? ([["reverse", "ACKs", reverse.el]] as [string, string, HTMLElement][]) : []),
    ["data", "Data", dataSection(report)],
  ];
  const { scenario, seed, clock } = report;
  const version = versionOf(report);
  const { at } = store.state;
  lay(
    topBar([
      ...(answer ? [["answer", "Answer"] as [string, string]] : []),
      ...sections.map(([id, name]): [string, string] => [id, name]),
    ]),
    h(
      "main",
      { id: "main" },
      answer ? answer.el : header(report, own),
      sections.map(([, , el]) => el),
    ),
    h("footer", {}, `Bentpipe ${version} · scenario ${scenario} · seed ${seed} · ${clock} clock`),
  );
  if (at) scrollTo(document.querySelector(`[data-figure="${CSS.escape(at)}"]`));
}

function empty(problem: string | null): void {
  lay(
    topBar([]),
    h(
      "main",
      { id: "main" },
      emptyState(problem, (report) => show(report, null)),
    ),
  );
}

/** Shows the report of a JSON document. */
function load(json: string, traces: string | null): void {
  try {
    show(readReport(JSON.parse(json)), traces);
  } catch (error) {
    empty(`The report in this page cannot be read: ${reasonOf(error)}`);
  }
}

const text = embedded("bentpipe-report");
if (text === null) empty(null);
else load(text, embedded("bentpipe-traces"));
