"""Imports of measurements of real paths."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from . import _bentpipe
from ._scenario import Scenario


@dataclass(frozen=True)
class RecordingRequest:
    """What to import; :func:`import_recording` explains the fields."""

    files: list[str]
    up: list[str]
    down: list[str]
    out: str
    format: str | None
    direction: str | None
    offset: str | None
    interval: str | None
    phase: str | None
    rate: str | None
    licence: str | None


@dataclass(frozen=True)
class Recording:
    """A recorded path: the scenario that replays it, and what its files were found to say."""

    directory: pathlib.Path
    """Where the scenario, its files and ``ORIGIN.md`` are."""
    scenario: Scenario
    """The scenario, with a download over the path."""
    measured: list[str] = field(default_factory=list)
    """What the files say."""
    inferred: list[str] = field(default_factory=list)
    """What was concluded, and can be changed by an argument."""
    unknown: list[str] = field(default_factory=list)
    """What no file says."""
    refused: list[str] = field(default_factory=list)
    """What was not used, and why."""


_Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"


def _paths(files: _Paths) -> list[str]:
    """Return the paths of one file or several."""
    several = [files] if isinstance(files, (str, os.PathLike)) else files
    return [os.fspath(file) for file in several]


def import_recording(
    *files: str | os.PathLike[str],
    out: str | os.PathLike[str],
    up: _Paths = (),
    down: _Paths = (),
    format: str | None = None,
    direction: str | None = None,
    offset: str | None = None,
    interval: str | None = None,
    phase: str | None = None,
    rate: str | None = None,
    licence: str | None = None,
) -> Recording:
    """Make a scenario of measurements of a real path, in the directory ``out``.

    The files and arguments are those of ``bentpipe import``: outputs of ping and iperf3, irtt, RIPE
    Atlas, traces of mahimahi and others::

        path = bentpipe.import_recording("ping.txt", "iperf3.json", out="path", rate="15 Mbps")
        results = path.scenario.set("workload.download", "10 MB").run()

    Args:
        files: Measurements.
        out: Directory to write to, new or empty.
        up: Measurements from the client to the server.
        down: Measurements from the server to the client.
        format: Format of all files [default: told by their content].
        direction: ``"up"`` or ``"down"``, of rates and losses of which no file says it.
        offset: How much later than the rates the delays begin, such as ``"3 s"``.
        interval: Time between pings of which no line has a time [default: 1 s].
        phase: When the path reconfigures: ``"12 s"`` for Starlink.
        rate: Rate of a direction for which no file has one.
        licence: Licence of the files, for ``ORIGIN.md``.

    Raises:
        ValueError: A file cannot be imported (the message has its line and a remedy), or an
            argument is invalid.
        OSError: A file cannot be read, or ``out`` cannot be written to or is not empty.
    """
    request = RecordingRequest(
        files=[os.fspath(file) for file in files],
        up=_paths(up),
        down=_paths(down),
        out=os.fspath(out),
        format=format,
        direction=direction,
        offset=offset,
        interval=interval,
        phase=phase,
        rate=rate,
        licence=licence,
    )
    if not (request.files or request.up or request.down):
        raise TypeError("import_recording needs a file")
    found = dict(_bentpipe.import_recording(request))
    directory = pathlib.Path(out)
    return Recording(directory, Scenario(directory / "scenario.toml"), **found)
