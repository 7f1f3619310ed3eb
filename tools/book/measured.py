"""Tables of "Simulated against measured", from atlas/measured.toml and the results in atlas/.

The first says where each row was measured, by whom, with which sender, and what was fitted; the
second has the figures, and a verdict that is computed. Used by check.
"""

import pathlib
import tomllib

from tools.book.rows import Figure
from tools.book.tables import WrongMarker

ROWS = pathlib.Path(__file__).resolve().parents[2] / "atlas" / "measured.toml"
KEYS = {"id", "what", "where", "sender", "scenario", "fitted", "within", "figures"}
HEADS = {
    "rows": ["row", "measured", "where, when, by", "sender", "simulated by", "fitted"],
    "figures": ["row", "figure", "measured", "simulated", "ratio", "passes", "verdict"],
}


def number(value):
    """A figure with three digits, or all before its point."""
    digits = max(0, 2 - len(str(int(abs(value))).lstrip("0")) + 1) if value else 0
    return f"{value:.{min(digits, 3)}f}"


def passes(figure, within):
    """Whether ours is what was accepted before the run."""
    if figure.published is not None:
        return abs(figure.ours / figure.published - 1) <= within
    return figure.ratio() == 1.0


def accepted(figure, within):
    """What was accepted, in words."""
    if figure.published is not None:
        return f"within {100 * within:g} %"
    if figure.low is None:
        return f"up to {number(figure.high)}"
    if figure.high is None:
        return f"{number(figure.low)} or more"
    return f"{number(figure.low)} to {number(figure.high)}"


def lines(kind, rows):
    """Yields the cells of each line of a table."""
    for row in rows:
        if unknown := set(row) - KEYS:
            raise WrongMarker(f"atlas/measured.toml: {sorted(unknown)}: keys are {sorted(KEYS)}")
        if kind == "rows":
            yield [row[key] for key in ("id", "what", "where", "sender", "scenario", "fitted")]
            continue
        for one in row["figures"]:
            within = one.pop("within", row.get("within", 0.0))
            figure = Figure(one, "{}", "atlas/measured.toml")
            measured = "" if figure.published is None else number(figure.published)
            ratio = "" if figure.published is None else f"{figure.ratio():.2f}"
            verdict = "passed" if passes(figure, within) else "**missed**"
            yield [row["id"], figure.label, measured, number(figure.ours), ratio,
                   accepted(figure, within), verdict]


def table(kind):
    """The table `rows` or `figures`."""
    if kind not in HEADS:
        raise WrongMarker(f"`{kind}` is no table of measured paths; allowed: {', '.join(HEADS)}")
    rows = tomllib.loads(ROWS.read_text())["row"]
    heads = HEADS[kind]
    found = [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines(kind, rows)]
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *found])
