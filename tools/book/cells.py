"""Cells of tables and figures that come from committed results in atlas/; used by atlas.py.

A cell is METRIC [STATISTIC] [DIGITS] [xFACTOR] [-OFFSET] [AGGREGATE]
[OPERATION KEY=VALUE & KEY=VALUE …].
"""

import re
import statistics

from tools.book.tables import WrongMarker

STATISTICS = ("median", "p5", "p95", "mean", "ci95_low", "ci95_high", "n")
# Taken from the published figures of a scenario instead of its rows.
PUBLISHED = {"published": "value", "ratio": "ratio"}
# What becomes of several rows in one cell, such as those of several flows.
AGGREGATES = {
    "total": sum,
    "largest": max,
    "smallest": min,
    "middle": statistics.median,
}
# What becomes of a value and that of the other row, which differs in the given keys.
OPERATIONS = {
    "over": lambda own, other: own / other,
    "under": lambda own, other: other / own,
    "saves": lambda own, other: 100 * (1 - own / other),
    "minus": lambda own, other: own - other,
    "below": lambda own, other: other - own,
    "exceeds": lambda own, other: 100 * (own / other - 1),
    "of": lambda _, other: other,
}


def swept(value):
    """A value of a sweep as a page writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def field(row, key):
    """The value of a row that `key` names: a column of the atlas, or a swept key."""
    if key in ("scenario", "variant", "flow", "visit"):
        return str(row[key])
    if key in row["point"]:
        return swept(row["point"][key])
    if row["several"]:
        return ""
    known = ", ".join(row["point"]) or "none"
    raise WrongMarker(f"`{key}` is not swept; allowed: scenario, variant, flow, visit, {known}")


class Cell:
    """A cell of a table, or a figure of a sentence."""

    def __init__(self, text):
        operation = re.search(rf"\s({'|'.join(OPERATIONS)})\s+(\S+=.*)$", text)
        self.text, self.operation, self.others = text, None, {}
        if operation:
            text, self.operation = text[: operation.start()], OPERATIONS[operation[1]]
            parts = [part.partition("=") for part in operation[2].split("&")]
            self.others = {key.strip(): value.strip().split("|") for key, _, value in parts}
        self.metric, *words = text.split()
        self.statistic, self.digits, self.factor, self.aggregate = "median", 2, 1.0, None
        self.offset = 0.0
        for word in words:
            if word in (*STATISTICS, *PUBLISHED):
                self.statistic = word
            elif word in AGGREGATES:
                self.aggregate = AGGREGATES[word]
            elif re.fullmatch(r"\d", word):
                self.digits = int(word)
            elif re.fullmatch(r"x[\d.]+", word):
                self.factor = float(word[1:])
            elif re.fullmatch(r"-[\d.]+", word):
                self.offset = float(word[1:])
            else:
                known = [*STATISTICS, *PUBLISHED, *AGGREGATES, *OPERATIONS, "digits", "xN", "-N"]
                raise WrongMarker(f"`{word}` in `{text}`: allowed are {', '.join(known)}")

    def value(self, rows, every, statistic=None, other_statistic=None):
        """The value of `rows`, of which `every` are all rows; `None` if there is none."""
        own = self.of(rows, statistic or self.statistic)
        if own is None or not self.operation:
            return own
        row = rows[0]
        if all(field(row, key) in values for key, values in self.others.items()):
            return None
        fits = [
            other
            for other in every
            if other["flow"] == row["flow"]
            and ("scenario" in self.others or other["scenario"] == row["scenario"])
            and all(field(other, key) in values for key, values in self.others.items())
            and all(key in self.others or swept(value) == field(row, key)
                    for key, value in other["point"].items())
            and ("variant" in self.others or other["variant"] == row["variant"])
        ]
        other = self.of(fits, other_statistic or statistic or self.statistic)
        return None if other is None else self.operation(own, other)

    def interval(self, rows, every):
        """The 95 % interval of the median, or bounds of a comparison of two; `None` if unknown.

        A comparison takes the ends of both intervals that make it smallest and largest, so that it
        is as wide as both allow.
        """
        ends = ("ci95_low", "ci95_high")
        if self.operation:
            pairs = [(ends[0], ends[1]), (ends[1], ends[0])]
        else:
            pairs = [(end, None) for end in ends]
        values = [self.value(rows, every, *pair) for pair in pairs]
        return None if None in values else sorted(value * self.factor for value in values)

    def of(self, rows, statistic):
        """The value of the metric in `rows`: one, or several that are aggregated."""
        own = [row for row in rows if row["metric"] == self.metric]
        if not own:
            # Rows of losses that never happened are not kept.
            return 0 if rows and self.metric.startswith("packets_lost_") else None
        if statistic in PUBLISHED:
            own = own[0]["published"] or {}
            return own.get(PUBLISHED[statistic])
        if len(own) > 1 and not self.aggregate:
            raise WrongMarker(f"{len(own)} rows fit `{self.text}`: name more keys")
        values = [row[statistic] for row in own]
        if None in values:
            return None
        return (self.aggregate(values) if self.aggregate else values[0]) - self.offset

    def show_interval(self, rows, every):
        """Both ends of the interval as they stand in a page."""
        ends = self.interval(rows, every)
        return ["–", "–"] if ends is None else [f"{end:.{self.digits}f}" for end in ends]

    def show(self, rows, every):
        """The value as it stands in a page."""
        value = self.value(rows, every)
        sign = "+" if self.operation is OPERATIONS["exceeds"] else ""
        return "–" if value is None else f"{value * self.factor:{sign}.{self.digits}f}"
