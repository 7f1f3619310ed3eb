"""Refuses names in backticks that nothing defines; used by check.

Files and folders, items of Rust, keys of scenarios, options, metrics, fields, scenarios and
variants are looked up in the sources (tools/book/index.py) and in what the command says of itself.
Names that others gave are in tools/book/foreign.toml, each with the reason.
"""

import fnmatch
import functools
import re
import tomllib

from tools.book.examples import PLACEHOLDER, known_key
from tools.book.json_paths import Missing, follow
from tools.book.pages import ROOT, spans

FOREIGN = ROOT / "tools/book/foreign.toml"
# Files that a user has or a program writes, which are not in the repository.
MADE = re.compile(r"(?:out|target|studio/dist|dist|~|/[\w.]+|\$\w+)(?:/.*)?$|https?://")
NUMBER = re.compile(r"[\d.,:_+%/-]*|(?:0x)?[0-9a-f]{4,}…?")
QUANTITY = re.compile(r"-?[\d._]+ ?[A-Za-zµ%°]+(?:/s|ps)?")
OPTION = re.compile(r"(--[a-z][\w-]*)(?:[ =[].*)?")
RUST_PATH = re.compile(r"(?:\w+::)*(\w+)::(\w+)!?(?:\(.*\))?")
CALL = re.compile(r"(?:[\w.]+\.)?(\w+)\(.*\)")
ASSIGNMENT = re.compile(r"([\w.-]+|\"[^\"]*\") = .*")
SECTION = re.compile(r"\[\[?([\w.-]+)\]?\]")
FILE = re.compile(r"\.(?:json|toml|rs|py|ts|html|csv|parquet|sqlite|bin|qlog|sqlog|czml|css|md)$")
# Tables of a scenario whose keys a text may name without it.
INSIDE = ("", "defaults.", "workload.", "path.forward.", "path.orbit.", "flow.NAME.", "users.")


class Names:
    """Looks up names."""

    def __init__(self, bentpipe, index, foreign=FOREIGN):
        self.bentpipe, self.root, self.index = bentpipe, index.root, index
        groups = tomllib.loads(foreign.read_text())["names"]
        self.foreign = {name for group in groups for name in group["are"]}
        for group in groups:
            if not group.get("of"):
                raise ValueError(f"{foreign}: a group needs `of`, whose names these are")

    @functools.cached_property
    def keys(self):
        """Every key of scenarios, and every field and metric of results."""
        found = {one["name"] for one in self.bentpipe.results_schema["x-metrics"]}
        pending = [self.bentpipe.schema, self.bentpipe.results_schema]
        while pending:
            node = pending.pop()
            if isinstance(node, dict):
                found.update(node.get("properties", {}))
                values = [*node.get("enum", []), node.get("const")]
                found.update(value for value in values if isinstance(value, str))
                pending += node.values()
            elif isinstance(node, list):
                pending += node
        return found

    @functools.cached_property
    def tables(self):
        """The tables of results and of reports, each of which is a file."""
        files = ("crates/results/src/table.rs", "crates/report/src/tables.rs")
        texts = [self.index.text(name) for name in self.index.sources if name in files]
        listed = re.compile(r'^ +(?:name: )?"(\w+)",$', re.MULTILINE)
        return {name for text in texts for name in listed.findall(text)}

    @functools.cached_property
    def targets(self):
        """The targets of the Makefile."""
        return set(re.findall(r"^([\w-]+):", (self.root / "Makefile").read_text(), re.MULTILINE))

    @functools.cached_property
    def script_options(self):
        """Options of the scripts, of programs of the repository, and of commands that these run."""
        found = set()
        for name in self.index.sources:
            if name.startswith(("tools/", "peers/", "crates/", ".ci/", "Makefile")):
                text = self.index.text(name)
                found.update(re.findall(r"(?<![\w-])--[a-z][\w-]+", text))
        return found

    def check(self, text):
        """Yields the line and the fault of each unknown name on a page."""
        for line, span in spans(text):
            fault = self.fault(span)
            if fault:
                yield line, fault

    def fault(self, span):
        """What is wrong with the text of a span, or None."""
        number = NUMBER.fullmatch(span) or QUANTITY.fullmatch(span)
        if number or {span, span.partition("(")[0]} & self.foreign:
            return None
        first, _, rest = span.partition(" ")
        if option := OPTION.fullmatch(span):
            return self.option(option[1])
        if first == "bentpipe" or first in self.bentpipe.subcommands and rest.startswith("-"):
            # The command reads it: see examples.
            return None
        if first in ("make", "cargo", "npm"):
            return getattr(self, first)(rest)
        if path := RUST_PATH.fullmatch(span):
            return self.rust(*path.groups(), span)
        if section := SECTION.fullmatch(span):
            known = known_key(section[1], self.bentpipe.schema, named=False)
            return None if known else f"`{span}` is no table of scenarios"
        if assignment := ASSIGNMENT.fullmatch(span):
            keys = assignment[1].strip('"').split(", ")
            return next(filter(None, map(self.word, keys)), None)
        if quoted := re.fullmatch(r'"([\w.+-]+)"', span):
            return self.word(quoted[1])
        if call := CALL.fullmatch(span):
            return None if call[1] in self.index.names else f"nothing is called `{call[1]}`"
        if re.fullmatch(r"[\w.…*@-][^ {}<>()\\]*/[^ {}<>()\\]*", span):
            return self.path(span)
        if re.fullmatch(r"[\w.+*-]+", span):
            return self.word(span)
        return None

    def option(self, name):
        """An option of the command or of a script."""
        known = name in self.bentpipe.options or name in self.script_options
        return None if known or name in self.foreign else f"nothing has an option `{name}`"

    def make(self, rest):
        """The targets that `make` is given."""
        for word in (w for w in rest.split() if "=" not in w):
            if word not in self.targets:
                return f"the Makefile has no target `{word}`"
        return None

    def cargo(self, rest):
        """The crate, example and test that `cargo` is given."""
        words = rest.partition(" -- ")[0].split()
        given = {a: b for a, b in zip(words, words[1:]) if a.startswith("-")}
        package = given.get("-p", "").removeprefix("bentpipe-")
        if package and f"crates/{package}" not in self.index.paths:
            return f"there is no crate `{given['-p']}`"
        for option, folder in (("--example", "examples"), ("--test", "tests")):
            if name := given.get(option):
                own = f"crates/{package}/{folder}/{name}"
                if not {own, f"{own}.rs"} & self.index.paths:
                    return f"there is no `{folder}/{name}` in `crates/{package}`"
        tests = words[1:] if words[:1] == ["test"] else []
        for name in (one for one in tests if re.fullmatch(r"\w{12,}", one)):
            if not any(one.startswith(name) for one in self.index.names):
                return f"there is no test `{name}`"
        return None

    def npm(self, rest):
        """The script that `npm run` is given."""
        words = rest.split()
        scripts = re.findall(r'"([\w:-]+)":', (self.root / "studio/package.json").read_text())
        if words[:1] == ["run"] and words[1] not in scripts:
            return f"studio/package.json has no script `{words[1]}`"
        return None

    def rust(self, owner, item, span):
        """An item of a module or of a type."""
        items = self.index.rust.get(owner)
        if items is None:
            return f"no module or type is called `{owner}`"
        return None if item in items else f"`{owner}` has no `{item}`"

    def path(self, span):
        """A file or a folder."""
        name = re.split("[:#]", span.rstrip("/"))[0]
        if MADE.match(name) or PLACEHOLDER.search(name):
            return None
        if "*" in name:
            found = any(True for _ in self.root.glob(name.replace("…", "*")))
            return None if found else f"no file matches `{span}`"
        ends = [name, f"{name}.toml", f"{name}.json", f"{name}.rs"]
        if set(ends) & self.index.paths or set(name.split("/")) <= self.index.names:
            known = name.split("/")[0] not in self.index.paths or set(ends) & self.index.paths
            return None if known else f"`{span}` does not exist"
        return f"`{span}` does not exist"

    def word(self, word):
        """A word, with or without dots: a name, a file, a key or a field."""
        plain = word.rstrip(".…")
        if "*" in word:
            names = (one.rpartition("/")[2] for one in self.index.files)
            return None if fnmatch.filter(names, word) else f"no file matches `{word}`"
        parts = re.split(r"[._-]", word)
        if any(re.fullmatch("[A-Z]{2,}|[A-Z]", one) for one in parts) and re.search("[a-z]", word):
            # FLOW-visitN-SIDE, NAME.parquet, reverse_bytes.LAYER.
            return None
        if word in self.foreign or word in self.index.paths:
            return None
        if not re.search("[a-z]", word):
            # FILE stands for something else; BENTPIPE_STORE and TCP_INFO are names.
            known = "_" not in word or word in self.index.names
            return None if known else f"nothing is called `{word}`"
        if word in self.keys or "." not in plain:
            known = plain in self.index.names or plain in self.keys
            return None if known or self.derived(plain) else f"nothing is called `{word}`"
        return self.dotted(plain)

    def derived(self, word):
        """Whether a word follows from names: the end of several, a metric with its prefix."""
        if re.match(r"bentpipe_\w+", word):
            parts = word.split("_")
            ends = ["_".join(parts[at:]) for at in range(1, len(parts))]
            kinds = {end.removesuffix("_bucket") for end in ends}
            return bool(kinds & self.index.names - {parts[-1]})
        end = "-" + word.lstrip("-")
        stems = self.index.stems
        return word in stems or any(one.endswith(end) for one in stems)

    def dotted(self, word):
        """Parts with dots: a key, a metric, a field, a file, or an item of Python."""
        top = word.split(".")[0]
        schema, results = self.bentpipe.schema, self.bentpipe.results_schema
        sections = set(schema["properties"]) | {"tcp", "quic", "flow_control", "parameters"}
        if top == "parameters" and word.count(".") == 2:
            _, owner, name = word.split(".")
            known = owner in self.bentpipe.listed["controllers"] and name in self.index.names
            return None if known else f"`{word}` is no parameter of a controller"
        if top in sections and any(known_key(f"{a}{word}", schema) for a in INSIDE):
            return None
        for owner in results["$defs"].values():
            try:
                follow(owner, "." + word, results)
                return None
            except Missing:
                continue
        if top in sections:
            return f"`{word}` is no key of a scenario and no field of results"
        known = word in self.index.names or all(p in self.index.names for p in word.split("."))
        if FILE.search(word):
            # A file that is made: its name, or what is behind a name that is put together.
            stem, _, end = word.partition(".")
            known = word in self.index.names or "." in end and end in self.index.names
            known = known or end == "parquet" and stem in self.tables
        return None if known else f"nothing is called `{word}`"
