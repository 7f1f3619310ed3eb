/** Unpacks the engine of an editable report when its reader wants to change the scenario. */
import type { EngineCode } from "../engine/engine.ts";
import { unpack } from "../engine/pack.ts";
import { h, replace } from "../page/dom.ts";
import { onEdit } from "../page/editable.ts";

/** What the unpacked script defines. */
interface Editor {
  open(slot: HTMLElement, code: EngineCode, head: Node, hash: string): void;
}

/** The head as it came: scripts of the page run after this one, and add to it. */
const head = document.head.cloneNode(true);
/** So is the address, in which the page keeps its view. */
const { hash } = location;

onEdit((slot) => {
  replace(slot, h("p", { class: "note", role: "status" }, "Unpacking the simulator…"));
  // The words above are drawn first.
  setTimeout(() => void open(slot), 30);
});

async function open(slot: HTMLElement): Promise<void> {
  try {
    const element = document.getElementById("bentpipe-engine");
    if (!element) throw new Error("this page has none");
    const { engine, script, style } = await unpack(element);
    document.head.append(h("style", {}, style), h("script", {}, script));
    const { BentpipeEditor } = globalThis as unknown as { BentpipeEditor: Editor };
    BentpipeEditor.open(slot, engine, head, hash);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    replace(slot, h("p", { class: "note bad", role: "alert" }, `No simulator: ${reason}`));
  }
}
