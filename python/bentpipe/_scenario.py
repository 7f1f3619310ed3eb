"""Scenarios."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _toml
from ._bentpipe import Plan
from ._execution import Progress, execute

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ._results import Results

# Keywords whose lists have a singular name in scenario files.
_LISTS = {"variants": "variant", "flows": "flow"}


class Scenario:
    """A scenario: a path, traffic over it, and the variants and values to compare.

    A scenario is checked when it is made, and never changes: :meth:`set` and :meth:`sweep` return
    a new one.

    The keys are those of scenario files (`docs/src/reference/scenarios.md`)::

        Scenario("geo.toml")
        Scenario(name="geo", path={"profile": "geo-50-10"}, workload={"download": "10 MB"},
                 variants=[{"name": "cubic"}, {"name": "bbr", "congestion": "bbr3"}])
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | None = None,
        /,
        **keys: Any,
    ) -> None:
        """Read a scenario from ``file`` (TOML), or make one from keywords, one for each key.

        Raises:
            ScenarioError: The scenario is invalid.
            OSError: The file cannot be read.
        """
        if file is not None:
            if keys:
                raise TypeError(
                    "a scenario is read from a file or made from keywords, not both; "
                    "Scenario(file).set(...) changes keys"
                )
            name = os.fspath(file)
            with open(name, encoding="utf-8") as opened:
                self._init(opened.read(), name, os.path.dirname(name), ())
            return
        if not keys:
            raise TypeError("a scenario needs a file or keywords, such as name, path and workload")
        for several, one in _LISTS.items():
            if several in keys:
                if one in keys:
                    raise TypeError(f"`{several}` and `{one}` are the same; allowed: one of them")
                keys[one] = keys.pop(several)
        given = {name: value for name, value in keys.items() if value is not None}
        self._init(_toml.document(given), "scenario", "", ())

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        name: str = "scenario.toml",
        directory: str | os.PathLike[str] = "",
    ) -> Scenario:
        """Read a scenario from ``text``, called ``name`` in errors.

        Paths in it are relative to ``directory`` [default: the current directory].
        """
        scenario = cls.__new__(cls)
        scenario._init(text, name, os.fspath(directory), ())
        return scenario

    def _init(self, text: str, name: str, directory: str, sets: tuple[str, ...]) -> None:
        self._text = text
        self._file = name
        self._directory = directory
        self._sets = sets
        self._plan = Plan(name, text, directory, list(sets))

    def _with(self, sets: Iterable[str]) -> Scenario:
        scenario = type(self).__new__(type(self))
        scenario._init(self._text, self._file, self._directory, (*self._sets, *sets))
        return scenario

    def set(
        self,
        key: str | Mapping[str, Any] | None = None,
        value: Any = None,
        /,
        **keys: Any,
    ) -> Scenario:
        """Return this scenario with other values of some keys.

        ::

            scenario.set("path.rtt", "300 ms")
            scenario.set({"path.rtt": "300 ms", "variant.bbr.slow_start": "standard"})
            scenario.set(repeat=20)

        Keys are dotted paths; entries of lists have the names of the entries. A swept key is no
        longer swept then, or over the given list.
        """
        changes: dict[str, Any] = {}
        if isinstance(key, str):
            changes[key] = value
        elif key is not None:
            changes.update(key)
        changes.update(keys)
        return self._with(f"{name}={_toml.value(new, name)}" for name, new in changes.items())

    def sweep(self, key: str | Sequence[str], values: Iterable[Any]) -> Scenario:
        """Return this scenario with each of ``values`` for ``key``.

        Several keys are swept together if ``key`` is a list of them and each value is a list.
        """
        joined = key if isinstance(key, str) else ", ".join(key)
        return self._with([f"sweep.{_toml.key(joined)}={_toml.value(values, joined)}"])

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self._plan.name

    @property
    def title(self) -> str:
        """Title of the scenario; by default its name."""
        return self._plan.title

    @property
    def variants(self) -> list[str]:
        """Names of the variants."""
        return self._plan.variants

    @property
    def points(self) -> dict[str, list[str]]:
        """The swept keys, each with its values as text."""
        return dict(self._plan.sweep)

    @property
    def toml(self) -> str:
        """The scenario with all changes, as TOML."""
        return self._plan.source

    def __len__(self) -> int:
        """Return the number of runs."""
        return self._plan.runs

    def check(self) -> list[str]:
        """Check the scenario again, and return notes for the reader of its results.

        Raises:
            ScenarioError: The scenario is invalid, for example because a file that it names has
                changed.
        """
        return Plan(self._file, self._text, self._directory, list(self._sets)).notes

    def run(
        self,
        *,
        seed: int | None = None,
        repeat: int | None = None,
        jobs: int | None = None,
        out: str | os.PathLike[str] | None = None,
        progress: Progress = True,
        executor: Executor | Any | None = None,
        store: str | os.PathLike[str] | bool = True,
        reuse: bool = True,
    ) -> Results:
        """Run the scenario on the virtual clock, and return its results.

        The same scenario and seed give the same results, with any number of jobs. Ctrl-C raises
        ``KeyboardInterrupt``; runs that have ended are in ``out`` then.

        Args:
            seed: Seed of all random draws, instead of the scenario's.
            repeat: Number of runs of each variant and sweep point, instead of the scenario's.
            jobs: Number of parallel runs [default: number of CPUs].
            out: Run directory to write, as ``bentpipe run --out`` does [default: none].
            progress: Show a progress bar if tqdm is installed; or a function that is called with
                the number of runs that have ended and the number of all.
            executor: Where runs are executed, instead of on threads of this process: an executor of
                ``concurrent.futures`` whose workers are processes with this version of Bentpipe,
                or a client of ``dask.distributed``.
            store: Directory of the result store, from which runs are taken that any earlier
                scenario shares with this one, and where new ones go; ``True`` for the one that the
                command uses, ``False`` for none.
            reuse: False to run everything again, even what the store has.

        Raises:
            RunError: A run failed. Its ``results`` are those of the runs that ended.
            VersionError: A worker has another version of Bentpipe.
        """
        plan = self._plan
        if seed is not None or repeat is not None:
            sets = list(self._sets)
            plan = Plan(self._file, self._text, self._directory, sets, seed, repeat)
        return execute(
            plan,
            jobs=jobs,
            out=out,
            progress=progress,
            executor=executor,
            store=store,
            reuse=reuse,
        )

    def __repr__(self) -> str:
        swept = f", sweep over {', '.join(self.points)}" if self.points else ""
        variants = ", ".join(self.variants)
        return f"<bentpipe.Scenario {self.name}: variants {variants}{swept}; {len(self)} runs>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        same_place = os.path.abspath(self._directory) == os.path.abspath(other._directory)
        return same_place and self.toml == other.toml

    def __hash__(self) -> int:
        return hash(self.toml)

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self._text, self._file, os.path.abspath(self._directory), self._sets)
        return (_rebuild, state)


def _rebuild(text: str, name: str, directory: str, sets: tuple[str, ...]) -> Scenario:
    scenario = Scenario.__new__(Scenario)
    scenario._init(text, name, directory, sets)
    return scenario
