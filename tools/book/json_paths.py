"""Fields that a program of `jq` reads, looked up in what the command prints; used by examples."""

import functools
import json
import re

from tools.book.tables import table_of

FIRST = "scenarios/examples/first.toml"
# Calls whose output shows the fields of a subcommand.
SAMPLES = {
    ("check",): ["check", FIRST, "--json"],
    ("controllers",): ["controllers", "--json"],
    ("profiles",): ["profiles", "--json"],
    ("orbit",): ["orbit", "scenarios/examples/leo.toml", "--duration", "10s", "--json"],
    ("explain",): ["explain", "out/first", "--json"],
}
# Subcommands whose output has the schema of results.
RESULTS = {("run",), ("matrix",), ("replay",), ("merge",)}
PATH = re.compile(r"(?:\.\w+|\.?\[\d*\])+|\.(?!\w)")
FIELD = re.compile(r"^\s*pub(?:\(\w+\))? (\w+):|\"(\w+)\":", re.MULTILINE)


def shape(value):
    """The schema that a JSON value shows: fields of tables, entries of lists."""
    if isinstance(value, dict):
        return {"properties": {key: shape(one) for key, one in value.items()}}
    if isinstance(value, list):
        return {"items": merged([shape(one) for one in value])}
    return {}


def merged(shapes):
    """One shape with the fields of several."""
    fields = {}
    for one in shapes:
        for key, inner in one.get("properties", {}).items():
            fields.setdefault(key, []).append(inner)
    items = [one["items"] for one in shapes if "items" in one]
    found = {"properties": {key: merged(inner) for key, inner in fields.items()}} if fields else {}
    return {**found, "items": merged(items)} if items else found


def steps(path):
    """The steps of a path of jq: names of fields, and None for entries of a list."""
    parts = re.findall(r"\.(\w+)|\[\d*\]", path)
    return [name or None for name in parts]


class Missing(Exception):
    """A field that is not there."""


def follow(node, path, root):
    """The schema behind a path of jq."""
    for name in steps(path):
        if "$ref" in node:
            node = root["$defs"][node["$ref"].rpartition("/")[2]]
        if name is None:
            options = [node, *node.get("anyOf", []), *node.get("oneOf", [])]
            items = next((one["items"] for one in options if "items" in one), None)
            if items is None:
                raise Missing(f"`{path}`: there is no list")
            node = items
            continue
        table = table_of(node, root) or {}
        if name not in table.get("properties", {}):
            raise Missing(f"`{path}`: there is no field `{name}`")
        node = table["properties"][name]
    return node


class JsonFields:
    """Looks up the fields that programs of `jq` read."""

    def __init__(self, bentpipe, root):
        self.bentpipe, self.root = bentpipe, root

    @functools.cached_property
    def names(self):
        """Names of fields in the sources, for what no cheap call prints."""
        found = set()
        for path in self.root.glob("crates/*/src/**/*.rs"):
            found |= {a or b for a, b in FIELD.findall(path.read_text())}
        return found

    @functools.lru_cache
    def sample(self, subcommand):
        """The schema of what a subcommand prints, and its root; None if nothing cheap shows it."""
        if subcommand in RESULTS:
            root = self.bentpipe.results_schema
            return root["$defs"]["Results"], root
        if subcommand not in SAMPLES:
            return None
        if subcommand == ("explain",):
            self.bentpipe.call("run", str(self.root / FIRST), "--out", "out/first")
        words = [str(self.root / w) if w.startswith("scen") else w for w in SAMPLES[subcommand]]
        _, printed, errors = self.bentpipe.call(*words)
        if not printed:
            raise RuntimeError(f"`bentpipe {' '.join(words)}` printed nothing: {errors}")
        return shape(json.loads(printed)), {}

    def check(self, subcommand, program):
        """Yields the fields of a program that do not exist."""
        found = self.sample(subcommand)
        if found is None:
            for name in re.findall(r"\.(\w+)", program):
                if name not in self.names:
                    yield f"no source has a field `{name}`"
            return
        node, root = found
        for stage in re.split(r"\|(?![^(]*\))", program):
            try:
                inner = re.fullmatch(r"\s*\w+\((.*)\)\s*", stage)
                for path in PATH.findall(re.sub(r'"[^"]*"', "", inner[1])) if inner else ():
                    follow(node, path, root)
                if not inner and (path := PATH.match(stage.strip())):
                    node = follow(node, path[0], root)
            except Missing as missing:
                yield str(missing)
                return
