"""Routes, RTTs and visibility through a satellite network over time, without packets."""

from __future__ import annotations

import os
import pathlib


from . import _bentpipe
from ._lists import constellations
from ._scenario import Scenario
from ._table import Table

__all__ = ["Survey", "survey"]


class Survey:
    """Routes of flows over a period."""

    def __init__(self, data: _bentpipe.OrbitData) -> None:
        """Wrap ``data``. Surveys come from :func:`survey`."""
        self._data = data

    @property
    def constellation(self) -> str:
        """Name of the constellation."""
        return self._data.constellation

    @property
    def satellites(self) -> int:
        """Number of satellites."""
        return self._data.satellites

    @property
    def begins(self) -> str:
        """Start of the period (RFC 3339)."""
        return self._data.begins

    @property
    def duration_s(self) -> float:
        """Length of the period, in seconds."""
        return self._data.length_s

    @property
    def samples(self) -> Table:
        """RTT, hops and visible satellites of each flow over time."""
        return Table(self._data.samples())

    @property
    def routes(self) -> Table:
        """One row for each route of each flow, which is valid until the next."""
        return Table(self._data.routes(False))

    @property
    def disjoint_routes(self) -> Table:
        """One row for each route at the start that shares no link with those before it."""
        return Table(self._data.routes(True))

    @property
    def nodes(self) -> Table:
        """One row for each node of each route in :attr:`routes`."""
        return Table(self._data.nodes())

    @property
    def summary(self) -> Table:
        """One row for each flow: RTTs, route changes and outages."""
        return Table(self._data.summary())

    def save_html(self, file: str | os.PathLike[str]) -> pathlib.Path:
        """Write an HTML page with a globe and the RTT over time, and return its path."""
        path = pathlib.Path(file)
        self._data.save_report(path)
        return path

    def __repr__(self) -> str:
        return (
            f"<bentpipe.orbit.Survey {self.constellation}: {self.satellites} satellites, "
            f"{self.duration_s:g} s from {self.begins}>"
        )


def survey(
    network: str | Scenario,
    from_: str | None = None,
    to: str | None = None,
    *,
    duration: str = "200 s",
    step: str | None = None,
    disjoint: int = 0,
) -> Survey:
    """Sample the routes through a satellite network, as ``bentpipe orbit`` does.

    ::

        survey("kuiper-630", "Toronto", "Washington", duration="10 min", step="1 s")

    Args:
        network: Name of a built-in constellation (see :func:`bentpipe.constellations`), or a
            scenario whose path has an orbit.
        from_: First end, instead of the scenario's flows: a station, a city, or
            ``latitude,longitude``.
        to: Second end.
        duration: Duration to survey.
        step: Time between samples [default: the scenario's].
        disjoint: Number of link-disjoint routes at the start to find.
    """
    if (from_ is None) != (to is None):
        raise TypeError("from_ and to belong together; allowed: both or none")
    ends = None if from_ is None or to is None else (from_, to)
    if isinstance(network, str):
        names = [entry["name"] for entry in constellations()]
        if network not in names:
            allowed = ", ".join(names)
            raise ValueError(f"no constellation is named `{network}`; allowed: {allowed}")
        if ends is None:
            raise TypeError("a constellation has no flows of its own; allowed: with from_ and to")
        text = _bentpipe.constellation_scenario(network, *ends)
        network = Scenario.from_toml(text, name=network)
    return Survey(_bentpipe.survey(network._plan, duration, step, disjoint, ends))
