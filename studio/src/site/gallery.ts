/** Finds entries of the gallery by words and by their verdicts. */
import { button, h } from "../page/dom.ts";

/** Puts the search above the sources of a gallery. */
export function gallerySearch(): void {
  const intro = document.querySelector<HTMLElement>(".gallery .intro");
  const sources = [...document.querySelectorAll<HTMLElement>(".gallery .source")];
  const cards = [...document.querySelectorAll<HTMLElement>(".gallery .entries .card")];
  if (!intro || cards.length === 0) return;
  const verdictsOf = (card: HTMLElement): string[] =>
    (card.dataset.verdicts ?? "").split("; ").filter(Boolean);
  const known = new Set(cards.flatMap(verdictsOf));
  const kinds = verdictsOf(intro).filter((name) => known.has(name));
  let kind = "";
  const find = h("input", {
    type: "search",
    placeholder: "Find: cubic, loss, Starlink …",
    "aria-label": "Find entries",
    input: () => draw(),
  });
  const said = h("span", { class: "howto", role: "status" });
  const choices = ["", ...kinds].map((name) => {
    const n = cards.filter((card) => name === "" || verdictsOf(card).includes(name)).length;
    return button(`${name || "all"} (${n})`, () => choose(name), { value: name });
  });
  const choose = (name: string): void => {
    kind = name;
    draw();
  };
  const draw = (): void => {
    for (const choice of choices)
      choice.setAttribute("aria-pressed", String(choice.value === kind));
    const words = find.value.toLowerCase().split(/\s+/);
    for (const card of cards) {
      const source = card.closest(".source")?.querySelector("h2")?.textContent ?? "";
      const text = `${source} ${card.textContent}`.toLowerCase();
      const wanted = kind === "" || verdictsOf(card).includes(kind);
      card.hidden = !wanted || !words.every((word) => text.includes(word));
    }
    for (const source of sources) source.hidden = !source.querySelector(".card:not([hidden])");
    const n = cards.filter((card) => !card.hidden).length;
    said.textContent = n === cards.length ? "" : `${n} of ${cards.length} entries`;
  };
  intro.append(
    h(
      "div",
      { class: "find-entries" },
      find,
      h("span", { class: "segments", role: "group", "aria-label": "Verdict" }, choices),
      said,
    ),
  );
  draw();
}
