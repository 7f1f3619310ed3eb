/** The application of `bentpipe studio`: scenarios of a directory, and reports of their runs. */
import "../style/base.css";
import "../style/header.css";
import "../style/page.css";
import "../style/plots.css";
import "../style/sky.css";
import "uplot/dist/uPlot.min.css";
import "./studio.css";
import { PathsView } from "../outlook/paths-view.ts";
import { button, h, replace } from "../page/dom.ts";
import { saveBlob } from "../page/files.ts";
import { themeToggle } from "../page/theme.ts";
import { placeHash, readPlace } from "./place.ts";
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

/** Made with the first path that changes over time. */
let paths: PathsView | null = null;
/** Loads the script that draws the globe, once it is needed. */
let globe: Promise<void> | null = null;

function loadGlobe(): Promise<void> {
  globe ??= new Promise((done) => {
    // Without it, a map has the same data.
    document.head.append(h("script", { src: "globe.js", load: () => done(), error: () => done() }));
  });
  return globe;
}

const studio = new Studio(server, {
  showReport,
  showPaths: async (places, data) => {
    if (data?.report.includes('"constellations"')) await loadGlobe();
    paths ??= new PathsView(places);
    await paths.show(data);
  },
  opened: (file) => {
    location.hash = placeHash({ file, text: null });
  },
  move: (address, place) => {
    location.href = `${address.replace(/\/?$/, "/")}${placeHash(place)}`;
  },
});
replace(
  app,
  h(
    "header",
    { class: "topbar studio-bar" },
    h("span", { class: "brand" }, "Bentpipe studio"),
    studio.files,
    button("New", () => studio.askNew(), { title: "A new scenario, in a new file" }),
    studio.saveButton,
    button("Save as…", () => studio.askSaveAs()),
    studio.runButton,
    studio.liveBox,
    themeToggle(() => paths?.recolour()),
  ),
  h("main", { class: "wide" }, studio.body()),
  report,
);
// Wherever the focus is: a browser would save the page.
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key !== "s" || event.defaultPrevented) return;
  event.preventDefault();
  void studio.save();
});
addEventListener("pagehide", () => studio.keepDraft());
addEventListener("beforeunload", (event) => {
  if (studio.isChanged && !studio.isMoving) event.preventDefault();
});
void studio.start(readPlace(location.hash));
