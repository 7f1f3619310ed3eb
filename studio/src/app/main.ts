/** The application of `bentpipe studio`: scenarios of a directory, and reports of their runs. */
import "../style/base.css";
import "../style/header.css";
import "../style/page.css";
import "../style/plots.css";
import "../style/sky.css";
import "./studio.css";
import "./drawing.css";
import "./import.css";
import "./picture/picture.css";
import { PathsView } from "../outlook/paths-view.ts";
import { button, h, replace } from "../page/dom.ts";
import { saveBlob } from "../page/files.ts";
import { themeToggle } from "../page/theme.ts";
import { placeHash, readPlace } from "./place.ts";
import { ReportFrame } from "./report-frame.ts";
import { exported, reportUrl, server } from "./server.ts";
import { Studio } from "./studio.ts";

const app = document.getElementById("app")!;
let recolour = (): void => {};
// Before anything whose size it would ask for while that is not on the page.
const toggle = themeToggle(() => recolour());
const report = new ReportFrame({
  url: reportUrl,
  data: server.data,
  export: (id) => void save(id),
  guard: (work) => studio.guard(work),
});

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

/** The fragment that the page has given itself. */
let own = "";

const studio = new Studio(server, {
  showReport: (id) => report.show(id),
  showPaths: async (places, data) => {
    if (data?.report.includes('"constellations"')) await loadGlobe();
    paths ??= new PathsView(places);
    await paths.show(data);
  },
  opened: (file) => {
    own = `#${encodeURIComponent(file)}`;
    location.hash = own;
  },
  move: async (address, place) => {
    location.href = `${address.replace(/\/?$/, "/")}${await placeHash(place)}`;
  },
});

recolour = () => {
  paths?.recolour();
  studio.runs.picture.recolour();
};

/** Copies an address that opens the text as it stands. */
async function copyLink(): Promise<void> {
  const link = `${location.href.split("#")[0]}${await placeHash(studio.place)}`;
  await navigator.clipboard.writeText(link);
  studio.notify("copied a link with the text as it stands");
}

const { files, side } = studio.bar;
replace(
  app,
  h(
    "header",
    { class: "topbar studio-bar" },
    h("h1", { class: "brand" }, "Bentpipe studio"),
    files,
    button("New", () => studio.askNew(), { title: "A new scenario, in a new file" }),
    button("Import", () => studio.imports.ask(), {
      title: "A scenario from measurements, such as the output of ping; or drop files on the page",
    }),
    studio.bar.save,
    button("Save as…", () => studio.file.askSaveAs()),
    button("Copy link", () => void studio.guard(copyLink), {
      title: "An address of this studio that holds the text as it stands",
    }),
    studio.control.button,
    side,
    toggle,
  ),
  h("main", { class: "wide" }, studio.body()),
  report.element,
);

/** Fields with an undo of their own. */
const WRITTEN = 'input[type="text"], input[type="url"], textarea, [contenteditable="true"]';

// Wherever the focus is: a browser would save the page, or do nothing.
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return;
  const key = event.key.toLowerCase();
  const isWriting = event.target instanceof Element && event.target.closest(WRITTEN) !== null;
  const acts: Record<string, () => void> = {
    s: () => void studio.save(),
    ...(isWriting ? {} : { z: () => studio.undo(event.shiftKey), y: () => studio.undo(true) }),
  };
  const act = Object.hasOwn(acts, key) ? acts[key] : undefined;
  if (!act) return;
  event.preventDefault();
  act();
});
/** Files that are dragged over the page, apart from scenarios, which the editor takes as text. */
const draggedFiles = (event: DragEvent): DataTransfer | null =>
  event.dataTransfer?.types.includes("Files") ? event.dataTransfer : null;

// Before the editor, which would take files as text.
addEventListener("dragover", (event) => draggedFiles(event) && event.preventDefault(), true);
addEventListener(
  "drop",
  (event) => {
    const files = [...(draggedFiles(event)?.files ?? [])];
    if (files.length === 0 || files.every(({ name }) => name.endsWith(".toml"))) return;
    event.preventDefault();
    event.stopPropagation();
    studio.imports.ask(files);
  },
  true,
);
addEventListener("pagehide", () => studio.file.changed());
addEventListener("beforeunload", (event) => {
  if (studio.isChanged && !studio.isMoving) event.preventDefault();
});
addEventListener("hashchange", () => {
  if (location.hash !== own) void open();
});
const open = async (): Promise<void> => studio.start(await readPlace(location.hash));
void open();
