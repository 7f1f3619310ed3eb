/** The editor of a scenario's text: TOML with completion, hover and errors in place. */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import {
  defaultKeymap,
  history,
  historyKeymap,
  isolateHistory,
  redo,
  undo,
} from "@codemirror/commands";
import {
  bracketMatching,
  HighlightStyle,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { h } from "../page/dom.ts";
import type { Fault } from "./api.ts";
import { placeAt, type ScenarioSchema } from "./schema.ts";

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--bad)" },
  { tag: [tags.propertyName, tags.keyword], color: "var(--accent)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--card)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "ui-monospace, Menlo, Consolas, monospace", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", fontSize: "13.5px" },
  ".cm-gutters": {
    backgroundColor: "var(--card)",
    color: "var(--muted)",
    fontSize: "12.5px",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-content ::selection": { backgroundColor: "var(--line)" },
  ".cm-tooltip": {
    backgroundColor: "var(--card)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    maxWidth: "46ch",
    padding: "2px",
  },
  ".cm-tooltip-hover": { padding: "6px 10px", whiteSpace: "pre-line" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--card)",
  },
  ".cm-panels": { backgroundColor: "var(--bg)", color: "var(--text)" },
});

/** What the editor tells its page. */
export interface EditorEvents {
  changed(text: string): void;
  run(): void;
  save(): void;
}

/** The editor. */
export class Editor {
  readonly element: HTMLElement;
  readonly #view: EditorView;
  readonly #events: EditorEvents;
  readonly #extensions: Extension;
  #schema: ScenarioSchema | null = null;

  constructor(events: EditorEvents) {
    this.element = h("div", { class: "editor" });
    const command = (call: () => void) => (): boolean => {
      call();
      return true;
    };
    this.#events = events;
    this.#extensions = [
      lineNumbers(),
      history(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      // A line that scrolled sideways would be drawn anew with each key.
      EditorView.lineWrapping,
      highlightSelectionMatches(),
      StreamLanguage.define(toml),
      syntaxHighlighting(colours),
      lintGutter(),
      autocompletion({ override: [(context) => this.#complete(context)] }),
      hoverTooltip((view, at) => this.#hover(view, at)),
      EditorState.tabSize.of(2),
      EditorView.contentAttributes.of({ "aria-label": "Text of the scenario", tabindex: "0" }),
      keymap.of([
        { key: "Mod-Enter", run: command(events.run), preventDefault: true },
        { key: "Mod-s", run: command(events.save), preventDefault: true },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...completionKeymap,
        ...lintKeymap,
      ]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) events.changed(this.text);
      }),
      look,
    ];
    this.#view = new EditorView({ parent: this.element, extensions: this.#extensions });
  }

  /** The text. */
  get text(): string {
    return this.#view.state.doc.toString();
  }

  set schema(schema: ScenarioSchema) {
    this.#schema = schema;
  }

  /** Shows another file; there is nothing to undo, not even in the one before. */
  load(text: string): void {
    // A change of the text, even one that is no step itself, would leave the steps before it.
    this.#view.setState(EditorState.create({ doc: text, extensions: this.#extensions }));
    this.#events.changed(this.text);
  }

  /** Changes the text where it differs, as one step that can be undone. */
  set(text: string): void {
    this.#replace(text);
  }

  /** Exchanges the text, as one step that can be undone apart from what was typed before. */
  exchange(text: string): void {
    this.#replace(text, true);
  }

  /** Takes back the last change, wherever the focus is. */
  undo(): void {
    undo(this.#view);
  }

  /** Makes the change again that was taken back. */
  redo(): void {
    redo(this.#view);
  }

  #replace(text: string, apart = false): void {
    const old = this.text;
    if (text === old) return;
    let from = 0;
    const shorter = Math.min(old.length, text.length);
    while (from < shorter && old[from] === text[from]) from += 1;
    let tail = 0;
    while (tail < shorter - from && old[old.length - 1 - tail] === text[text.length - 1 - tail])
      tail += 1;
    this.#view.dispatch({
      changes: { from, to: old.length - tail, insert: text.slice(from, text.length - tail) },
      annotations: apart ? [isolateHistory.of("full")] : [],
    });
  }

  /** Shows an error in its place, or none. */
  fault(fault: Fault | null): void {
    const diagnostics: Diagnostic[] = [];
    if (fault) {
      const length = this.#view.state.doc.length;
      const from = Math.min(fault.from, length);
      const message = fault.help ? `${fault.message}\n${fault.help}` : fault.message;
      diagnostics.push({
        from,
        to: Math.max(from, Math.min(fault.to, length)),
        severity: "error",
        message,
      });
    }
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics));
  }

  /** Moves the cursor to an error. */
  reveal(fault: Fault): void {
    const at = Math.min(fault.from, this.#view.state.doc.length);
    this.#view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    this.#view.focus();
  }

  #complete(context: CompletionContext): CompletionResult | null {
    const word = context.matchBefore(/"?[\w-]*/);
    if (!this.#schema || !word || (word.from === word.to && !context.explicit)) return null;
    const offers = this.#schema.offers(placeAt(context.state.doc.toString(), word.from));
    return {
      from: word.from,
      options: offers.map(({ label, detail, info }) => ({
        label,
        detail,
        type: label.startsWith('"') ? "constant" : "property",
        ...(info ? { info } : {}),
      })),
      validFor: /^"?[\w-]*$/,
    };
  }

  #hover(view: EditorView, at: number): { pos: number; create: () => { dom: HTMLElement } } | null {
    const word = view.state.wordAt(at);
    if (!this.#schema || !word) return null;
    const text = view.state.doc.toString();
    const { table } = placeAt(text, word.from);
    const info = this.#schema.explain(table, text.slice(word.from, word.to));
    return info ? { pos: word.from, create: () => ({ dom: h("div", {}, info) }) } : null;
  }
}
