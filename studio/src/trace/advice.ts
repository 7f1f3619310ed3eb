import type { TracePage } from "../data/trace.types.ts";
import { partColour } from "../format/palette.ts";
import { h, withCode } from "../page/dom.ts";
import { capital, partNamed, saving } from "./words.ts";

/** What would help, and what it saves; null if nothing is known. */
export function remediesSection({ trace }: TracePage): HTMLElement | null {
  const { remedies, prediction, prediction_text } = trace;
  if (remedies.length === 0 && !prediction) return null;
  const items = remedies.map((r) => {
    const part = partNamed(r.cause);
    return h(
      "li",
      { class: "card remedy" },
      h(
        "h3",
        {},
        part && h("i", { class: "block", style: `background: ${partColour(part)}` }),
        ` Against ${part?.words ?? r.cause}`,
      ),
      h("p", {}, withCode(capital(r.setting))),
      h(
        "p",
        { class: "quiet-text" },
        [r.value, r.where].filter(Boolean).join(" · "),
        " · ",
        h("strong", {}, saving(r)),
      ),
    );
  });
  return h(
    "section",
    { id: "help", "aria-labelledby": "help-title" },
    h("div", { class: "section-head" }, h("h2", { id: "help-title" }, "What would help")),
    h("ul", { class: "remedies" }, items),
    h("p", { class: "howto below-list" }, withCode(`${capital(prediction_text)}.`)),
  );
}

/** What the file does not show; null if that is nothing. */
export function cautionsSection({ trace }: TracePage): HTMLElement | null {
  if (trace.notes.length === 0) return null;
  const sentence = (text: string): string => `${capital(text)}.`;
  return h(
    "section",
    { id: "cautions", "aria-labelledby": "cautions-title" },
    h("div", { class: "section-head" }, h("h2", { id: "cautions-title" }, "Cautions")),
    h(
      "ul",
      { class: "card cautions" },
      trace.notes.map((note) => h("li", {}, withCode(sentence(note)))),
    ),
  );
}
