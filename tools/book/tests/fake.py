"""A command and a repository, small, for the tests of what is looked up."""

import functools
import pathlib
import subprocess

from tools.book.command import Bentpipe

HELP = """Runs things

Usage: bentpipe run [OPTIONS] <FILE>...

Options:
      --set <KEY=VALUE>  Change a key

      --metric <NAME>    A metric

      --json             Print JSON

Examples:
  bentpipe run my.toml --json | jq '.runs[].passed'
"""
SCENARIO = """name = "pair"
[path]
profile = "geo"
[[variant]]
name = "cubic"
[[variant]]
name = "bbr3"
[sweep]
"path.rtt" = ["60 ms", "600 ms"]
"""
SCHEMA = {
    "properties": {
        "path": {"$ref": "#/$defs/Path"},
        "variant": {"items": {"$ref": "#/$defs/Variant"}},
    },
    "$defs": {
        "Path": {"properties": {"rtt": {"type": "string"}, "profile": {"type": "string"}}},
        "Variant": {"properties": {"congestion": {"enum": ["cubic", "bbr3"]}}},
    },
}
RESULTS = {
    "$defs": {
        "Results": {"properties": {"runs": {"items": {"properties": {"passed": {}}}}}},
    },
    "x-metrics": [{"name": "completion_s"}],
}


class Fake(Bentpipe):
    """A command with a few options, which refuses others as the real one does."""

    helps = {(): "Commands:\n  run  Runs\n", ("run",): HELP, ("explain",): "Usage\n"}
    schema, results_schema = SCHEMA, RESULTS
    listed = {kind: {"geo"} for kind in ("profiles", "controllers", "constellations", "cities")}

    def __init__(self):
        super().__init__(None, pathlib.Path())
        self.called = []

    def call(self, *arguments):
        """Answers as the command would; files whose text has `wrong` are refused."""
        self.called.append(arguments)
        options = {"--set", "--metric", "--json", "--help", "--variant", "--point"}
        for word in arguments:
            if word.startswith("--") and word not in options:
                return 2, "", f"error: unexpected argument '{word}' found\n"
        changes = [b for a, b in zip(arguments, arguments[1:]) if a == "--set"]
        for change in changes if "--help" not in arguments else ():
            if not change.startswith("path.rtt="):
                return 2, "", f"error: unknown key `{change.partition('=')[0]}`\n"
        for word in arguments:
            if word.endswith("scenario.toml") and "fast" in pathlib.Path(word).read_text():
                return 2, "", "error: unknown key `fast`, allowed: `slow`\n"
        return 0, "", ""

    def man_pages(self):
        """A page for each help text, with its options."""
        return {
            "-".join(["bentpipe", *words]) + ".1": text.replace("-", "\\-")
            for words, text in self.helps.items()
        }

    @functools.cached_property
    def subcommands(self):
        """Its subcommands."""
        return {"run", "explain"}


def repository(root):
    """Writes a small repository into `root`."""
    files = {
        "scenarios/examples/pair.toml": SCENARIO,
        "crates/link/src/loss/mod.rs": "pub struct Loss {\n    mean_burst: f64,\n}\n"
                                       "impl Loss {\n    pub fn loses(&self) {}\n}\n",
        "crates/link/tests/losses.rs": "#[test]\nfn losses_come_in_bursts() {}\n",
        "Makefile": "lint: ## Checks\n\ttrue\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
