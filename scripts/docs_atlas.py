"""Tables and figures of the book that come from committed results in atlas/; used by docs-check."""

import json
import pathlib
import re

from docs_tables import WrongMarker

ATLAS = pathlib.Path(__file__).resolve().parent.parent / "atlas"
# A figure in a sentence, behind the marker that says what it is.
FIGURE = re.compile(r"<!-- figure: ([^\n]*?) -->(.*?)<!-- end -->", re.DOTALL)
STATISTICS = ("median", "p5", "p95", "mean", "ci95_low", "ci95_high", "n")
OPTIONS = ("rows", "columns", "cell", "cells", "only", "name", "head", "interval", "transpose")


def load(name):
    """Returns the committed results of the scenario `name`."""
    found = list(ATLAS.glob(f"*/{name}.json"))
    if len(found) != 1:
        raise WrongMarker(f"atlas/ has no results of a scenario `{name}`; `make atlas` writes them")
    return json.loads(found[0].read_text())


def options(body):
    """Splits a marker into the scenario and its options, each a list of values."""
    scenario, *lines = body.split("\n")
    found = {}
    for line in filter(None, map(str.strip, lines)):
        key, _, value = line.partition(":")
        if key not in OPTIONS:
            raise WrongMarker(f"`{key}` is no option of `atlas`; options are {', '.join(OPTIONS)}")
        found.setdefault(key, []).append(value.strip())
    return scenario.strip(), found


def field(row, key):
    """The value of a row that `key` names: a column of the atlas, or a swept key."""
    if key in ("variant", "flow", "visit"):
        return str(row[key])
    if key in row["point"]:
        return row["point"][key]
    swept = ", ".join(row["point"]) or "none"
    raise WrongMarker(f"`{key}` is not swept; allowed: variant, flow, visit, {swept}")


def selection(texts):
    """Conditions `KEY = VALUE | VALUE; KEY = VALUE` as a map of allowed values."""
    conditions = {}
    for text in filter(None, (part.strip() for value in texts for part in value.split(";"))):
        key, _, values = text.partition(" = ")
        conditions[key.strip()] = [value.strip() for value in values.split(" | ")]
    return conditions


def selected(document, conditions):
    """The rows of the atlas that fit all conditions."""
    fits = lambda row: all(field(row, key) in values for key, values in conditions.items())
    rows = [row for row in document["rows"] if fits(row)]
    if not rows:
        raise WrongMarker(f"no row of {document['scenario']} has {conditions}")
    return rows


def reader(text):
    """A cell as `METRIC [STATISTIC] [DIGITS] [xFACTOR]`; returns a function of a row, or `None`."""
    metric, *rest = text.split()
    statistic, digits, factor = "median", 2, 1.0
    for word in rest:
        if word in STATISTICS:
            statistic = word
        elif re.fullmatch(r"\d", word):
            digits = int(word)
        elif re.fullmatch(r"x[\d.]+", word):
            factor = float(word[1:])
        else:
            allowed = f"{', '.join(STATISTICS)}, digits, xN"
            raise WrongMarker(f"`{word}` in `{text}`: allowed are {allowed}")

    def read(row, which=statistic):
        if row["metric"] != metric:
            return None
        return "–" if row[which] is None else f"{row[which] * factor:.{digits}f}"

    return metric, read


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


def table(body):
    """Returns the table that a marker describes."""
    scenario, found = options(body)
    document = load(scenario)
    conditions = selection(found.get("only", []))
    rows = selected(document, conditions)
    names = dict(part.split(" = ", 1) for part in found.get("name", []))
    called = lambda values: " ".join(names.get(value, value) for value in values)
    row_keys = split(found.get("rows", ["variant"]))
    column_keys = split(found.get("columns", []))
    cells = [reader(text) for text in found.get("cell", []) + split(found.get("cells", []), ";")]
    if not cells:
        raise WrongMarker("a table needs `cell: METRIC`")
    columns = unique(rows, column_keys, conditions)
    heads = found.get("head", [", ".join(row_keys)])
    heads = [part.strip() for part in heads[0].split("|")]
    several = len(cells) > 1
    titles = [
        " ".join(filter(None, [called(column), names.get(metric, metric) if several else ""]))
        for column in columns
        for metric, _ in cells
    ]
    titles = [title or names.get(cells[0][0], cells[0][0]) for title in titles]
    lines = []
    for values in unique(rows, row_keys, conditions):
        line = [names.get(value, value) for value in values]
        for column in columns:
            here = [
                row
                for row in rows
                if tuple(field(row, key) for key in row_keys) == values
                and tuple(field(row, key) for key in column_keys) == column
            ]
            for metric, read in cells:
                own = [row for row in here if row["metric"] == metric]
                if len(own) > 1:
                    raise WrongMarker(f"{len(own)} rows of {scenario} fit one cell: name more keys")
                text = read(own[0]) if own else "–"
                if own and "interval" in found:
                    text += f" ({read(own[0], 'ci95_low')} – {read(own[0], 'ci95_high')})"
                line.append(text)
        lines.append(line)
    heads += [""] * (len(row_keys) - len(heads))
    grid = [heads[: len(row_keys)] + titles, *lines]
    if "transpose" in found:
        grid = [list(column) for column in zip(*grid)]
    text = [f"| {' | '.join(line)} |" for line in grid]
    return "\n".join([text[0], "|" + "---|" * len(grid[0]), *text[1:]])


def figure(body):
    """Returns the figure `SCENARIO; KEY = VALUE; …; METRIC …` of a sentence."""
    scenario, *conditions, cell = (part.strip() for part in body.split(";"))
    metric, read = reader(cell)
    rows = selected(load(scenario), selection(conditions))
    own = [row for row in rows if row["metric"] == metric]
    if len(own) != 1:
        raise WrongMarker(f"{len(own)} rows fit `{body}`; allowed: one")
    return read(own[0])


def moved_figures(text):
    """Yields what a sentence says and what the results say now, where they differ."""
    for match in FIGURE.finditer(text):
        now = figure(match[1])
        if match[2] != now:
            line = text.count("\n", 0, match.start()) + 1
            yield f"line {line}: `{match[2]}` is {now} now ({match[1]}): read the sentence again"
