"""Exceptions of Bentpipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._results import Results


class BentpipeError(Exception):
    """Base class of the exceptions that Bentpipe defines."""


class ScenarioError(BentpipeError, ValueError):
    """A scenario is invalid.

    Attributes:
        message: What is wrong with the value, and what is allowed.
        help: A suggested fix, or ``None``.
        file: Name of the file, or ``--set`` if the error is in a value given to
            :meth:`Scenario.set` or :meth:`Scenario.sweep`.
        line: Line of the error, from 1.
        column: Column of the error, from 1.
        source: The line with the error.
    """

    message: str
    help: str | None
    file: str
    line: int
    column: int
    source: str

    def __init__(
        self,
        message: str,
        file: str = "",
        line: int = 1,
        column: int = 1,
        width: int = 1,
        source: str = "",
        help: str | None = None,
    ) -> None:
        super().__init__(message, file, line, column, width, source, help)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.source = source
        self.help = help
        self._width = width

    def __str__(self) -> str:
        if self.file.startswith("--"):
            text = f"{self.message}\n  {self.source}"
            margin = "  "
        else:
            text = f"{self.file}:{self.line}:{self.column}: {self.message}"
            number = f"{self.line} | "
            text += f"\n{number}{self.source}"
            margin = " " * (len(number) - 2) + "| "
        # A tab in the margin is as wide as the one in the line.
        before = "".join("\t" if c == "\t" else " " for c in self.source[: self.column - 1])
        text += f"\n{margin}{before}{'^' * max(self._width, 1)}"
        if self.help:
            text += f"\nhelp: {self.help}"
        return text


class VersionError(BentpipeError):
    """A worker has another version of Bentpipe, which could give other results.

    Attributes:
        worker: Name of the worker.
        worker_version: Version and engine of the worker. Equal engines give equal results.
        client_version: Version and engine of the client.
    """

    worker: str
    worker_version: tuple[str, str]
    client_version: tuple[str, str]

    def __init__(
        self, worker: str, worker_version: tuple[str, str], client_version: tuple[str, str]
    ) -> None:
        super().__init__(worker, worker_version, client_version)
        self.worker = worker
        self.worker_version = worker_version
        self.client_version = client_version

    def __str__(self) -> str:
        own, client = (f"{version} (engine {engine})" for version, engine in self.args[1:])
        return (
            f"the worker {self.worker} has bentpipe {own}, and the client has {client}; "
            "allowed: the same on all of them"
        )


class RunError(BentpipeError):
    """A run failed.

    Attributes:
        results: Results of the runs that ended, or ``None`` if none did.
    """

    results: Results | None

    def __init__(self, message: str, results: Results | None = None) -> None:
        super().__init__(message, results)
        self.results = results

    def __str__(self) -> str:
        return str(self.args[0])
