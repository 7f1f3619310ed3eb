"""Figures and tables by id: those of atlas/figures.toml in sentences, those of atlas/tables.toml.

A figure stands in a page as it is read, with its id behind it: `8.00<!-- fig ID -->`. Used by
check, which refuses a figure that is not what the results say, an id that no file defines, and a
definition that no page shows.
"""

import functools
import pathlib
import re
import tomllib

from tools.book.atlas import loaded, selected, selection
from tools.book.cells import Cell
from tools.book.tables import WrongMarker

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES, TABLES = ROOT / "atlas/figures.toml", ROOT / "atlas/tables.toml"
# Code, which shows the notation and no figure; or a figure, if there is one, and its id.
FIGURE = re.compile(
    r"^(?P<fence>```+).*?^(?P=fence)|`[^`\n]*`"
    r"|(?P<shown>(?:(?<!\w)[+-])?\d+(?:\.\d+)?|)<!-- fig (?P<id>\S+) -->",
    re.MULTILINE | re.DOTALL,
)
# A figure that counts cells between two bounds.
COUNT = re.compile(r"count (.*) from (-?[\d.]+) to (-?[\d.]+)")


@functools.cache
def definitions(path):
    """The definitions in a file by their ids."""
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise WrongMarker(f"{path.relative_to(ROOT)}: {error}") from error


def defined(name, path):
    """The definition of the id `name`."""
    found = definitions(path)
    if name not in found:
        raise WrongMarker(f"{path.relative_to(ROOT)} defines no `{name}`")
    return found[name]


def figure(definition):
    """Returns the figure `SCENARIO, …; KEY = VALUE; …; CELL`."""
    scenarios, *conditions, cell = (part.strip() for part in definition.split(";"))
    every = loaded([name.strip() for name in scenarios.split(",")])
    rows = selected(every, selection(conditions))
    if counted := COUNT.fullmatch(cell):
        return count(counted[1], float(counted[2]), float(counted[3]), rows, every)
    shown = Cell(cell).show(rows, every)
    if shown == "–":
        raise WrongMarker(f"no value fits `{definition}`")
    return shown


def count(text, low, high, rows, every):
    """How many of `rows` have a cell `text` from `low` to `high`."""
    cell = Cell(text)
    values = [cell.value([row], every) for row in rows if row["metric"] == cell.metric]
    if not values or None in values:
        raise WrongMarker(f"`count {text}` needs a value in every row")
    return str(sum(low <= value <= high for value in values))


def renewed(text, path=FIGURES):
    """Returns a page with its figures as the results have them, and what is said about each.

    What is said are lines about figures that differ, and about those that have no value.
    """
    known, moved, wrong = definitions(path), [], []

    def now(match):
        name, shown = match["id"], match["shown"]
        if not name:
            return match[0]
        line = text.count("\n", 0, match.start()) + 1
        try:
            if name not in known:
                raise WrongMarker(f"{path.name} does not define it")
            value = figure(known[name])
        except WrongMarker as error:
            wrong.append(f"line {line}: figure `{name}`: {error}")
            return match[0]
        if value != shown:
            moved.append(f"line {line}: `{shown}` is {value} now ({name}): read the sentence again")
        return f"{value}<!-- fig {name} -->"

    return FIGURE.sub(now, text), moved, wrong


def named(text):
    """The ids of the figures of a page."""
    return {match["id"] for match in FIGURE.finditer(text) if match["id"]}


def faults(shown, path):
    """Yields what is wrong with a file of definitions, of which pages show the ids `shown`."""
    found, name = list(definitions(path)), path.name
    for one in found:
        if one not in shown:
            yield f"atlas/{name}: no page shows `{one}`"
    for before, after in zip(found, found[1:]):
        if before > after:
            yield f"atlas/{name}: `{after}` stands behind `{before}`: sort the file by ids"
