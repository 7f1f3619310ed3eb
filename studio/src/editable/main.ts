/** The editor of an editable report: the studio, with an engine in the page. */
import "../app/studio.css";
import "../app/picture/picture.css";
import { Studio } from "../app/studio.ts";
import { MAIN_METRICS } from "../data/metrics.generated.ts";
import { embedded } from "../data/read.ts";
import type { Report, Summary } from "../data/report.types.ts";
import type { EngineCode } from "../engine/engine.ts";
import { LocalApi, type Scenario } from "../engine/local.ts";
import { h, replace } from "../page/dom.ts";
import { showInReport, showPathsIn } from "../page/editable.ts";

/** Time without another result after which the report is redrawn. */
const CALM_MS = 120;

/** Opens the editor in an element of the report. */
export function open(slot: HTMLElement, code: EngineCode): void {
  const scenario = JSON.parse(embedded("bentpipe-scenario") ?? "{}") as Scenario;
  const api = new LocalApi(code, scenario);
  const [json, traces] = [embedded("bentpipe-report"), embedded("bentpipe-traces")];
  const report = JSON.parse(json ?? "{}") as Report;
  const isMain = (row: Summary): boolean =>
    MAIN_METRICS.includes(row.metric) && row.median !== null;
  const shown = { report: json ?? "", traces };
  const first = api.add(report.scenario, report.summary.filter(isMain), shown, report.runs_done);
  let reported = first;
  let timer = 0;
  const studio = new Studio(api, {
    showPaths: async (places, data) => showPathsIn(places, data),
    showReport: (id) => {
      clearTimeout(timer);
      if (id === reported || id === null) return;
      timer = setTimeout(async () => {
        reported = id;
        const data = await api.data(id);
        if (data) showInReport(data);
      }, CALM_MS);
    },
  });
  const { save, live } = studio.bar;
  save.textContent = "Save text";
  replace(
    slot,
    h(
      "section",
      { class: "in-report", "aria-label": "Change and run" },
      h(
        "div",
        { class: "studio-bar" },
        studio.control.button,
        save,
        studio.control.progress,
        h("label", { class: "check", for: "live" }, live, "Run while sliders move"),
        h("span", { class: "hint" }, "Runs in this page; nothing is sent anywhere."),
      ),
      studio.body(),
    ),
  );
  void studio
    .start({ file: scenario.name, text: null })
    .then(() => studio.guard(() => api.learn(first)));
}
