/** The editor of an editable report: the studio, with an engine in the page. */
import "../app/studio.css";
import "../app/drawing.css";
import "../app/picture/picture.css";
import { linkedText, linkHash } from "../app/place.ts";
import { Studio } from "../app/studio.ts";
import { MAIN_METRICS } from "../data/metrics.generated.ts";
import { mainRows } from "../data/offered.ts";
import { embedded } from "../data/read.ts";
import type { Report } from "../data/report.types.ts";
import type { EngineCode } from "../engine/engine.ts";
import { LocalApi, type Scenario } from "../engine/local.ts";
import { button, h, replace } from "../page/dom.ts";
import { showInReport, showPathsIn } from "../page/editable.ts";
import { saveBlob } from "../page/files.ts";
import { changedPage } from "./changed-page.ts";

const PAGE_TITLE = "One file with the text as it stands and the results that are shown";

const LINK_TITLE = "An address of this page that holds the text as it stands";

/** Time without another result after which the report is redrawn. */
const CALM_MS = 120;

/**
 * Opens the editor in an element of the report. `head` is the head of the page as it came, from
 * which a changed page is made, and `hash` the fragment of its address, which may hold a text.
 */
export function open(slot: HTMLElement, code: EngineCode, head: Node, hash = ""): void {
  const scenario = JSON.parse(embedded("bentpipe-scenario") ?? "{}") as Scenario;
  const api = new LocalApi(code, scenario);
  const [json, traces] = [embedded("bentpipe-report"), embedded("bentpipe-traces")];
  const report = JSON.parse(json ?? "{}") as Report;
  const shown = { report: json ?? "", traces };
  const first = api.add(report.scenario, mainRows(report, MAIN_METRICS), shown, report.runs_done);
  let reported = first;
  let timer = 0;
  const studio = new Studio(api, {
    savesCopies: true,
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
  /** Saves this page with the text as it stands, and the results that are shown. */
  const keep = (): Promise<void> =>
    studio.guard(async () => {
      const data = await api.data(reported);
      if (!data) throw new Error(`run ${reported} has no results any more; run it again`);
      const { text } = studio.place;
      saveBlob(
        `${report.scenario}.html`,
        changedPage(head, data, { ...scenario, text: text ?? "" }),
      );
      studio.notify(`saved the page with run ${reported}, with your downloads`);
    });
  /** Copies an address of this page that opens the text as it stands. */
  const copyLink = (): Promise<void> =>
    studio.guard(async () => {
      const link = location.href.split("#", 1)[0]! + (await linkHash(studio.place.text ?? ""));
      await navigator.clipboard.writeText(link);
      const local = location.protocol === "file:" ? "; it opens this file, on this computer" : "";
      studio.notify(`copied a link with the text as it stands${local}`);
    });
  const { save, side } = studio.bar;
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
        button("Save page", () => void keep(), { title: PAGE_TITLE }),
        button("Copy link", () => void copyLink(), { title: LINK_TITLE }),
        side,
        h("span", { class: "hint" }, "Runs in this page; nothing is sent anywhere."),
      ),
      studio.body(),
    ),
  );
  void linkedText(hash).then((text) => studio.start({ file: scenario.name, text }));
}
