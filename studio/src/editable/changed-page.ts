/** Makes an editable report of another text and its results from the page that is open. */
import type { Scenario } from "../engine/local.ts";
import type { ShownData } from "../page/editable.ts";

/** A text that neither ends its element nor starts a comment, which HTML allows in scripts. */
const escaped = (json: string): string =>
  json.replaceAll("</", "<\\/").replaceAll("<!--", "\\u003c!--");

/** The page with other data. `head` is its head before scripts added to it. */
export function changedPage(head: Node, data: ShownData, scenario: Scenario): Blob {
  const page = document.documentElement.cloneNode(true) as HTMLElement;
  page.querySelector("head")?.replaceWith(head.cloneNode(true));
  // Everything in it is drawn from the data.
  page.querySelector("#app")?.replaceChildren();
  const put = (id: string, text: string): void => {
    const element = page.querySelector(`#${id}`);
    if (element) element.textContent = text;
  };
  put("bentpipe-report", data.report);
  put("bentpipe-traces", data.traces ?? "");
  put("bentpipe-scenario", escaped(JSON.stringify(scenario)));
  return new Blob([`<!doctype html>\n${page.outerHTML}\n`], { type: "text/html" });
}
