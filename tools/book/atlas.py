"""Tables and figures of the book that come from committed results in atlas/; used by check."""

import json
import pathlib
import re

from tools.book.cells import Cell, field
from tools.book.tables import WrongMarker

ATLAS = pathlib.Path(__file__).resolve().parents[2] / "atlas"
# A figure in a sentence, behind the marker that says what it is.
FIGURE = re.compile(r"<!-- figure: ([^\n]*?) -->(.*?)<!-- end -->", re.DOTALL)
# A figure that counts cells between two bounds.
COUNT = re.compile(r"count (.*) from (-?[\d.]+) to (-?[\d.]+)")
OPTIONS = (
    "rows", "columns", "cell", "cells", "only", "name", "head", "interval", "transpose", "format",
)
LOADED = {}


def load(name):
    """Returns the committed rows of the scenario `name`, each with its published figure."""
    if name in LOADED:
        return LOADED[name]
    found = list(ATLAS.glob(f"*/{name}.json"))
    if len(found) != 1:
        raise WrongMarker(f"atlas/ has no results of a scenario `{name}`; `make atlas` writes them")
    document = json.loads(found[0].read_text())
    for row in document["rows"]:
        row["scenario"], row["several"] = name, False
        own = [
            published
            for published in document["published"]
            if all(published[key] == row[key] for key in ("variant", "point", "metric"))
            and published.get("flow", row["flow"]) == row["flow"]
        ]
        row["published"] = own[0] if len(own) == 1 else None
    LOADED[name] = document["rows"]
    return document["rows"]


def options(body):
    """Splits a marker into the scenarios and their options, each a list of values."""
    scenario, *lines = body.split("\n")
    found = {}
    for line in filter(None, map(str.strip, lines)):
        key, _, value = line.partition(":")
        if key not in OPTIONS:
            raise WrongMarker(f"`{key}` is no option of `atlas`; options are {', '.join(OPTIONS)}")
        found.setdefault(key, []).append(value.strip())
    return split([scenario]), found


def selection(texts):
    """Conditions `KEY = VALUE | VALUE; KEY = VALUE` as a map of allowed values."""
    conditions = {}
    for text in filter(None, (part.strip() for value in texts for part in value.split(";"))):
        key, _, values = text.partition(" = ")
        conditions[key.strip()] = [value.strip() for value in values.split(" | ")]
    return conditions


def selected(rows, conditions):
    """The rows of the atlas that fit all conditions."""
    fits = lambda row: all(field(row, key) in values for key, values in conditions.items())
    found = [row for row in rows if fits(row)]
    if not found:
        raise WrongMarker(f"no row of {rows[0]['scenario']} has {conditions}")
    return found


def unique(rows, keys, order):
    """The distinct values of `keys`, in the order of `only`, then of the results."""
    found = list(dict.fromkeys(tuple(field(row, key) for key in keys) for row in rows))
    rank = lambda values: [
        order[key].index(value) if key in order else 0 for key, value in zip(keys, values)
    ]
    return sorted(found, key=rank)


def split(texts, separator=","):
    """The entries of a list option."""
    return [part.strip() for text in texts for part in text.split(separator) if part.strip()]


def renamed(texts):
    """`VALUE = TEXT` as a map. Both may contain ` = `, so that every split is an entry."""
    names = {}
    for text in texts:
        parts = text.split(" = ")
        for at in range(1, len(parts)):
            names.setdefault(" = ".join(parts[:at]), " = ".join(parts[at:]))
    return names


def keys(texts, rows):
    """The keys that `texts` name; the name of a key that sweeps several has commas."""
    swept = {key for row in rows for key in row["point"]}
    return [key for text in texts for key in ([text] if text in swept else split([text]))]


def loaded(names):
    """Returns the committed rows of several scenarios."""
    every = [row for name in names for row in load(name)]
    return [{**row, "several": len(names) > 1} for row in every]


def table(body):
    """Returns the table that a marker describes."""
    scenarios, found = options(body)
    every = loaded(scenarios)
    conditions = selection(found.get("only", []))
    rows = selected(every, conditions)
    names = renamed(found.get("name", []))
    called = lambda values: " ".join(names.get(value, value) for value in values)
    row_keys = keys(found.get("rows", ["variant"]), every)
    column_keys = keys(found.get("columns", []), every)
    cells = [Cell(text) for text in found.get("cell", []) + split(found.get("cells", []), ";")]
    if not cells:
        raise WrongMarker("a table needs `cell: METRIC`")
    shown = [row for row in rows if row["metric"] in {cell.metric for cell in cells}]
    columns = unique(shown, column_keys, conditions)
    lines_of = unique(shown, row_keys, conditions)
    heads = [part.strip() for part in found.get("head", [", ".join(row_keys)])[0].split("|")]
    layout = found.get("format", [None])[0]
    metrics = [names.get(cell.metric, cell.metric) for cell in cells]
    metrics = metrics[:1] if layout else metrics
    several = len(metrics) > 1
    titles = [
        " ".join(filter(None, [called(column), text if several else ""])) or text
        for column in columns
        for text in metrics
    ]
    lines = []
    for values in lines_of:
        line = [names.get(value, value) for value in values]
        for column in columns:
            here = [
                row
                for row in rows
                if tuple(field(row, key) for key in row_keys) == values
                and tuple(field(row, key) for key in column_keys) == column
            ]
            texts = [cell.show(here, every) for cell in cells]
            if "interval" in found:
                both = [cell.show_interval(here, every) for cell in cells]
                texts = [
                    text if a == "–" else f"{text} ({a} – {b})" for text, (a, b) in zip(texts, both)
                ]
            if layout:
                texts = ["–" if set(texts) == {"–"} else layout.format(*texts)]
            line += texts
        lines.append(line)
    # Heads beyond those of `rows` are the titles of the other columns.
    titles[: len(heads[len(row_keys) :])] = heads[len(row_keys) :]
    heads = heads[: len(row_keys)] + [""] * (len(row_keys) - len(heads))
    grid = [heads + titles, *lines]
    if "transpose" in found:
        grid = [list(column) for column in zip(*grid)]
    text = [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in grid]
    return "\n".join([text[0], "|" + "---|" * len(grid[0]), *text[1:]])


def unmet(body):
    """Returns a table of the scenarios in some folders whose expectations are not all met."""
    lines, failed, total = [], 0, 0
    for folder in split([body]):
        for path in sorted((ATLAS / folder).glob("*.json")):
            rows = json.loads(path.read_text())["expectations"]
            count = sum(not row["passed"] for row in rows)
            failed, total = failed + count, total + len(rows)
            if count:
                lines.append(f"| `scenarios/{folder}/{path.stem}.toml` | {count} of {len(rows)} |")
    head = ["| scenario | not met |", "|---|---|"]
    return "\n".join([*head, *lines, f"| all | {failed} of {total} |"])


def figure(body):
    """Returns the figure `SCENARIO; KEY = VALUE; …; CELL` of a sentence."""
    scenario, *conditions, cell = (part.strip() for part in body.split(";"))
    every = loaded(split([scenario]))
    rows = selected(every, selection(conditions))
    if counted := COUNT.fullmatch(cell):
        return count(counted[1], float(counted[2]), float(counted[3]), rows, every)
    shown = Cell(cell).show(rows, every)
    if shown == "–":
        raise WrongMarker(f"no value fits `{body}`")
    return shown


def count(text, low, high, rows, every):
    """How many of `rows` have a cell `text` from `low` to `high`."""
    cell = Cell(text)
    values = [cell.value([row], every) for row in rows if row["metric"] == cell.metric]
    if not values or None in values:
        raise WrongMarker(f"`count {text}` needs a value in every row")
    return str(sum(low <= value <= high for value in values))


def moved_figures(text):
    """Yields what a sentence says and what the results say now, where they differ."""
    for match in FIGURE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        try:
            now = figure(match[1])
        except WrongMarker as wrong:
            yield f"line {line}: `{match[2]}` cannot be quoted: {wrong}"
            continue
        if match[2] != now:
            yield f"line {line}: `{match[2]}` is {now} now ({match[1]}): read the sentence again"
