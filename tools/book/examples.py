"""Refuses example commands that the command would refuse; used by check.

Every call of `bentpipe` in a console block, in backticks or in a help text is given to the command
itself, with `--help` behind its arguments: it then reads them and does nothing. Scenario files,
run directories, variants, swept keys, keys of `--set` and fields that `jq` reads are looked up.
"""

import pathlib
import re
import tempfile
import tomllib

from tools.book import shell
from tools.book.command import section
from tools.book.json_paths import JsonFields
from tools.book.pages import ROOT, blocks, line_of, spans
from tools.book.tables import table_of

# A word that stands for another one: FILE, K/N, NAME.KEY=NUMBER, {server}.
PLACEHOLDER = re.compile(r"[^a-z]*[A-Z][A-Z0-9_]*[^a-z]*")
MARKED_FILE = re.compile(r"^<!-- file: (\S+) -->\n+```+[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A block that check runs itself, with the status that it should have.
RUN = re.compile(r"^<!-- run:.*?-->\n+(?=```)", re.MULTILINE | re.DOTALL)
READERS = {"run", "check", "shell", "matrix", "orbit", "studio"}
OF_RUNS = {"replay", "explain", "report", "figure", "compare", "merge"}


class Call:
    """The arguments of a call of bentpipe on a page."""

    def __init__(self, words, bentpipe):
        self.words = words
        depth = 2 if tuple(words[:2]) in bentpipe.helps else 1
        self.subcommand = tuple(words[:depth]) if tuple(words[:depth]) in bentpipe.helps else ()
        rest = words[len(self.subcommand):]
        self.rest = rest[:rest.index("--")] if "--" in rest else rest

    def values(self, option):
        """The values that `option` is given."""
        behind = [b for a, b in zip(self.rest, self.rest[1:]) if a == option]
        return behind + [w.partition("=")[2] for w in self.rest if w.startswith(f"{option}=")]

    def reading(self):
        """The arguments with which the command only reads them."""
        return [*self.subcommand, *self.rest, "--help"]


class Scenarios:
    """The scenarios of the repository by path and name, and those that a page defines."""

    def __init__(self, root):
        self.root = root
        self.paths = {p.stem: p for p in root.glob("scenarios/**/*.toml")}
        self.loaded = {}

    def load(self, path):
        """The tables of the scenario at `path`."""
        if path not in self.loaded:
            self.loaded[path] = tomllib.loads(path.read_text())
        return self.loaded[path]

    def variants(self, path):
        """The names of its variants."""
        return [v.get("name") for v in self.load(path).get("variant", [])] or ["default"]

    def swept(self, path):
        """The keys that it sweeps."""
        keys = self.load(path).get("sweep", {})
        return {one.strip() for key in keys for one in key.split(",")}


def known_key(key, schema, named=True):
    """Whether a dotted path leads to a key of the schema.

    Entries of lists have names in the paths of `--set`; the heads of tables in a file have none.
    """
    parts = [a or b for a, b in re.findall(r'"([^"]*)"|([^.]+)', key)]

    def walk(node, rest):
        node = node if node is not True else {}
        if not rest:
            return True
        if "$ref" in node:
            return walk(schema["$defs"][node["$ref"].rpartition("/")[2]], rest)
        several = [*node.get("anyOf", []), *node.get("oneOf", [])]
        if any(walk(one, rest) for one in several):
            return True
        if rest[0] in node.get("properties", {}):
            return walk(node["properties"][rest[0]], rest[1:])
        if isinstance(node.get("items"), dict) and table_of(node["items"], schema):
            return walk(node["items"], rest[1:]) or not named and walk(node["items"], rest)
        extra = node.get("additionalProperties")
        return isinstance(extra, dict) and walk(extra, rest[1:]) or extra is True
    return walk(schema, parts)


class Examples:
    """Checks the examples of pages."""

    def __init__(self, bentpipe, root=ROOT):
        self.bentpipe, self.scenarios, self.root = bentpipe, Scenarios(root), root
        self.fields = JsonFields(bentpipe, root)

    def found(self, text):
        """Yields the line, the words and the program of `jq` of each call on a page."""
        subcommands = self.bentpipe.subcommands
        lines, run = [], {line_of(text, match.end()) + 1 for match in RUN.finditer(text)}
        for first, language, content in blocks(text):
            if first in run:
                continue
            if language == "console":
                lines += [(first + at, line, False) for at, line in shell.typed(content)]
            elif language in ("sh", "bash", "yaml"):
                parts = shell.joined(content)
                named = [(first + at, line.lstrip(" -"), False) for at, line in parts]
                lines += [one for one in named if re.search(r"\bbentpipe [a-z-]", one[1])]
        for line, span in spans(text):
            first, _, rest = span.partition(" ")
            if first == "bentpipe" or (first in subcommands and rest.startswith("--")):
                lines.append((line, span if first == "bentpipe" else f"bentpipe {span}", True))
        for number, line, inline in lines:
            if inline:
                # What stands in a sentence has `|` between choices.
                line = re.sub(r"(?<=\S)\|(?=\S)", "/", line)
            try:
                for words, program in shell.invocations(line, subcommands):
                    yield number, words, program, inline
            except shell.Unreadable as error:
                yield number, None, str(error), inline

    def check(self, text):
        """Yields what is wrong with the examples of a page."""
        own = {name: content for name, content in MARKED_FILE.findall(text)}
        calls = list(self.found(text))
        mentioned = set(re.findall(r"([\w-]+)\.toml", text))
        read = [Call(words, self.bentpipe) for _, words, _, _ in calls if words is not None]
        answers = iter(zip(read, self.bentpipe.calls([call.reading() for call in read])))
        for line, words, program, inline in calls:
            if words is None:
                yield line, program
                continue
            call, answer = next(answers)
            for problem in self.problems(call, answer, own, mentioned, inline):
                yield line, f"`bentpipe {' '.join(words)}`: {problem}"
            if program:
                for problem in self.fields.check(call.subcommand, program):
                    yield line, f"`jq '{program}'` behind `bentpipe {words[0]}`: {problem}"

    def help_problems(self):
        """Yields what is wrong with the examples of help texts, and with the man pages."""
        for words, text in self.bentpipe.helps.items():
            name = " ".join(["bentpipe", *words, "--help"])
            lines = section(text, "Examples") or ""
            commands = "\n".join(
                f"$ {line}" if line.startswith("bentpipe") else line
                for line in (line[2:] for line in lines.split("\n"))
            )
            prose = text.replace(lines, "") if lines else text
            for _, problem in self.check(f"```console\n{commands}\n```\n{prose}"):
                yield f"{name}: {problem}"
        pages = self.bentpipe.man_pages()
        for words, text in self.bentpipe.helps.items():
            page = pages.get("-".join(["bentpipe", *words]) + ".1")
            if page is None:
                yield f"man page of `{' '.join(['bentpipe', *words])}` is missing"
                continue
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", section(text, "Options")):
                if option.replace("-", "\\-") not in page:
                    yield f"man page of `{' '.join(['bentpipe', *words])}` lacks `{option}`"

    def problems(self, call, answer, own, mentioned, inline):
        """Yields what the command refuses, and names that do not exist."""
        yield from self.arguments(call, answer, inline)
        names = [word for word in call.rest if not word.startswith("-")]
        for name in (n for n in names if re.match(r"scenarios/", n) and not PLACEHOLDER.search(n)):
            if not list(self.root.glob(name)):
                yield f"`{name}` does not exist"
        if call.subcommand[:1] == ("controllers",):
            for name in (n for n in names if not PLACEHOLDER.fullmatch(n)):
                if name not in self.bentpipe.listed["controllers"]:
                    yield f"there is no controller `{name}`"
        yield from self.profiles(call, names)
        if call.subcommand and call.subcommand[0] in READERS:
            yield from self.keys(call, names, own)
        if call.subcommand and call.subcommand[0] in OF_RUNS:
            yield from self.directories(call, names, mentioned)

    def arguments(self, call, answer, inline):
        """Yields what the command says of the arguments."""
        status, _, errors = answer
        if not call.subcommand and call.rest and not call.rest[0].startswith("-"):
            if not PLACEHOLDER.fullmatch(call.rest[0]):
                yield f"there is no subcommand `{call.rest[0]}`"
            return
        said = errors.split("\n")[0]
        value = re.search(r"invalid value '(.*?)' for", said)
        bare = "a value is required" in said and inline
        if status and not bare and not (value and PLACEHOLDER.fullmatch(value[1])):
            yield said.removeprefix("error: ")

    def profiles(self, call, names):
        """Yields names of paths that are not built in."""
        known = self.bentpipe.listed["profiles"]
        lists = call.values("--profile") + call.values("--profiles")
        given = [name for names_ in lists for name in names_.split(",")]
        if call.subcommand == ("shell",):
            given += [name for name in names[:1] if not name.endswith(".toml")]
        for name in given:
            if name not in known and not PLACEHOLDER.fullmatch(name):
                yield f"there is no profile `{name}`"

    def keys(self, call, names, own):
        """Yields keys of `--set` that the scenario does not have."""
        changes = call.values("--set")
        changes = [one for one in changes if not PLACEHOLDER.fullmatch(one.partition("=")[0])]
        file = next((name for name in names if name.endswith(".toml")), None)
        if file in own or file and (self.root / file).exists():
            with tempfile.TemporaryDirectory(prefix="example-") as directory:
                path = self.root / file
                if file in own:
                    path = pathlib.Path(directory, file)
                    path.write_text(own[file])
                sets = [word for change in changes for word in ("--set", change)]
                status, _, errors = self.bentpipe.call("check", str(path), *sets)
                if status and sets:
                    yield errors.split("\n")[0].removeprefix("error: ")
            return
        for change in changes:
            key = change.partition("=")[0]
            if not known_key(key, self.bentpipe.schema):
                yield f"`{key}` is no key of a scenario"

    def directories(self, call, names, mentioned):
        """Yields run directories, variants, swept keys and metrics that do not exist."""
        for name in names:
            stem = re.fullmatch(r"out/([\w-]+?)(?:-shard-.*)?", name)
            stem = stem and stem[1]
            if not stem or PLACEHOLDER.fullmatch(stem):
                continue
            path = self.scenarios.paths.get(stem)
            if path is None:
                if stem not in mentioned:
                    yield f"`{name}`: no scenario is called `{stem}`"
                continue
            for variant in call.values("--variant"):
                if variant not in self.scenarios.variants(path):
                    known = ", ".join(self.scenarios.variants(path))
                    yield f"`{stem}` has no variant `{variant}`; it has {known}"
            for point in call.values("--point"):
                if point.partition("=")[0] not in self.scenarios.swept(path):
                    yield f"`{stem}` does not sweep `{point.partition('=')[0]}`"
        metrics = {one["name"] for one in self.bentpipe.results_schema["x-metrics"]}
        for metric in call.values("--metric"):
            if metric not in metrics and not PLACEHOLDER.fullmatch(metric):
                yield f"there is no metric `{metric}`"
