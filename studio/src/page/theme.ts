import { h, remeasure, replace } from "./dom.ts";

type Theme = "auto" | "light" | "dark";

const THEMES = ["auto", "light", "dark"] as const;
/** Microtasks in which everything has been drawn anew, with much to spare. */
const PROMISES = 50;
/** Where the reader's choice is kept, for all pages of the same place. */
const KEY = "bentpipe-theme";

/** The choice of an earlier page. A page may have no storage, such as one in a frame. */
function kept(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then the choice holds for this page only.
  }
}

/** Draws the page as on paper; set by the switch of themes. */
let paper = (_: boolean): void => {};

/** What `make` returns while the page is drawn in light colours, as on paper. */
export function asOnPaper<T>(make: () => T): T {
  paper(true);
  try {
    return make();
  } finally {
    paper(false);
  }
}

/**
 * The switch of themes. It follows the system until the reader chooses one; `changed` is called
 * when colours change.
 */
export function themeToggle(changed: () => void): HTMLElement {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = kept();
  let printing = false;
  const group = h("div", { class: "toggle", role: "group", "aria-label": "Colours" });
  const apply = (): void => {
    const dark = !printing && (chosen === "dark" || (chosen === "auto" && system.matches));
    root.dataset.theme = dark ? "dark" : "light";
    root.classList.toggle("printing", printing);
    replace(
      group,
      THEMES.map((t) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(t === chosen),
            click: () => {
              chosen = t;
              keep(t);
              apply();
              group.querySelectorAll("button")[THEMES.indexOf(t)]?.focus();
            },
          },
          t,
        ),
      ),
    );
    changed();
    remeasure();
  };
  system.addEventListener("change", apply);
  paper = (now) => {
    printing = now;
    apply();
  };
  addEventListener("beforeprint", async () => {
    paper(true);
    // What is drawn from series that are unpacked already follows within some microtasks, for
    // which a browser waits, as it does not for its own measuring.
    for (let i = 0; i < PROMISES; i++) await null;
    remeasure();
  });
  addEventListener("afterprint", () => paper(false));
  apply();
  return group;
}
