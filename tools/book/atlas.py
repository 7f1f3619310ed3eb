"""Tables of the book that come from committed results in atlas/; used by check."""

import json
import pathlib

from tools.book.cells import Cell, field
from tools.book.tables import WrongMarker

ATLAS = pathlib.Path(__file__).resolve().parents[2] / "atlas"
# Keys of a table in atlas/tables.toml, which says what they mean.
KEYS = {
    "results", "rows", "columns", "cells", "only", "names", "heads", "interval", "transpose",
    "format",
}
# What fits a screen: lines of a table, and characters of a line.
LINES, WIDTH = 25, 100
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


def selection(texts):
    """Conditions `KEY = VALUE | VALUE` as a map of allowed values."""
    conditions = {}
    for text in filter(None, texts):
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


def loaded(names):
    """Returns the committed rows of several scenarios."""
    every = [row for name in names for row in load(name)]
    return [{**row, "several": len(names) > 1} for row in every]


class Table:
    """A table of committed results, as atlas/tables.toml defines it."""

    def __init__(self, fields):
        if unknown := set(fields) - KEYS:
            raise WrongMarker(f"{sorted(unknown)}: keys of a table are {sorted(KEYS)}")
        if missing := {"results", "cells"} - set(fields):
            raise WrongMarker(f"a table needs {sorted(missing)}")
        self.rows = fields.get("rows", ["variant"])
        self.columns = fields.get("columns", [])
        self.only = fields.get("only", {})
        self.names = fields.get("names", {})
        self.layout = fields.get("format")
        self.interval = fields.get("interval", False)
        self.transpose = fields.get("transpose", False)
        self.heads = fields.get("heads", [", ".join(self.rows)])
        self.cells = [Cell(text) for text in fields["cells"]]
        self.every = loaded(fields["results"])
        self.chosen = selected(self.every, self.only)

    def called(self, values):
        """Values in words."""
        return " ".join(self.names.get(value, value) for value in values)

    def titles(self, columns):
        """The heads of all columns but those of the row's keys."""
        metrics = [self.names.get(cell.metric, cell.metric) for cell in self.cells]
        metrics = metrics[:1] if self.layout else metrics
        several = len(metrics) > 1
        return [
            " ".join(filter(None, [self.called(column), text if several else ""])) or text
            for column in columns
            for text in metrics
        ]

    def texts(self, rows):
        """What the cells show of some rows of the results."""
        texts = [cell.show(rows, self.every) for cell in self.cells]
        if self.interval:
            both = [cell.show_interval(rows, self.every) for cell in self.cells]
            texts = [
                text if a == "–" else f"{text} ({a} – {b})" for text, (a, b) in zip(texts, both)
            ]
        if self.layout:
            return ["–" if set(texts) == {"–"} else self.layout.format(*texts)]
        return texts

    def grid(self):
        """The cells of the table, heads among them."""
        metrics = {cell.metric for cell in self.cells}
        shown = [row for row in self.chosen if row["metric"] in metrics]
        columns = unique(shown, self.columns, self.only)
        place = lambda row, keys: tuple(field(row, key) for key in keys)
        lines = []
        for values in unique(shown, self.rows, self.only):
            line = [self.names.get(value, value) for value in values]
            for column in columns:
                here = [
                    row
                    for row in self.chosen
                    if place(row, self.rows) == values and place(row, self.columns) == column
                ]
                line += self.texts(here)
            lines.append(line)
        own = len(self.rows)
        titles = self.titles(columns)
        # Heads beyond those of `rows` are the titles of the other columns.
        titles[: len(self.heads[own:])] = self.heads[own:]
        heads = self.heads[:own] + [""] * (own - len(self.heads))
        grid = [heads + titles, *lines]
        return [list(column) for column in zip(*grid)] if self.transpose else grid


def table(fields):
    """Returns the table that `fields` of atlas/tables.toml describe."""
    grid = Table(fields).grid()
    text = [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in grid]
    if len(grid) - 1 > LINES or max(map(len, text)) > WIDTH:
        most = f"at most {LINES} lines of {WIDTH} characters fit a screen"
        raise WrongMarker(f"{len(grid) - 1} lines of {max(map(len, text))} characters; {most}")
    return "\n".join([text[0], "|" + "---|" * len(grid[0]), *text[1:]])


def unmet(body):
    """Returns a table of the scenarios in some folders whose expectations are not all met."""
    lines, failed, total = [], 0, 0
    for folder in filter(None, map(str.strip, body.split(","))):
        for path in sorted((ATLAS / folder).glob("*.json")):
            rows = json.loads(path.read_text())["expectations"]
            count = sum(not row["passed"] for row in rows)
            failed, total = failed + count, total + len(rows)
            if count:
                lines.append(f"| `scenarios/{folder}/{path.stem}.toml` | {count} of {len(rows)} |")
    head = ["| scenario | not met |", "|---|---|"]
    return "\n".join([*head, *lines, f"| all | {failed} of {total} |"])
