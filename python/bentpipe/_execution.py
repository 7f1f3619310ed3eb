"""Running plans."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _bentpipe
from ._cluster import batches
from ._errors import RunError
from ._results import Results

if TYPE_CHECKING:
    from concurrent.futures import Executor

Progress = bool | Callable[[int, int], Any]


def execute(
    plan: _bentpipe.Plan,
    *,
    jobs: int | None,
    out: str | os.PathLike[str] | None,
    progress: Progress,
    executor: Executor | Any | None,
    store: str | os.PathLike[str] | bool,
    reuse: bool,
) -> Results:
    """Run ``plan`` on threads of this process or on ``executor``, and return its results."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs of {jobs} is too small; allowed: 1 or more")
    total = plan.runs
    report, close = _reporter(progress, plan.name, total)
    try:
        data = _bentpipe.run(
            plan,
            out,
            jobs,
            report,
            store=_store(store, reuse),
            batches=None if executor is None else batches(executor),
        )
    finally:
        close()
    results = Results(data)
    if data.failure is not None:
        raise RunError(data.failure, results) from data.exception
    return results


class _StoreOptions:
    """Directory of the result store (``None`` for the default one), and whether to take from it."""

    def __init__(self, directory: str | os.PathLike[str] | None, reuse: bool) -> None:
        self.directory = directory
        self.reuse = reuse


def _store(store: str | os.PathLike[str] | bool, reuse: bool) -> _StoreOptions | None:
    if store is False:
        return None
    if store is not True:
        return _StoreOptions(store, reuse)
    # As the command does.
    return _StoreOptions(os.environ.get("BENTPIPE_STORE") or None, reuse)


def _reporter(
    progress: Progress, name: str, total: int
) -> tuple[Callable[[int], Any] | None, Callable[[], Any]]:
    """Return a function that takes the number of runs that have ended, and one to call at the end."""
    if callable(progress):
        return (lambda done: progress(done, total)), lambda: None
    if not progress:
        return None, lambda: None
    try:
        with warnings.catch_warnings():
            # tqdm warns if widgets for notebooks are missing; its text bar does as well.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None, lambda: None
    # Nobody reads a bar in a file: `disable=None` shows it on terminals and in notebooks only.
    bar = tqdm(total=total, desc=name, unit="run", leave=False, disable=None)
    return (lambda done: bar.update(done - bar.n)), bar.close
