"""Runs of the gallery: every published scenario and study in a reduced form; used by build."""

import pathlib
import re
import subprocess
import time
import tomllib

from tools.atlas.digests import MEASURED
from tools.atlas.text import has_ended
from tools.book import rows as published

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "atlas" / "gallery.toml"
REPEAT = "1"


class SiteError(Exception):
    """What prevents the site, in words for the person who builds it."""


class Entry:
    """A scenario of the gallery, with the rows that sources publish of it."""

    def __init__(self, path, rows, reduced):
        self.path, self.rows = path, rows
        self.name = path.stem
        self.scenario = f"scenarios/{path.parent.name}/{path.name}"
        self.set, self.why = reduced.get("set", []), reduced.get("why", "")
        document = tomllib.loads(path.read_text())
        self.title = document.get("title", self.name)
        self.description = document.get("description", "").strip()
        self.repeat = document.get("repeat", 1)
        # Figures of the scenario itself, such as the limits of a test.
        self.limits = len(document.get("published", []))

    def command(self):
        """Arguments of the command after its name."""
        changes = [part for change in self.set for part in ("--set", change)]
        return ["run", self.scenario, *changes, "--repeat", REPEAT]


def blocks():
    """Yields name and text of each scenario of the book that a reader can run there."""
    for table in tomllib.loads(TABLE.read_text())["block"]:
        text = (ROOT / "docs/src" / table["page"]).read_text()
        marker = rf"<!-- file: {re.escape(table['file'])} -->\n```toml\n(.*?)^```"
        found = re.search(marker, text, re.DOTALL | re.MULTILINE)
        if not found:
            raise SiteError(f"docs/src/{table['page']} has no file {table['file']}")
        scenario = found[1]
        for old, new in table.get("replace", {}).items():
            if old not in scenario:
                raise SiteError(f"atlas/gallery.toml: `{old}` is not in {table['file']}")
            scenario = scenario.replace(old, new)
        yield table["file"], scenario


def reduced():
    """Returns the tables of atlas/gallery.toml by scenario."""
    found = {}
    for table in tomllib.loads(TABLE.read_text())["report"]:
        unknown = set(table) - {"scenario", "set", "why"}
        name = table.get("scenario", "")
        if unknown or not (ROOT / "scenarios" / f"{name}.toml").exists():
            raise SiteError(f"atlas/gallery.toml: {table}: keys are scenario, set, why; "
                            "scenario is a file of scenarios/ without its ending")
        found[name] = table
    return found


def entries():
    """Returns the sources of rows, and the entries of the gallery by scenario name.

    Rows of measurements of programs have no scenario to run, and are on the atlas page alone.
    """
    _, sources, rows = published.rows()
    named = {}
    for at, row in enumerate(rows):
        row.at = at
        for name in dict.fromkeys(figure.scenario for figure in row.figures):
            named.setdefault(name, []).append(row)
    scenarios = ROOT / "scenarios"
    paths = [*scenarios.glob("published/*.toml"), *scenarios.glob("studies/*.toml")]
    files = {path.stem: path for path in sorted(paths, key=lambda path: path.stem)}
    for name in named:
        if name not in files and not (ROOT / "atlas" / MEASURED / f"{name}.json").exists():
            files[name] = next(scenarios.glob(f"*/{name}.toml"))
    forms = reduced()
    found = {}
    for name, path in files.items():
        form = forms.pop(f"{path.parent.name}/{name}", {})
        found[name] = Entry(path, named.get(name, []), form)
    if forms:
        raise SiteError(f"atlas/gallery.toml: {', '.join(forms)}: not in the gallery")
    return sources, found


def run(bentpipe, out, command, name):
    """Runs a command line of `bentpipe run`; returns its run directory."""
    directory = out / name
    # An expectation may fail with one repeat: the page says so.
    begun = time.time()
    done = subprocess.run([bentpipe, *command, "--out", directory], cwd=ROOT, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if not has_ended(done.returncode, directory, begun):
        raise SiteError(f"{name}: {done.stderr[-2000:]}")
    return directory


def report(bentpipe, directory, engine):
    """Returns the report of a run directory; one that can be changed and run if there is an engine.
    """
    if not engine:
        return (directory / "report.html").read_text()
    command = [bentpipe, "report", "--editable", "--engine", engine, directory]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise SiteError(f"{directory.name}: {done.stderr[-2000:]}")
    return (directory / "editable.html").read_text()
