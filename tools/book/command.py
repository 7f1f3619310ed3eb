"""What the command says of itself: help texts, schemas and lists; used by examples and names."""

import functools
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

SUBCOMMAND = re.compile(r"^  ([a-z][\w-]*)(?:  |$)", re.MULTILINE)
OPTION = re.compile(r"^ {2,6}(?:-\w, )?(--[\w-]+)", re.MULTILINE)
LISTS = ("profiles", "controllers", "constellations", "cities")


class Bentpipe:
    """The command, called in a directory where it can harm nothing."""

    def __init__(self, path, directory):
        self.path, self.directory = path, directory
        store = str(directory / ".store")
        self.env = {**os.environ, "NO_COLOR": "1", "BENTPIPE_STORE": store, "COLUMNS": "100"}

    def call(self, *arguments):
        """Runs the command; returns its status, and what it printed on both streams."""
        done = subprocess.run([self.path, *arguments], cwd=self.directory, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def calls(self, lists):
        """Runs the command with each of `lists` of arguments, several at a time."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda arguments: self.call(*arguments), lists))

    @functools.cached_property
    def helps(self):
        """The help text of each subcommand by its words: `()`, `("run",)`, `("cache", "clear")`."""
        found, level = {(): self.call("--help")[1]}, [()]
        while level:
            names = [
                (*words, name)
                for words in level
                for name in SUBCOMMAND.findall(section(found[words], "Commands"))
                if name != "help"
            ]
            texts = self.calls([(*words, "--help") for words in names])
            found.update((words, text) for words, (_, text, _) in zip(names, texts))
            level = names
        return found

    @functools.cached_property
    def subcommands(self):
        """Names of the subcommands."""
        return {words[0] for words in self.helps if len(words) == 1}

    @functools.cached_property
    def options(self):
        """Every option of every subcommand."""
        texts = self.helps.values()
        return {name for text in texts for name in OPTION.findall(section(text, "Options"))}

    def json(self, *arguments):
        """What the command prints as JSON."""
        return json.loads(self.call(*arguments)[1])

    @functools.cached_property
    def schema(self):
        """The schema of scenarios."""
        return self.json("schema")

    @functools.cached_property
    def results_schema(self):
        """The schema of results, with every metric."""
        return self.json("schema", "--results")

    @functools.cached_property
    def listed(self):
        """The names in the lists of profiles, controllers, constellations and cities."""
        return {kind: names_in(self.json(kind, "--json")) for kind in LISTS}

    def man_pages(self):
        """The man pages by name."""
        self.call("man", "man")
        return {page.name: page.read_text() for page in (self.directory / "man").iterdir()}


def section(text, title):
    """The lines of a help text below `TITLE:`."""
    found = re.search(rf"^{title}:\n((?:[ \t]+.*\n|\n(?=[ \t]))*)", text, re.MULTILINE)
    return found[1] if found else ""


def names_in(document):
    """Every `name` in a JSON document."""
    if isinstance(document, list):
        return {name for one in document for name in names_in(one)}
    if isinstance(document, dict):
        own = {document["name"]} if isinstance(document.get("name"), str) else set()
        return own | {name for one in document.values() for name in names_in(one)}
    return set()
