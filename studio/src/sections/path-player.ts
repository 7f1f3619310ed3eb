import { drawPath } from "../charts/transfer/path-picture.ts";
import type { Transfer } from "../charts/transfer/transfers.ts";
import { h, onWidth, replace } from "../page/dom.ts";
import { Player } from "../sky/player.ts";

/** The path of a run as a picture, with what is in flight at the time of the plots' cursor. */
export class PathPlayer {
  readonly el: HTMLDetailsElement;
  readonly #canvas = h("canvas", { role: "img", "aria-label": "Packets on the path" });
  readonly #place = h("div", {});
  readonly #note = h("p", { class: "howto" });
  #player: Player | null = null;
  #transfers: Transfer[] = [];
  #now = 0;

  /**
   * `moved` is called with each time that the reader chooses here; `toggled`, when it opens or
   * closes.
   */
  constructor(
    readonly moved: (time: number) => void,
    readonly toggled: () => void,
  ) {
    this.el = h(
      "details",
      { class: "card path-player", toggle: () => this.#toggle() },
      h(
        "summary",
        {},
        h("h3", {}, "Packets on the path"),
        h("small", {}, "as they cross it, at the time of the cursor"),
      ),
      this.#canvas,
      this.#place,
      this.#note,
    );
    onWidth(this.#canvas, () => this.draw());
  }

  /** Shows transfers, each with its name, on an axis that reaches from `from` to `to`. */
  show(transfers: Transfer[], names: string[], [from, to]: [number, number]): void {
    this.#transfers = transfers;
    this.el.hidden = transfers.length === 0;
    this.#player?.pause();
    this.#player = transfers.length > 0 ? new Player(from, to, this.moved) : null;
    replace(this.#place, this.#player?.el ?? null);
    const of = names.length > 1 ? ` Above ${names[0]}, below ${names[1]}.` : "";
    this.#note.textContent =
      "A dot is a two hundredth of the data, half a round trip before its acknowledgement; small " +
      `dots are acknowledgements, rings the handshake and the request.${of}`;
    this.follow(Math.min(to, Math.max(from, this.#now)));
  }

  /** Shows a time of the plots' axis. */
  follow(time: number): void {
    this.#now = time;
    this.#player?.show(time);
    this.draw();
  }

  /** Draws the picture, if it is open. */
  draw(): void {
    if (this.el.open) drawPath(this.#canvas, this.#transfers, this.#now);
  }

  #toggle(): void {
    if (!this.el.open) this.#player?.pause();
    this.toggled();
    this.draw();
  }
}
