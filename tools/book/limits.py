"""Limits: what Bentpipe does not do, each told once with what shows it; used by check.

docs/limits.toml has an entry for each: `id`, `text`, a sentence in the words of users with links
from docs/src, and what shows that it still holds, one of

  refused    a part of what the command prints when it refuses, in status 2 or 3, what `arguments`
             asks for, or `scenario`, a file SCENARIO that is written first; by default the
             arguments are `check SCENARIO`. `files` are written too.
  prints     the same for a command that does something else, and says so in status 0
  absent     a regular expression that no source of the folders or files `within` has
  test       the name of a test that shows it
  source     a line of the file `within`, for what only the model can show

`area` puts it into the list of the introduction, below the name and the link of this area.

Pages quote a sentence of the list, a line or what stands behind another quote, with its id:

  TEXT<!-- limit: ID -->

`<!-- limits: all -->` is the list of the areas, up to `<!-- end -->`. A page for users may have no
PHRASES outside quotes, and every entry of a list below a heading of LISTS is a quote.
"""

import functools
import os
import pathlib
import re
import tempfile
import tomllib

from tools.book.pages import ROOT, blank, line_of, prose
from tools.book.tables import WrongMarker

LIST = ROOT / "docs/limits.toml"
QUOTE = re.compile(
    r"(^[ \t]*(?:- )?|(?<=-->) )([^\n]*?)(?<!`)<!-- limit: ([\w-]+) -->", re.MULTILINE
)
ALL = re.compile(r"(<!-- limits: all -->\n)(.*?)(<!-- end -->)", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s:]+)\)")
SHOWN_BY = {"refused", "prints", "absent", "test", "source"}
KEYS = {"id", "area", "text", "arguments", "scenario", "files", "within"} | SHOWN_BY
# How people say that something cannot be done.
PHRASES = re.compile(
    r"\b(?:(?:is|are) not (?:yet )?(?:supported|implemented|modelled)|not (?:implemented|modelled)"
    r"|unsupported|(?:does|do) not support|no support for|there is no way to|not yet possible)\b",
    re.IGNORECASE,
)
HEADING = re.compile(r"^#.*$", re.MULTILINE)
# Headings of lists of limits.
LISTS = re.compile(
    r"^#+ (?:Limitations|Not implemented|What is (?:left out|not modelled))\n(.*?)(?=^#|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Pages that tell what Bentpipe does now; others tell of trials and of other programs.
FOR_USERS = ("README.md", "SECURITY.md", "studio/README.md", "docs/src")
# What a command is given if it has to be refused by its arguments alone.
STATUS = {"refused": (2, 3), "prints": (0,)}


class Limits:
    """The list of limits of a repository."""

    def __init__(self, path=LIST, root=ROOT):
        self.path, self.root = path, root
        document = tomllib.loads(path.read_text())
        self.areas, self.entries = document["area"], document["limit"]
        self.by_id = {entry["id"]: entry for entry in self.entries}

    def named(self, name):
        """The entry called `name`."""
        if name not in self.by_id:
            raise WrongMarker(f"{self.path.name} has no limit `{name}`")
        return self.by_id[name]

    def text(self, name, page):
        """The sentence of a limit, with links that lead from `page`."""
        return self.linked(self.named(name)["text"].strip(), page)

    def linked(self, text, page):
        """`text` with links that lead from `page` instead of docs/src."""
        def link(match):
            target, mark, anchor = match[1].partition("#")
            there = (self.root / "docs/src" / target).resolve()
            way = "" if there == page else os.path.relpath(there, page.parent)
            return f"]({way}{mark}{anchor})"
        return LINK.sub(link, text)

    def list(self, page):
        """The list of areas, each with its limits."""
        lines = []
        for area in self.areas:
            own = [one["id"] for one in self.entries if one.get("area") == area["id"]]
            texts = [self.text(name, page) for name in own]
            first, *others = texts
            lines += [f"- **{area['title']}.** {first}", *(f"  {text}" for text in others)]
            if area.get("see"):
                lines.append(f"  See {self.linked(area['see'], page)}.")
        return "\n".join(lines)

    def problems(self):
        """Yields what is wrong with the list itself."""
        ids = [entry["id"] for entry in self.entries]
        for name in sorted({one for one in ids if ids.count(one) > 1}):
            yield f"{self.path.name}: `{name}` stands twice"
        known = {area["id"] for area in self.areas}
        for entry in self.entries:
            shown = SHOWN_BY & set(entry)
            if unknown := set(entry) - KEYS:
                yield f"{self.path.name}: `{entry['id']}`: unknown {sorted(unknown)}"
            elif len(shown) != 1:
                yield f"{self.path.name}: `{entry['id']}` needs one of {sorted(SHOWN_BY)}"
            elif entry.get("area", next(iter(known))) not in known:
                yield f"{self.path.name}: `{entry['id']}`: there is no area `{entry['area']}`"

    def quotes(self, text, page):
        """The text of a page with its quotes renewed, and the line and fault of those that differ.
        """
        faults = []

        def renewed(match):
            first, shown, name = match.groups()
            try:
                should = self.text(name, page)
            except WrongMarker as error:
                faults.append((line_of(text, match.start(3)), str(error)))
                return match[0]
            if shown != should:
                what = f"limit `{name}` differs (--write corrects it)"
                faults.append((line_of(text, match.start(3)), what))
            return f"{first}{should}<!-- limit: {name} -->"

        def listed(match):
            should = f"\n{self.list(page)}\n\n"
            if match[2] != should:
                line = line_of(text, match.start())
                faults.append((line, "the list of limits differs (--write corrects it)"))
            return match[1] + should + match[3]

        return ALL.sub(listed, QUOTE.sub(renewed, text)), faults

    def untold(self, pages):
        """Yields the limits that no page of `pages` (path and text) quotes."""
        quoted = {match[3] for _, text in pages for match in QUOTE.finditer(text)}
        for entry in self.entries:
            if entry["id"] not in quoted and not entry.get("area"):
                yield f"{self.path.name}: no page tells of `{entry['id']}`"

    def check(self, text, page):
        """Yields the line of each limit that a page for users tells outside quotes."""
        if not any(page.is_relative_to(self.root / place) for place in FOR_USERS):
            return
        plain = prose(text)
        for match in LISTS.finditer(plain):
            for entry in re.finditer(r"^- (?!.*<!-- limit: ).*$", match[1], re.MULTILINE):
                line = line_of(plain, match.start(1) + entry.start())
                yield line, f"`{entry[0]}` is no quote of docs/limits.toml"
        for one in (ALL, QUOTE, HEADING):
            plain = one.sub(blank, plain)
        for match in PHRASES.finditer(plain):
            line = line_of(plain, match.start())
            yield line, f"`{match[0]}` tells a limit: quote it from docs/limits.toml"

    # ---- What shows a limit.

    def shown(self, bentpipe, index):
        """Yields the limits that nothing shows any more."""
        with tempfile.TemporaryDirectory(prefix="limits-") as directory:
            ours = [entry for entry in self.entries if {"refused", "prints"} & set(entry)]
            lists = [self.arguments(entry, pathlib.Path(directory)) for entry in ours]
            for entry, words, answer in zip(ours, lists, bentpipe.calls(lists)):
                if fault := self.command(entry, words, answer):
                    yield f"{self.path.name}: `{entry['id']}`: {fault}"
        for entry in self.entries:
            if fault := self.evidence(entry, index):
                yield f"{self.path.name}: `{entry['id']}`: {fault}"

    def arguments(self, entry, directory):
        """The arguments of the command that is refused, whose files are written first."""
        own = directory / entry["id"]
        own.mkdir()
        for name, content in entry.get("files", {}).items():
            (own / name).write_text(content)
        words = entry.get("arguments", ["check", "SCENARIO"])
        if "scenario" in entry:
            (own / "scenario.toml").write_text(HEAD.format(entry["id"]) + entry["scenario"])
        place = {"SCENARIO": str(own / "scenario.toml"), "ROOT": str(self.root)}
        place |= {name: str(own / name) for name in entry.get("files", {})}
        return [place.get(word, word) for word in words]

    @staticmethod
    def command(entry, words, answer):
        """What is wrong with the answer of the command, or None."""
        status, printed, errors = answer
        kind = "refused" if "refused" in entry else "prints"
        said = " ".join((errors + printed).split())
        if status not in STATUS[kind]:
            return (f"`bentpipe {' '.join(words)}` ended with {status}: "
                    f"{'it is no longer refused' if status == 0 else said[:200]}")
        if " ".join(entry[kind].split()) not in said:
            return f"`bentpipe {' '.join(words)}` says something else: {said[:300]}"
        return None

    def evidence(self, entry, index):
        """What is wrong with evidence that is no command, or None."""
        if "test" in entry and entry["test"] not in tests(index):
            return f"there is no test `{entry['test']}`"
        within = entry.get("within", [])
        within = [within] if isinstance(within, str) else within
        for place in within:
            if place not in index.paths:
                return f"`{place}` does not exist"
        if {"absent", "source"} & set(entry) and not within:
            return "`within` is missing"
        texts = {
            name: index.text(name)
            for name in index.sources
            if any(name == place or name.startswith(f"{place}/") for place in within)
        }
        if "source" in entry and not any(entry["source"] in text for text in texts.values()):
            return f"no line of {', '.join(within)} has `{entry['source']}`"
        if "absent" in entry:
            found = next((n for n, t in texts.items() if re.search(entry["absent"], t)), None)
            return found and f"`{found}` has `{re.search(entry['absent'], texts[found])[0]}` now"
        return None


# What every scenario begins with; its sections follow.
HEAD = 'name = "{}"\n'


@functools.lru_cache
def tests(index):
    """The names of all tests."""
    found = set()
    for name in index.sources:
        if name.endswith(".rs"):
            text = index.text(name)
            found.update(re.findall(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?"
                                    r"fn (\w+)", text))
    return found
