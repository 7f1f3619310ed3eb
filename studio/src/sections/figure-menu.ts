import { type FigureTable, figureTable, latex, markdown } from "../data/figure-table.ts";
import { metricOf } from "../data/metrics.ts";
import { flowFor, shownMetric } from "../data/offered.ts";
import { pointKey, pointsOf } from "../data/points.ts";
import type { Report } from "../data/report.types.ts";
import { button, h, remeasure } from "../page/dom.ts";
import { copy, delimited, download, fileName } from "../page/files.ts";
import { savePng, saveSvg } from "../page/picture.ts";
import type { Store } from "../page/state.ts";
import { asOnPaper } from "../page/theme.ts";
import { type PaperStyle, vectorOf } from "../page/vector.ts";
import { captionOf } from "./parts.ts";

/** Widths of a column and of a page of a paper in two columns, in millimetres; our choice. */
const WIDTHS = [
  { value: 0, text: "as on the screen" },
  { value: 85, text: "one column, 85 mm" },
  { value: 178, text: "two columns, 178 mm" },
];

/** CSS pixels per millimetre at which letters of 12 px are 8 pt high. */
const PX_PER_MM = 4.25;

/** The reader's last choice, for all figures. */
const chosen: PaperStyle = { width: 0, serif: false, grey: false };

/** What a menu needs of its page. */
export interface MenuOptions {
  /** With the variants that are shown. */
  report: () => Report;
  store: Store;
}

/** The table of what a figure shows: of its point if it has one, else of all. */
function tableOf(figure: HTMLElement, { report, store }: MenuOptions): FigureTable {
  const part = report();
  const metric = metricOf(shownMetric(part, store.state.metric));
  const { point } = figure.dataset;
  const points = pointsOf(part).filter((p) => point === undefined || pointKey(p) === point);
  const flow = flowFor(part, metric.key, store.state.flow);
  return figureTable(part, flow, metric, points, figure.matches(".budgets"));
}

/** A figure as a picture; for a paper in light colours and in the width that letters need. */
function pictureOf(id: string, caption: string): ReturnType<typeof vectorOf> | null {
  const find = (): HTMLElement | null => document.querySelector(`[data-figure="${id}"]`);
  if (chosen.width === 0) {
    const figure = find();
    return figure && vectorOf(figure, caption, chosen);
  }
  return asOnPaper(() => {
    const figure = find();
    if (!figure) return null;
    const parent = figure.parentElement!;
    parent.style.display = "block";
    figure.classList.add("on-paper");
    figure.style.width = `${Math.round(chosen.width * PX_PER_MM)}px`;
    remeasure();
    const picture = vectorOf(figure, caption, chosen);
    parent.style.display = "";
    figure.style.width = "";
    figure.classList.remove("on-paper");
    return picture;
  });
}

function menu(figure: HTMLElement, id: string, title: string, options: MenuOptions): HTMLElement {
  const { report, store } = options;
  const { intervals } = figure.dataset;
  const caption = captionOf(report(), intervals ? `${title}. Intervals: ${intervals}` : title);
  const name = fileName(report().scenario, id);
  const said = h("span", { class: "said", role: "status" });
  const say = (done: boolean): void => {
    said.textContent = done ? "Copied." : "The browser refused to copy.";
  };
  const copies = (text: () => string) => (): void => void copy(text()).then(say);
  const save = (kind: "svg" | "png") => (): void => {
    const picture = pictureOf(id, caption);
    if (picture) void (kind === "svg" ? saveSvg(picture, name) : savePng(picture, name));
  };
  const table = (): FigureTable => tableOf(figure, options);
  const csv = (): void => {
    const { heads, rows } = table();
    download(`${name}.csv`, "text/csv", delimited([heads, ...rows], ","));
  };
  const width = h(
    "select",
    { "aria-label": "Width", change: () => (chosen.width = Number(width.value)) },
    WIDTHS.map((w) => h("option", { value: w.value, selected: w.value === chosen.width }, w.text)),
  );
  const check = (key: "serif" | "grey", text: string): HTMLElement => {
    const box = h("input", { type: "checkbox", change: () => (chosen[key] = box.checked) });
    box.checked = chosen[key];
    return h("label", { class: "check" }, box, text);
  };
  const inside = (): HTMLElement =>
    h(
      "div",
      { class: "card" },
      button("SVG", save("svg")),
      button("PNG", save("png")),
      button("CSV", csv),
      button(
        "Copy Markdown",
        copies(() => markdown(table(), caption)),
      ),
      button(
        "Copy LaTeX",
        copies(() => latex(table(), caption)),
      ),
      button(
        "Copy caption",
        copies(() => caption),
      ),
      button(
        "Copy link",
        copies(() => store.linkTo(id)),
      ),
      h("label", { class: "field" }, "Width", width),
      check("serif", "serif"),
      check("grey", "grey"),
      said,
    );
  const el = h(
    "details",
    {
      class: "figure-menu",
      // A report may have many figures, of which few are taken away.
      toggle: () => el.childElementCount < 2 && el.append(inside()),
      keydown: (event: KeyboardEvent) => {
        if (event.key !== "Escape" || !el.open) return;
        el.open = false;
        el.querySelector("summary")?.focus();
      },
      focusout: (event: FocusEvent) => {
        if (event.relatedTarget instanceof Node && !el.contains(event.relatedTarget))
          el.open = false;
      },
    },
    h("summary", { "aria-label": `Take away: ${title}`, title: "Save, copy or link" }, "⋯"),
  );
  return el;
}

/** Gives every figure below an element a name and a menu. */
export function addMenus(el: HTMLElement, options: MenuOptions): void {
  const names = new Map<string, number>();
  for (const figure of el.querySelectorAll<HTMLElement>("figure.card:not(.path-card)")) {
    const head = figure.querySelector("figcaption");
    const kind = figure.classList.item(1) ?? "figure";
    const n = (names.get(kind) ?? 0) + 1;
    names.set(kind, n);
    const id = `${el.id}-${kind}${n > 1 ? n : ""}`;
    figure.dataset.figure = id;
    const title = head?.querySelector("h3, h4")?.textContent?.trim() || metricName(options);
    head?.append(menu(figure, id, title, options));
  }
}

const metricName = ({ report, store }: MenuOptions): string =>
  metricOf(shownMetric(report(), store.state.metric)).label;
