"""Figures of results for papers and notebooks."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from . import _bentpipe
from ._bentpipe import FigureText


class Interval(NamedTuple):
    """What figures draw beside a median."""

    low: float
    high: float
    words: str


def interval(values: Iterable[float]) -> Interval | None:
    """Return what figures draw beside the median of ``values``.

    That is the 95 % confidence interval of the median; of two to five values, which have none, the
    smallest and the largest. ``None`` of one value or of equal ones. ``words`` says which it is.
    """
    found = _bentpipe.interval([float(value) for value in values])
    return None if found is None else Interval(*found)


@dataclass(frozen=True)
class FigureRequest:
    """What to draw; :meth:`Results.figure` explains the fields."""

    what: str
    metric: str | None
    flow: str | None
    visit: int | None
    point: dict[str, str]
    variants: list[str]
    along: str | None
    series: list[str]
    link: str | None
    run: int
    width: float
    serif: bool
    grey: bool
    caption: bool


class Figure:
    """A figure: a drawing and the numbers that it shows. Notebooks show the drawing."""

    def __init__(self, data: FigureText) -> None:
        """Wrap ``data``. Figures come from :meth:`Results.figure`."""
        self._data = data

    @property
    def caption(self) -> str:
        """What the figure shows, with the scenario, the seed, the clock and the version."""
        return self._data.caption

    @property
    def svg(self) -> str:
        """The drawing as SVG."""
        return self._data.svg

    def csv(self) -> str:
        """Return the numbers with full precision."""
        return self._data.csv()

    def markdown(self) -> str:
        """Return the numbers as a table in Markdown."""
        return self._data.markdown()

    def latex(self) -> str:
        """Return the numbers as a table in LaTeX, for the package booktabs."""
        return self._data.latex()

    def save(self, file: str | os.PathLike[str]) -> pathlib.Path:
        """Write ``file`` and return its path: ``.svg``, ``.csv``, ``.md`` or ``.tex``.

        Raises:
            ValueError: The file has another ending.
        """
        path = pathlib.Path(file)
        texts = {
            ".svg": lambda: self.svg,
            ".csv": self.csv,
            ".md": self.markdown,
            ".tex": self.latex,
        }
        text = texts.get(path.suffix.lower())
        if text is None:
            raise ValueError(
                f"figures cannot be written as `{path.suffix}`; allowed: {', '.join(texts)}"
            )
        FigureText.write(path, text())
        return path

    def __repr__(self) -> str:
        return f"<bentpipe.Figure {self.caption}>"

    def _repr_svg_(self) -> str:
        return self.svg
