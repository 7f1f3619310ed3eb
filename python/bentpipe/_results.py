"""Results of scenarios."""

from __future__ import annotations

import html
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from ._bentpipe import RunData
from ._figure import Figure, FigureRequest
from ._table import Table

# A page above this size stays out of notebooks, which store their outputs. Pages have up to 5 MB
# and the globe.
_MAX_HTML = 12_000_000
_HEIGHT = 700


class Results:
    """Results of a scenario: tables, time series, packets and the report page."""

    def __init__(self, data: RunData) -> None:
        """Wrap ``data``. Results come from :meth:`Scenario.run` and :meth:`load`."""
        self._data = data

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Results:
        """Read a directory that ``bentpipe run`` or :meth:`save` wrote."""
        return cls(RunData.load(os.fspath(directory)))

    def save(self, directory: str | os.PathLike[str]) -> pathlib.Path:
        """Write the run directory ``directory``, as ``bentpipe run`` does, and return its path.

        It appears at once or not at all. An earlier run there is replaced; anything else is not.
        """
        return pathlib.Path(self._data.save(os.fspath(directory)))

    @property
    def directory(self) -> pathlib.Path | None:
        """The run directory that these results were written to or read from, if any."""
        directory = self._data.directory
        return None if directory is None else pathlib.Path(directory)

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return self._data.scenario

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self._data.title

    @property
    def seed(self) -> int:
        """Seed of all random draws."""
        return self._data.seed

    @property
    def version(self) -> str:
        """Version of Bentpipe that ran the scenario."""
        return self._data.version

    @property
    def variants(self) -> list[str]:
        """Names of the variants."""
        return self._data.variants

    @property
    def points(self) -> dict[str, list[str]]:
        """The swept keys, each with its values as text."""
        return dict(self._data.sweep)

    @property
    def notes(self) -> list[str]:
        """Notes for the reader of the results."""
        return self._data.notes

    @property
    def toml(self) -> str:
        """The scenario as run, as TOML."""
        return self._data.source

    @property
    def complete(self) -> bool:
        """True if all planned runs have ended."""
        return self._data.complete

    @property
    def passed(self) -> bool:
        """True if every expectation of the scenario passed; also if there is none."""
        return self._data.passed

    @property
    def runs(self) -> Table:
        """One row for each run, with the fairness of its competing flows."""
        return self.table("runs")

    @property
    def flows(self) -> Table:
        """One row for each measured visit of each flow of each run, with every metric."""
        return self.table("flows")

    @property
    def links(self) -> Table:
        """One row for each direction of each hop of each run, with its counters."""
        return self.table("links")

    @property
    def summary(self) -> Table:
        """One row for each metric of each flow and visit, with statistics over the runs."""
        return self.table("summary")

    @property
    def expectations(self) -> Table:
        """One row for each expectation, with its outcome."""
        return self.table("expectations")

    @staticmethod
    def tables() -> dict[str, str]:
        """Return the names of all tables, each with the meaning of a row."""
        return dict(RunData.tables())

    def table(self, name: str) -> Table:
        """Return the table called ``name``, one of :meth:`tables`."""
        return Table(self._data.table(name))

    @property
    def recorded(self) -> list[dict[str, Any]]:
        """The runs with time series, as arguments for :meth:`series`: variant, run and point."""
        return [
            {"variant": variant, "run": run, "point": point}
            for variant, point, run in self._data.recorded_runs()
        ]

    def series(
        self,
        variant: str | None = None,
        run: int = 0,
        point: Mapping[str, Any] | None = None,
    ) -> Table:
        """Return the time series of one run: a row for each point of each series.

        ``variant`` and the values in ``point`` may be left out if there is only one.

        Raises:
            LookupError: There is no such run, or it has no time series.
        """
        return Table(self._data.series(variant, run, _texts(point)))

    def marks(
        self,
        variant: str | None = None,
        run: int = 0,
        point: Mapping[str, Any] | None = None,
    ) -> Table:
        """Return labelled points in time of one run's flows, and the phases of their senders."""
        return Table(self._data.marks(variant, run, _texts(point)))

    def packets(
        self,
        variant: str | None = None,
        run: int = 0,
        point: Mapping[str, Any] | None = None,
    ) -> Table:
        """Return the qlog events of one run: a row for each packet sent, received or lost, and more.

        The scenario must record them: ``output = {"qlog": True}``.

        Raises:
            LookupError: There is no such run, or it has no qlog.
        """
        return Table(self._data.packets(variant, run, _texts(point)))

    def figures(self) -> dict[str, str]:
        """Return the kinds of figures that :meth:`figure` can draw, each with what it shows."""
        return dict(self._data.figures())

    def figure(
        self,
        what: str,
        *,
        metric: str | None = None,
        flow: str | None = None,
        visit: int | None = None,
        point: Mapping[str, Any] | None = None,
        variants: str | Iterable[str] = (),
        along: str | None = None,
        series: str | Iterable[str] = (),
        link: str | None = None,
        run: int = 0,
        width: float = 85.0,
        serif: bool = False,
        grey: bool = False,
        caption: bool = False,
    ) -> Figure:
        """Draw a figure for a paper, as ``bentpipe figure`` does.

        Args:
            what: ``budget`` (where the time went), ``sweep``, ``cdf``, ``series`` or ``heat``.
            metric: The metric; by default the one that comparisons of the flow are of.
            flow: The flow, or the population of users; by default the first.
            visit: Number of the visit; by default the first that each variant reports.
            point: Values of swept keys: only these points.
            variants: Only these variants.
            along: Swept key on the axis of ``sweep``.
            series: Time series of ``series``, a panel each.
            link: Show time series of this link instead of the flow.
            run: Number of the run of ``series``.
            width: Width in millimetres; letters have 8 pt. One of two columns has 85, both have
                178.
            serif: Letters with serifs.
            grey: Greys, hatches and dashes instead of colours.
            caption: Write the caption below the drawing.

        Raises:
            LookupError: The results do not have what the arguments name.
        """
        request = FigureRequest(
            what=what,
            metric=metric,
            flow=flow,
            visit=visit,
            point=_texts(point),
            variants=_names(variants),
            along=along,
            series=_names(series),
            link=link,
            run=run,
            width=width,
            serif=serif,
            grey=grey,
            caption=caption,
        )
        return Figure(self._data.figure(request))

    def to_json(self) -> str:
        """Return the document ``results.json``."""
        return self._data.json()

    def report(self) -> str:
        """Return the report page: one HTML file that opens offline."""
        return self._data.report()

    def __len__(self) -> int:
        """Return the number of runs."""
        return self._data.runs_done

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        done, planned = self._data.runs_done, self._data.runs_planned
        runs = f"{done} runs" if done == planned else f"{done} of {planned} runs"
        variants = ", ".join(self.variants)
        return f"<bentpipe.Results {self.scenario}: {runs}; variants {variants}>"

    def _repr_html_(self) -> str:
        page = self.report()
        if len(page) > _MAX_HTML:
            size = len(page) / 1e6
            return (
                f"<p>The report page of {html.escape(repr(self))} has {size:.0f} MB, too much for "
                "a notebook. Write it with <code>results.save(directory)</code>.</p>"
            )
        return (
            f'<iframe srcdoc="{html.escape(page)}" title="{html.escape(self.title)}" '
            f'sandbox="allow-scripts allow-downloads allow-popups" loading="lazy" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 1px solid #8888"></iframe>'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self._data.files(),))


def _rebuild(files: dict[str, bytes]) -> Results:
    return Results(RunData.from_files(files))


def _texts(point: Mapping[str, Any] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (point or {}).items()}


def _names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
