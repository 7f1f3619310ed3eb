import "../style/index.css";
import "./trace.css";
import { embedded } from "../data/read.ts";
import type { TracePage } from "../data/trace.types.ts";
import { h, replace, scrollTo } from "../page/dom.ts";
import { themeToggle } from "../page/theme.ts";
import { reasonOf } from "../sections/parts.ts";
import { cautionsSection, remediesSection } from "./advice.ts";
import { answerSection } from "./answer.ts";
import { connectionsSection, requestsSection } from "./tables.ts";
import { TimeLineSection } from "./time-line.ts";

const app = document.getElementById("app")!;
let recolour = (): void => {};
const toggle = themeToggle(() => recolour());

function topBar(parts: [id: string, name: string][]): HTMLElement {
  const jump = (event: MouseEvent, id: string): void => {
    event.preventDefault();
    scrollTo(document.getElementById(id));
  };
  const links = parts.map(([id, name]) =>
    h("a", { href: `#${id}`, click: (e: MouseEvent) => jump(e, id) }, name),
  );
  return h(
    "div",
    { class: "topbar" },
    h("span", { class: "brand" }, "Bentpipe"),
    h("nav", { "aria-label": "Sections" }, links),
    toggle,
  );
}

/** Shows a transfer. What has colours of the theme is made again when that changes. */
function show(page: TracePage, series: string | null): void {
  document.title = `${page.file} – Bentpipe`;
  const line = new TimeLineSection(page, series);
  const main = h("main", {});
  const parts = (): [string, string, HTMLElement | null][] => [
    ["answer", "Answer", answerSection(page)],
    ["help", "What would help", remediesSection(page)],
    ["series", "Over time", line.el],
    ["requests", "Requests", requestsSection(page)],
    ["connections", "Connections", connectionsSection(page)],
    ["cautions", "Cautions", cautionsSection(page)],
  ];
  const there = parts().flatMap(([id, name, el]): [string, string][] => (el ? [[id, name]] : []));
  const draw = (): void =>
    replace(
      main,
      parts().map(([, , el]) => el),
    );
  recolour = () => {
    draw();
    line.recolour();
  };
  draw();
  replace(app, topBar(there), main, h("footer", {}, `Bentpipe ${page.version} · ${page.file}`));
}

function problem(words: string): void {
  replace(app, topBar([]), h("main", {}, h("p", { class: "note" }, words)));
}

const text = embedded("bentpipe-report");
try {
  if (text === null) problem("This page has no data: `bentpipe explain FILE --html` writes one.");
  else show(JSON.parse(text) as TracePage, embedded("bentpipe-traces"));
} catch (error) {
  problem(`The data of this page cannot be read: ${reasonOf(error)}`);
}
