/** Scenarios in pages of the book get a button that runs them, in a page of their own below. */
import { button, h } from "../page/dom.ts";

/** Names of scenarios that have such a page; the site's builder writes them into each page. */
const names = (): string[] =>
  (globalThis as unknown as { bentpipeBlocks?: string[] }).bentpipeBlocks ?? [];

/** The markers in the book's sources: a block that is a file, and one that runs it. */
const MARKER = /^ (?:file: (\S+)|run: bentpipe run (\S+)) $/;

/** The block of code behind a marker. */
function blockAfter(marker: Comment): Element | null {
  const element = marker.nextElementSibling;
  return element?.matches("pre") ? element : null;
}

/** Puts a frame with the page that runs a scenario below its block, or takes it away. */
function runButton(name: string, page: string): HTMLElement {
  const place = h("div", { class: "run-place" });
  const title = `${name}, running in this page`;
  const show = button("Run", () => {
    const shown = place.childElementCount > 1;
    place.querySelector("iframe")?.remove();
    if (!shown) place.append(h("iframe", { src: page, title }));
    show.textContent = shown ? "Run" : "Close";
    show.setAttribute("aria-expanded", String(!shown));
  });
  place.append(
    h(
      "p",
      { class: "run-bar" },
      show,
      h("a", { href: page, target: "_blank", rel: "noopener" }, "on a page of its own"),
    ),
  );
  return place;
}

/** Finds the blocks. `script` is the address of the site's script. */
export function runnableBlocks(script: string): void {
  const known = names();
  if (known.length === 0) return;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_COMMENT);
  const found: [Element, string][] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const [, file, ran] = MARKER.exec((node as Comment).data) ?? [];
    const name = file ?? ran;
    const block = name && known.includes(name) ? blockAfter(node as Comment) : null;
    if (block && name) found.push([block, name]);
  }
  for (const [block, name] of found) {
    const page = new URL(`../play/${name.replace(/\.toml$/, "")}.html`, script).href;
    block.after(runButton(name, page));
  }
}
