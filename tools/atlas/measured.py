"""Compact results of measurements on the real clock, in the form of atlas/."""

import datetime
import subprocess

from tools.atlas.stats import statistics


def row(variant, point, flow, metric, values):
    """The row of some measured values."""
    head = {"variant": variant, "point": dict(point), "flow": flow, "visit": 1, "metric": metric}
    return {**head, **statistics(values)}


def document(command, about, samples):
    """The results of `command`: `samples` has the values of each (variant, point, metric).

    A flow may stand before the metric, "main" otherwise.
    """
    return {
        "measured_by": command,
        "date": datetime.date.today().isoformat(),
        "about": about,
        "rows": [
            row(variant, point, *(flow or ["main"]), metric, values)
            for (variant, point, *flow, metric), values in samples.items()
            if values
        ],
        "published": [],
    }


def priority():
    """Returns the command that raises the priority of programs, if that is permitted."""
    raising = ["chrt", "-r", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        return raising if subprocess.run([*raising, "true"], **quiet).returncode == 0 else []
    except FileNotFoundError:
        return []
