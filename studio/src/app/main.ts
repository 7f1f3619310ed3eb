/** The application of `bentpipe studio`: scenarios of a directory, and reports of their runs. */
import "../style/base.css";
import "../style/header.css";
import "../style/page.css";
import "./studio.css";
import { button, h, replace } from "../page/dom.ts";
import { saveBlob } from "../page/files.ts";
import { themeToggle } from "../page/theme.ts";
import { exported, reportUrl, server } from "./server.ts";
import { Studio } from "./studio.ts";

const app = document.getElementById("app")!;
const report = h("div", { class: "report" });
let framing = 0;

/** Shows a run's report, once the reader has stopped moving sliders. */
function showReport(id: number): void {
  clearTimeout(framing);
  framing = setTimeout(() => {
    replace(
      report,
      h(
        "p",
        { class: "hint" },
        `Report of run ${id}. `,
        h("a", { href: reportUrl(id), target: "_blank", rel: "noopener" }, "Open it alone"),
        " ",
        button("Export", () => void save(id), {
          title: "One file that opens offline, in which the scenario can be changed and run",
        }),
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

/** Saves a run's report with the simulator in it. */
function save(id: number): Promise<void> {
  return studio.guard(async () => {
    const page = await exported(id);
    saveBlob(`run-${id}.html`, page);
    studio.notify(`exported run ${id}, with your downloads`);
  });
}

const studio = new Studio(server, {
  showReport,
  opened: (file) => {
    location.hash = encodeURIComponent(file);
  },
});
replace(
  app,
  h(
    "header",
    { class: "topbar studio-bar" },
    h("span", { class: "brand" }, "Bentpipe studio"),
    studio.files,
    studio.saveButton,
    studio.runButton,
    studio.liveBox,
    themeToggle(() => {}),
  ),
  h("main", { class: "wide" }, studio.body()),
  report,
);
addEventListener("beforeunload", (event) => {
  if (studio.isChanged) event.preventDefault();
});
void studio.start(decodeURIComponent(location.hash.slice(1)));
