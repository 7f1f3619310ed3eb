"""Tables of results."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._bentpipe import TableData

if TYPE_CHECKING:
    import pandas
    import polars

_PREVIEW = 10


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Name. A dot separates a group from its field, as in ``path.token``.
        kind: ``text``, ``int``, ``float`` or ``bool``.
        unit: Unit; empty for text and ratios.
        about: Meaning, in a sentence.
    """

    name: str
    kind: str
    unit: str
    about: str


class Table:
    """A table with named columns.

    It implements the Arrow PyCapsule interface, so that pyarrow, polars, DuckDB and others take it
    without a copy: ``pyarrow.table(table)``, ``polars.DataFrame(table)``.
    """

    _data: TableData

    def __init__(self, data: TableData) -> None:
        """Wrap ``data``. Tables come from :class:`Results` and :mod:`bentpipe.orbit`."""
        self._data = data
        self._columns = tuple(Column(*column) for column in data.columns)

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._data.name

    @property
    def about(self) -> str:
        """What a row stands for, in a sentence."""
        return self._data.about

    @property
    def columns(self) -> tuple[Column, ...]:
        """Name, kind, unit and meaning of each column."""
        return self._columns

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, column: str) -> list[Any]:
        """Return the values of a column; ``None`` for null."""
        for index, known in enumerate(self._columns):
            if known.name == column:
                return self._data.values(index)
        names = ", ".join(known.name for known in self._columns)
        raise KeyError(f"no column is named `{column}`; allowed: {names}")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, each a dictionary."""
        names = [column.name for column in self._columns]
        for row in zip(*(self._data.values(index) for index in range(len(names)))):
            yield dict(zip(names, row))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the values of each column by name; ``None`` for null."""
        return {c.name: self._data.values(index) for index, c in enumerate(self._columns)}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a ``pandas.DataFrame``. Needs pandas, but not pyarrow.

        Numbers are ``float64`` with NaN for null, or ``int64``; integers and truth values with
        nulls have the nullable types ``Int64`` and ``boolean``.
        """
        library: Any = _import("pandas", "to_pandas")
        numpy = _import("numpy", "to_pandas")
        series = {}
        for index, column in enumerate(self._columns):
            words = self._data.words(index)
            if words is not None:
                kind = "float64" if column.kind == "float" else "int64"
                array = numpy.frombuffer(words, dtype=kind).copy()
                series[column.name] = library.Series(array)
                continue
            values = self._data.values(index)
            dtype: str | None
            if column.kind == "int":
                dtype = "Int64"
            elif column.kind == "bool":
                dtype = "boolean" if None in values else "bool"
            else:
                # pandas has a type for text, which a column without any would not get.
                dtype = None if any(value is not None for value in values) else "object"
            series[column.name] = library.Series(values, dtype=dtype)
        names = [column.name for column in self._columns]
        frame: pandas.DataFrame = library.DataFrame(series, columns=names)
        frame.attrs["units"] = {c.name: c.unit for c in self._columns if c.unit}
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return the table as a ``polars.DataFrame``. Needs polars 1.3 or later."""
        frame: polars.DataFrame = _import("polars", "to_polars").DataFrame(self)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with an Arrow stream (Arrow PyCapsule interface)."""
        return self._data.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self._columns)
        return f"<bentpipe.Table {self.name}: {len(self)} rows; {names}>"

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th title="{html.escape(c.about)}">{html.escape(c.name)}</th>' for c in self._columns
        )
        # Only the values shown are converted for text and HTML.
        columns = [self._data.values(index, _PREVIEW) for index in range(len(self._columns))]
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>"
            for row in zip(*columns)
        )
        count = f"{len(self)} rows" + (f", the first {_PREVIEW}" if len(self) > _PREVIEW else "")
        return (
            f"<table><caption>{html.escape(self.about)} {count}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self._columns == other._columns and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        columns = [
            (c.name, c.kind, c.unit, c.about, self._data.values(index))
            for index, c in enumerate(self._columns)
        ]
        return (_rebuild, (self.name, self.about, columns))


def _rebuild(name: str, about: str, columns: list[tuple[str, str, str, str, list[Any]]]) -> Table:
    return Table(TableData(name, about, columns))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _import(module: str, method: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"Table.{method}() needs {module}, which is not installed: pip install {module}",
            name=module,
        ) from error
