"""What each choice of a controller costs, from the results of the scenarios that measure it.

Reads atlas/studies/regret-*.json and atlas/studies/beside-choices.json. Rows of metric `time_ratio`
have the completion time of a choice over that of the fastest one, over the sizes of a path and over
all paths; those of `worst_ratio` the largest. A size that did not complete within the scenario's
limit counts as the limit. Rows of `others_kept` have what a plain endpoint in bulk has beside a
choice over what it has beside another plain endpoint.
"""

import json
import pathlib

from tools.atlas.measured import document

ATLAS = pathlib.Path(__file__).resolve().parents[2] / "atlas"
ALL = "all"
# Seconds after which a run of these scenarios ends (`time_limit`).
LIMIT = 600.0
# Paths on which the fastest choice is bought with the order of packets, which is reported apart.
APART = ("regret-geo-reorder",)


def medians(name, metric, flow):
    """By variant and point: the median of a metric of a study's flow."""
    rows = json.loads((ATLAS / "studies" / f"{name}.json").read_text())["rows"]
    return {
        (row["variant"], *row["point"].values()): row["median"]
        for row in rows
        if row["metric"] == metric and row["flow"] == flow
    }


def ratios(times):
    """By variant: the time over that of the fastest variant, for each size."""
    variants = list(dict.fromkeys(variant for variant, _ in times))
    sizes = list(dict.fromkeys(size for _, size in times))
    seconds = {
        (variant, size): LIMIT if times.get((variant, size)) is None else times[variant, size]
        for variant in variants
        for size in sizes
    }
    fastest = {size: min(seconds[variant, size] for variant in variants) for size in sizes}
    return {v: [seconds[v, size] / fastest[size] for size in sizes] for v in variants}


def rows_of_time(samples):
    """Adds the ratios of each path and of all."""
    whole = {}
    for path in sorted((ATLAS / "studies").glob("regret-*.json")):
        name = path.stem.removeprefix("regret-")
        for variant, found in ratios(medians(path.stem, "completion_s", "main")).items():
            samples[variant, (("path", name),), "time_ratio"] = found
            samples[variant, (("path", name),), "worst_ratio"] = [max(found)]
            if path.stem not in APART:
                whole.setdefault(variant, []).extend(found)
    for variant, found in whole.items():
        samples[variant, (("path", ALL),), "time_ratio"] = found
        samples[variant, (("path", ALL),), "worst_ratio"] = [max(found)]


def rows_of_others(samples):
    """Adds what others keep beside each choice."""
    found = medians("beside-choices", "goodput_mbps", "other")
    whole = {}
    for (variant, path), mbps in found.items():
        kept = mbps / found["rfc", path]
        samples[variant, (("path", path),), "others_kept"] = [kept]
        whole.setdefault(variant, []).append(kept)
    for variant, kept in whole.items():
        samples[variant, (("path", ALL),), "others_kept"] = kept


def results():
    """The results of all choices, in the form of atlas/."""
    samples = {}
    rows_of_time(samples)
    rows_of_others(samples)
    made = document("tools/book/check --write", "regret-* and beside-choices of studies", samples)
    # Made of results that have dates of their own.
    del made["date"]
    return made
