"""Statistics of repeated measurements, as crates/results computes them (stats.rs there)."""

import math

STATISTICS = ["median", "p5", "p95", "mean", "ci95_low", "ci95_high"]
# Figures are kept with this many significant digits: more than any page shows.
DIGITS = 9


def rounded(value):
    """`value` with DIGITS significant digits."""
    return None if value is None else float(f"{value:.{DIGITS}g}")


def quantile(ordered, share):
    """The quantile of sorted values, linearly interpolated (type 7 of Hyndman and Fan)."""
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def median_interval(ordered):
    """The sorted values that enclose the median with at least 95 %; `None` twice without any."""
    count = len(ordered)
    tail, ranks = 0.0, 0
    while 2 * ranks < count:
        tail += math.comb(count, ranks) / 2**count
        if tail > 0.025:
            break
        ranks += 1
    if not ranks or ordered[ranks - 1] == ordered[count - ranks]:
        return None, None
    return ordered[ranks - 1], ordered[count - ranks]


def statistics(values):
    """The count, and the statistics of a row of compact results."""
    ordered = sorted(values)
    several = len(ordered) > 1
    found = [
        quantile(ordered, 0.5),
        quantile(ordered, 0.05) if several else None,
        quantile(ordered, 0.95) if several else None,
        math.fsum(ordered) / len(ordered),
        *median_interval(ordered),
    ]
    return {"n": len(ordered), **dict(zip(STATISTICS, map(rounded, found)))}
