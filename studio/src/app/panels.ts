/** Panels that ask what is to become of a text that cannot simply be saved. */
import { button, h, replace, withCode } from "../page/dom.ts";
import type { Imported } from "./api.ts";
import type { Draft } from "./drafts.ts";
import { around, lineDiff } from "./line-diff.ts";

/** What a reader decides about a text that somebody else has changed. */
export interface ConflictEvents {
  /** Replace their text. */
  replaceTheirs(): void;
  /** Go on with their text. */
  takeTheirs(): void;
  saveAs(): void;
}

const SIGNS = { same: " ", removed: "−", added: "+" } as const;
const WORDS = { same: "", removed: "only theirs: ", added: "only mine: " } as const;

/** The lines in which two texts differ, with some around them. */
function differenceOf(theirs: string, mine: string): HTMLElement {
  const lines = around(lineDiff(theirs, mine)).map((line) =>
    line === null
      ? h("span", { class: "gap" }, "⋯")
      : h(
          line.kind === "removed" ? "del" : line.kind === "added" ? "ins" : "span",
          { title: WORDS[line.kind] || null },
          `${SIGNS[line.kind]} ${line.text}`,
        ),
  );
  return h("pre", { class: "difference", tabindex: 0, "aria-label": "Difference" }, lines);
}

/** Says that a file has another text than the one that was opened, and how they differ. */
export function conflictPanel(
  file: string,
  theirs: string | null,
  mine: string,
  events: ConflictEvents,
): HTMLElement {
  const gone = theirs === null;
  return h(
    "section",
    { class: "panel", role: "alert", "aria-label": "Conflict" },
    h(
      "p",
      {},
      gone
        ? `${file} does not exist any more. Your text is here and is not saved.`
        : `${file} was changed by another page or program since you opened it. ` +
            "Your text is here and is not saved.",
    ),
    h(
      "p",
      { class: "choices" },
      button(gone ? "Save it again" : "Replace it with mine", () => events.replaceTheirs()),
      !gone &&
        button("Take theirs", () => events.takeTheirs(), {
          title: "Ctrl-Z in the text brings yours back",
        }),
      button("Save mine as…", () => events.saveAs()),
    ),
    !gone && h("p", { class: "hint" }, "− only theirs, + only mine"),
    !gone && differenceOf(theirs, mine),
    !gone &&
      h(
        "details",
        {},
        h("summary", {}, `The whole text of ${file} now`),
        h("pre", { class: "theirs" }, theirs),
      ),
  );
}

/** Asks for a name. */
export function namePanel(
  what: string,
  proposed: string,
  done: (name: string) => void,
  cancel: () => void,
): HTMLElement {
  const input = h("input", {
    type: "text",
    id: "new-name",
    value: proposed,
    spellcheck: "false",
    autocomplete: "off",
  });
  const form = h(
    "form",
    {
      submit: (event: Event) => {
        event.preventDefault();
        const name = input.value.trim();
        if (name) done(name.endsWith(".toml") ? name : `${name}.toml`);
      },
    },
    h("label", { for: "new-name" }, `${what} `),
    input,
    h("button", { type: "submit" }, "Save"),
    button("Cancel", cancel),
  );
  // Selects what is before the ending once it is on the page.
  setTimeout(() => {
    input.focus();
    input.setSelectionRange(0, proposed.replace(/\.toml$/, "").length);
  });
  return h("section", { class: "panel", "aria-label": what }, form);
}

/** What a reader decides about a draft. */
export interface DraftEvents {
  restore(draft: Draft): void;
  discard(draft: Draft): void;
}

/** Says that drafts of earlier visits were found, the newest first. */
export function draftPanel(drafts: Draft[], events: DraftEvents): HTMLElement {
  return h(
    "section",
    { class: "panel", role: "status", "aria-label": "Draft" },
    [...drafts].reverse().map((draft) => [
      h("p", {}, `A text of ${new Date(draft.at).toLocaleString()} was not saved.`),
      h(
        "p",
        { class: "choices" },
        button("Restore it", () => events.restore(draft)),
        button("Discard it", () => events.discard(draft)),
      ),
    ]),
  );
}

/** Says what an import has found. */
export function importPanel({ file, files, summary }: Imported, close: () => void): HTMLElement {
  const directory = file.slice(0, file.lastIndexOf("/"));
  return h(
    "section",
    { class: "panel imported", role: "status", "aria-label": "Import" },
    h("h2", {}, `Imported as ${file}`),
    h(
      "dl",
      {},
      summary.map(([heading, lines]) => [
        h("dt", {}, heading),
        lines.map((line) => h("dd", {}, withCode(line))),
      ]),
    ),
    h("p", { class: "hint" }, `In ${directory}: ${files.join(", ")}`),
    h("p", { class: "choices" }, button("Close", close)),
  );
}

/** An address that the command prints at its start. */
const ADDRESS = /^http:\/\/(127\.0\.0\.1|localhost):\d+\/[0-9a-f]{32}\/?$/;

/** Says that the command does not answer, and how to go on. `move` opens another address. */
export function offlinePanel(download: () => void, move: (address: string) => void): HTMLElement {
  const said = h("p", { class: "bad", role: "status" });
  const input = h("input", {
    type: "url",
    id: "new-address",
    size: 52,
    placeholder: "http://127.0.0.1:…/…/",
    spellcheck: "false",
    autocomplete: "off",
  });
  return h(
    "section",
    { class: "panel", role: "alert", "aria-label": "No answer" },
    h(
      "p",
      {},
      "The studio does not answer: its command has ended or is stopped. The text is kept in this " +
        "page, which goes on by itself when the command answers again.",
    ),
    h("p", { class: "choices" }, button("Download the text", download)),
    h(
      "form",
      {
        submit: (event: Event) => {
          event.preventDefault();
          const address = input.value.trim();
          if (ADDRESS.test(address)) move(address);
          else replace(said, "This is no address of a studio; the command prints one.");
        },
      },
      h("label", { for: "new-address" }, "After a new start, its new address: "),
      input,
      h("button", { type: "submit" }, "Go on there with this text"),
    ),
    said,
  );
}
