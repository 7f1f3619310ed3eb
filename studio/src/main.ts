import "uplot/dist/uPlot.min.css";
import "./style.css";
import { flowKey, flowsOf } from "./data/flows.ts";
import { metricsOf } from "./data/groups.ts";
import { embedded, normalise } from "./data/read.ts";
import { hasReturnSide } from "./data/reverse.ts";
import type { Report } from "./data/schema.ts";
import { SeriesSource } from "./data/series-cache.ts";
import { h, replace, scrollTo } from "./page/dom.ts";
import { parseHash, Store } from "./page/state.ts";
import { dataSection } from "./sections/data.ts";
import { emptyState } from "./sections/empty.ts";
import { header, themeToggle } from "./sections/header.ts";
import { resultsSection } from "./sections/results.ts";
import { ReturnSection } from "./sections/reverse.ts";
import { ALL, seriesTitle, TraceSection } from "./sections/run.ts";
import { tableSection } from "./sections/table.ts";

const app = document.getElementById("app")!;
let recolour = (): void => {};
const toggle = themeToggle(() => recolour());

function topBar(links: [string, string][]): HTMLElement {
  return h(
    "div",
    { class: "topbar" },
    h("span", { class: "brand" }, "Bentpipe"),
    h(
      "nav",
      { "aria-label": "Sections" },
      links.map(([id, name]) =>
        h("a", { href: `#${id}`, click: (e: MouseEvent) => jump(e, id) }, name),
      ),
    ),
    toggle,
  );
}

/** Scrolls without touching the address, which holds the view. */
function jump(event: MouseEvent, id: string): void {
  event.preventDefault();
  scrollTo(document.getElementById(id));
}

function show(report: Report, traces: string | null): void {
  document.title = `${report.title} – Bentpipe`;
  const flows = flowsOf(report);
  // `bentpipe orbit` writes paths over time, and neither runs nor statistics.
  const measured = report.runs.length > 0 || report.summary.length > 0;
  const store = new Store(
    {
      metric: metricsOf(report)[0] ?? "completion_s",
      flow: flows[0] ? flowKey(flows[0]) : "",
      picture: "",
      point: "",
      run: 0,
      versus: -1,
      traceFlow: measured ? "" : ALL,
      origin: measured ? "flow" : "run",
      links: "busy",
      zoom: null,
      at: "",
      returnFlow: "",
      over: "",
      count: "bytes",
      overZoom: null,
    },
    parseHash(location.hash),
  );
  if (!report.traces[store.state.run]) store.state.run = 0;
  if (!report.traces[store.state.versus]) store.state.versus = -1;
  const source = traces === null ? null : new SeriesSource(traces);
  const series = new TraceSection(report, store, source);
  const back = hasReturnSide(report) ? new ReturnSection(report, store, source) : null;
  const results = resultsSection(report, store, (variant, point, run) =>
    series.open(variant, point, run),
  );
  const table = tableSection(report, store);
  const draw = (): void => {
    results.draw();
    table.draw();
  };
  store.on((changed) => {
    if (
      changed.has("metric") ||
      changed.has("flow") ||
      changed.has("picture") ||
      changed.has("point")
    )
      draw();
  });
  recolour = () => {
    draw();
    series.recolour();
    back?.draw();
  };
  draw();
  replace(
    app,
    topBar([
      ...(measured
        ? ([
            ["results", "Results"],
            ["table", "Table"],
          ] as [string, string][])
        : []),
      ["series", seriesTitle(report)],
      ...(back ? ([["return", "Return link"]] as [string, string][]) : []),
      ["data", "Data"],
    ]),
    h(
      "main",
      {},
      header(report),
      measured && [results.el, table.el],
      series.el,
      back?.el,
      dataSection(report),
    ),
    h(
      "footer",
      {},
      `Bentpipe ${report.version} · scenario ${report.scenario} · seed ${report.seed} · ${report.clock} clock`,
    ),
  );
}

function empty(problem: string | null): void {
  replace(
    app,
    topBar([]),
    h(
      "main",
      {},
      emptyState(problem, (report) => show(report, null)),
    ),
  );
}

const text = embedded("bentpipe-report");
if (text === null) empty(null);
else {
  try {
    show(normalise(JSON.parse(text)), embedded("bentpipe-traces"));
  } catch (error) {
    empty(
      `The report in this page cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
