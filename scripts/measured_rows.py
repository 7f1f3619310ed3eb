"""Compact results of measurements on the real clock, in the form of atlas/."""

import datetime

from stats import statistics


def row(variant, point, metric, values):
    """The row of some measured values."""
    head = {"variant": variant, "point": dict(point), "flow": "main", "visit": 1, "metric": metric}
    return {**head, **statistics(values)}


def document(command, about, samples):
    """The results of `command`: `samples` has the values of each (variant, point, metric)."""
    return {
        "measured_by": command,
        "date": datetime.date.today().isoformat(),
        "about": about,
        "rows": [
            row(variant, point, metric, values)
            for (variant, point, metric), values in samples.items()
            if values
        ],
        "published": [],
    }
