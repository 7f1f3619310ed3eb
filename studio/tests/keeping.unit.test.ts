/** No text is lost: not to answers that come late, nor with a page that is closed. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Api, Conflict } from "../src/app/api.ts";
import { Edits } from "../src/app/edits.ts";
import { inEditor, inFile, lineEndOf } from "../src/app/line-ends.ts";
import type { ConflictEvents, DraftEvents } from "../src/app/panels.ts";
import { ScenarioFile } from "../src/app/scenario-file.ts";

/** What the last panels were made of: there is no page. */
const asked = vi.hoisted(() => ({
  drafts: [] as { text: string }[],
  draft: null as unknown,
  conflict: null as unknown,
  mine: "",
  theirs: "" as string | null,
}));
vi.mock("../src/page/dom.ts", () => ({ h: () => ({}), replace: () => {}, scrollTo: () => {} }));
vi.mock("../src/app/gallery.ts", () => ({ Gallery: class {} }));
vi.mock("../src/app/panels.ts", () => ({
  namePanel: () => ({}),
  draftPanel: (drafts: { text: string }[], events: unknown) =>
    Object.assign(asked, { drafts: [...drafts], draft: events }),
  conflictPanel: (_name: string, theirs: string, mine: string, conflict: unknown) =>
    Object.assign(asked, { theirs, mine, conflict }),
}));

/** An answer that is given when a test wants it. */
function later<T>(): { answer: Promise<T>; give(value: T): void } {
  let give: (value: T) => void = () => {};
  const answer = new Promise<T>((resolve) => {
    give = resolve;
  });
  return { answer, give };
}

/** Lets what waits for an answer go on. */
const turn = (): Promise<void> => new Promise((done) => setTimeout(done));
const guard = (work: () => Promise<void>): Promise<void> => work();

describe("a change by a control", () => {
  const page = { text: "", opening: 1 };
  let requests: { text: string; give(value: string): void }[] = [];
  let edits: Edits;

  beforeEach(() => {
    Object.assign(page, { text: 'name = "a"\n', opening: 1 });
    requests = [];
    const edit = (text: string): Promise<string> => {
      const { answer, give } = later<string>();
      requests.push({ text, give });
      return answer;
    };
    edits = new Edits({ edit } as Partial<Api> as Api, {
      text: () => page.text,
      set: (text) => {
        page.text = text;
      },
      opening: () => page.opening,
      changed: async () => {},
      guard,
    });
  });

  it("keeps what is typed while its request is on its way", async () => {
    const changed = edits.change("repeat", "5");
    await turn();
    page.text += "# typed\n";
    requests[0]!.give('name = "a"\nrepeat = 5\n');
    await turn();
    expect(page.text).toBe('name = "a"\n# typed\n');
    expect(requests[1]!.text).toBe(page.text);
    requests[1]!.give('name = "a"\nrepeat = 5\n# typed\n');
    await changed;
    expect(page.text).toBe('name = "a"\nrepeat = 5\n# typed\n');
  });

  it("is not made in another file", async () => {
    const changes = [edits.change("repeat", "5"), edits.change("seed", "5")];
    await turn();
    Object.assign(page, { text: 'name = "b"\n', opening: 2 });
    requests[0]!.give('name = "a"\nrepeat = 5\n');
    await Promise.all(changes);
    expect(page.text).toBe('name = "b"\n');
    expect(requests, "the second one waited").toHaveLength(1);
  });

  it("shows positions of a slider that moves on", async () => {
    const first = edits.change("repeat", "5");
    await turn();
    const second = edits.change("repeat", "6");
    requests[0]!.give("repeat = 5\n");
    await first;
    expect(page.text).toBe("repeat = 5\n");
    await turn();
    requests[1]!.give("repeat = 6\n");
    await second;
    expect(page.text).toBe("repeat = 6\n");
  });
});

const storage = new Map<string, string>();

/** A page with one file, whose texts are those of `files`. */
class FilePage {
  text = "";
  readonly files: Map<string, string>;
  readonly saves: { name: string; text: string; replaced: string | null }[] = [];
  readonly file: ScenarioFile;
  readonly notices: string[] = [];
  /** What a request waits for. */
  wait: Promise<unknown> = Promise.resolve();

  constructor(files: Map<string, string>) {
    this.files = files;
    const api: Partial<Api> = {
      read: async (name) => {
        await this.wait;
        const text = this.files.get(name) ?? "";
        return { text, tag: `of ${text}` };
      },
      save: async (name, text, replaced) => {
        this.saves.push({ name, text, replaced });
        await this.wait;
        const theirs = this.files.get(name) ?? null;
        if (replaced !== (theirs === null ? null : `of ${theirs}`)) throw new Conflict(theirs);
        this.files.set(name, text);
        return { words: `saved ${name}`, tag: `of ${text}` };
      },
    };
    const set = (text: string): void => {
      this.text = inEditor(text);
    };
    this.file = new ScenarioFile(api as Api, {
      text: () => this.text,
      set,
      load: set,
      kept: () => {},
      guard,
      notify: (words) => void this.notices.push(words),
    });
    this.file.drafts.directory = "/d";
    Object.assign(asked, { drafts: [], draft: null, conflict: null });
  }

  /** A pause of the writer, or the end of the page. */
  pause(): void {
    this.file.changed();
  }

  static async opened(files: Map<string, string>, name = "a.toml"): Promise<FilePage> {
    const page = new FilePage(files);
    await page.file.open(name);
    return page;
  }
}

describe("a file", () => {
  const files = new Map<string, string>();
  const offered = (): string[] => asked.drafts.map(({ text }) => text);
  const decide = (): DraftEvents => asked.draft as DraftEvents;

  beforeEach(() => {
    storage.clear();
    files.clear();
    files.set("a.toml", "saved\n").set("b.toml", "other\n");
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => {
        if (value.length > 3000) throw new Error("full");
        storage.set(key, value);
      },
      removeItem: (key: string) => storage.delete(key),
    });
  });

  it("offers a draft until its reader decides", async () => {
    const first = await FilePage.opened(files);
    first.text = "an hour of work\n";
    first.pause();
    for (let visit = 0; visit < 3; visit += 1) {
      const page = await FilePage.opened(files);
      expect(offered(), `visit ${visit}`).toEqual(["an hour of work\n"]);
      page.pause();
    }
    const last = await FilePage.opened(files);
    decide().restore(asked.drafts[0] as never);
    expect(last.text).toBe("an hour of work\n");
    await last.file.open("b.toml");
    await FilePage.opened(files);
    expect(offered(), "its reader has left it").toEqual([]);
  });

  it("offers it beside what is typed without an answer", async () => {
    (await FilePage.opened(files)).pause();
    for (const text of ["first\n", "second\n"]) {
      const page = await FilePage.opened(files);
      page.text = text;
      page.pause();
    }
    const page = await FilePage.opened(files);
    expect(offered()).toEqual(["first\n", "second\n"]);
    decide().discard(asked.drafts[0] as never);
    page.text = "third\n";
    await page.file.save();
    await FilePage.opened(files);
    expect(offered(), "a save decides about its own text").toEqual(["second\n"]);
  });

  it("keeps the newest drafts if there is no room for all", async () => {
    for (const size of [1000, 1100, 1200]) {
      const page = await FilePage.opened(files);
      page.text = "x".repeat(size);
      page.pause();
    }
    await FilePage.opened(files);
    expect(offered().map(({ length }) => length)).toEqual([1100, 1200]);
  });

  it("reads a draft that was kept alone", async () => {
    const draft = { text: "mine\n", tag: "of saved\n", at: 1 };
    storage.set("bentpipe-studio-draft /d a.toml", JSON.stringify(draft));
    await FilePage.opened(files);
    expect(offered()).toEqual(["mine\n"]);
  });

  it("keeps what is typed while another one is read", async () => {
    const page = await FilePage.opened(files);
    const { answer, give } = later<void>();
    page.wait = answer;
    const opened = page.file.open("b.toml");
    page.text = "typed\n";
    give();
    await opened;
    expect(page.text).toBe("other\n");
    await FilePage.opened(files);
    expect(offered()).toEqual(["typed\n"]);
  });

  it("is the one that was asked for last", async () => {
    const page = await FilePage.opened(files);
    const { answer, give } = later<void>();
    page.wait = answer;
    const first = page.file.open("b.toml");
    page.wait = Promise.resolve();
    expect(await page.file.open("a.toml")).toBe(true);
    give();
    expect(await first).toBe(false);
    expect([page.file.name, page.text]).toEqual(["a.toml", "saved\n"]);
  });

  it("does not get the name and the tag of one whose save ends late", async () => {
    const page = await FilePage.opened(files);
    page.text = "mine\n";
    const { answer, give } = later<void>();
    page.wait = answer;
    const saved = page.file.save();
    page.wait = Promise.resolve();
    await page.file.open("b.toml");
    give();
    await saved;
    expect([page.file.name, page.file.isChanged]).toEqual(["b.toml", false]);
    page.text = "more\n";
    await page.file.save();
    expect(Object.fromEntries(files)).toEqual({ "a.toml": "mine\n", "b.toml": "more\n" });
  });

  it("keeps a draft of a text whose save is refused late", async () => {
    const page = await FilePage.opened(files);
    page.text = "mine\n";
    const { answer, give } = later<void>();
    page.wait = answer;
    const saved = page.file.save();
    page.wait = Promise.resolve();
    await page.file.open("b.toml");
    files.set("a.toml", "theirs\n");
    give();
    await saved;
    expect(page.notices).toEqual(["a.toml is not saved; its text is kept as a draft"]);
    await FilePage.opened(files);
    expect(offered()).toEqual(["mine\n"]);
  });

  it("does not get a run's text that was asked for in another one", async () => {
    const page = await FilePage.opened(files);
    const { answer, give } = later<string>();
    const taken = page.file.take(answer);
    await page.file.open("b.toml");
    give("of a run\n");
    await taken;
    expect(page.text).toBe("other\n");
  });

  it("keeps its line ends", async () => {
    files.set("a.toml", "a\r\nb\r\n");
    const page = await FilePage.opened(files);
    expect([page.text, page.file.isChanged]).toEqual(["a\nb\n", false]);
    page.text = "a\nb\nc\n";
    await page.file.save();
    expect([files.get("a.toml"), page.file.isChanged]).toEqual(["a\r\nb\r\nc\r\n", false]);
    // Nor do they make a difference where somebody else has changed the file.
    files.set("a.toml", "a\r\nx\r\n");
    page.text = "a\nb\n";
    await page.file.save();
    expect([asked.theirs, asked.mine]).toEqual(["a\nx\n", "a\nb\n"]);
    (asked.conflict as ConflictEvents).replaceTheirs();
    await turn();
    expect(files.get("a.toml")).toBe("a\r\nb\r\n");
  });

  it("has the line ends of most of its lines", () => {
    expect(["", "a", "a\nb\r\n", "a\r\nb\r\nc\n"].map(lineEndOf)).toEqual([
      "\n",
      "\n",
      "\n",
      "\r\n",
    ]);
    expect(inFile(inEditor("a\r\nb\rc\n"), "\r\n")).toBe("a\r\nb\r\nc\r\n");
  });
});
