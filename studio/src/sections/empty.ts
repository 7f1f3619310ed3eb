import { readReport } from "../data/read.ts";
import type { Report } from "../data/report.types.ts";
import { h } from "../page/dom.ts";
import { reasonOf } from "./parts.ts";

/** The page without data, which takes a results file by drop or by choice. */
export function emptyState(problem: string | null, loaded: (report: Report) => void): HTMLElement {
  const said = h("p", { class: "problem", role: "alert", hidden: problem === null }, problem);
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    try {
      loaded(readReport(JSON.parse(await file.text())));
    } catch (error) {
      said.hidden = false;
      said.textContent = `${file.name} could not be shown: ${reasonOf(error)}`;
    }
  };
  const input = h("input", {
    type: "file",
    class: "quiet",
    accept: ".json,application/json",
    change: () => void read(input.files?.[0]),
  });
  const zone = h(
    "div",
    {
      class: "drop",
      dragover: (e: DragEvent) => {
        e.preventDefault();
        zone.classList.add("over");
      },
      dragleave: () => zone.classList.remove("over"),
      drop: (e: DragEvent) => {
        e.preventDefault();
        zone.classList.remove("over");
        void read(e.dataTransfer?.files[0]);
      },
    },
    h("h1", {}, "No data in this page"),
    h(
      "p",
      {},
      "This is the report page of Bentpipe without a report. Drop a ",
      h("code", {}, "results.json"),
      " here, or choose one. It stays on this computer.",
    ),
    h("label", { class: "pick" }, "Choose a file", input),
    said,
    h(
      "p",
      { class: "howto" },
      "A results file gives the table and the plots of all runs. Time series come with the " +
        "report that ",
      h("code", {}, "bentpipe run"),
      " writes.",
    ),
  );
  return zone;
}
