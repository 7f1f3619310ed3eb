"""Runs scenarios of measured paths, and reads what their time series say."""

import array
import bisect
import json
import pathlib
import subprocess
import tempfile

from tools.running import target


def runs(scenario, *settings):
    """Runs a scenario (its text, or its path) with series; returns (index, points) of each run.

    `points` returns the times in s and the values of a series of the index.
    """
    with tempfile.TemporaryDirectory(prefix="bentpipe-measured-") as folder:
        folder = pathlib.Path(folder)
        if isinstance(scenario, str):
            path = folder / "scenario.toml"
            path.write_text(scenario)
        else:
            path = scenario
        out = folder / "out"
        changes = ["output.time_series=all", *settings]
        command = [target() / "debug/bentpipe", "run", path, "--out", out, "--no-store", "--quiet"]
        command += [word for change in changes for word in ("--set", change)]
        done = subprocess.run(command, capture_output=True, text=True)
        # 1: an expectation of the scenario is not met.
        if done.returncode not in (0, 1):
            raise SystemExit(f"{path.name}: {done.stderr.strip()}")
        index = json.loads((out / "traces.json").read_text())
        data = (out / "traces.bin").read_bytes()

    def points(series):
        begin, count = series["offset"], series["n"]
        times, values = array.array("d"), array.array("f")
        times.frombytes(data[begin:begin + 8 * count])
        values.frombytes(data[begin + 8 * count:begin + 12 * count])
        return times, values

    return [(one, points) for one in index]


def of_flow(found, name):
    """All points of a flow's series, of all runs."""
    return [points(run["flows"][0]["series"][name]) for run, points in found]


def held(times, values, moments):
    """The value of a series of changes at each of some moments."""
    return [values[max(bisect.bisect_right(times, moment) - 1, 0)] for moment in moments]


def per_second(times, totals, seconds):
    """Mbps in each whole second of a series of total bytes."""
    marks = held(times, totals, range(1, seconds + 1))
    return [8e-6 * (b - a) for a, b in zip([0, *marks], marks)]
