"""Running the tasks of a plan elsewhere: on executors of ``concurrent.futures``, and on Dask."""

from __future__ import annotations

import concurrent.futures
import importlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _bentpipe
from ._errors import BentpipeError, VersionError

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

#: Time that a batch should take, in seconds: long beside what a scheduler spends on a task, short
#: beside what is lost with a worker.
BATCH_S = 1.0
#: Largest number of tasks in a batch.
MAX_BATCH = 10_000
#: Batches in flight for each worker: one that runs and one that waits. More only load the scheduler.
PER_WORKER = 2
#: Time between two looks at whether to stop, in seconds.
POLL_S = 0.2
#: Time between two counts of the workers, in seconds.
COUNT_S = 2.0
#: Size from which the plan is sent to the workers of Dask once, and not with each batch.
LARGE = 100_000

Batch = list[tuple[int, bytes]]
Batches = Callable[[bytes, list[int]], Iterator[Batch]]


def run_batch(
    client: tuple[str, str], payload: bytes, indices: list[int]
) -> tuple[float, list[bytes]]:
    """Run tasks on a worker, and return the time they took in seconds and their records.

    ``client`` is the version and the engine of the client. Another simulator would give other
    results without a word.
    """
    own = (_bentpipe.VERSION, _bentpipe.engine())
    if own != client:
        raise VersionError(_worker_name(), own, client)
    start = time.perf_counter()
    records = _bentpipe.run_tasks(payload, indices)
    return time.perf_counter() - start, records


def _worker_name() -> str:
    """Return a name by which a person finds this worker."""
    try:
        distributed: Any = importlib.import_module("distributed")
        return str(distributed.get_worker().address)
    except (ImportError, ValueError):
        return f"process {os.getpid()} on {socket.gethostname()}"


def batches(executor: Executor | Any) -> Batches:
    """Return a function that runs the tasks of a plan on ``executor``.

    ``executor`` is an executor of ``concurrent.futures`` or a client of ``dask.distributed``.
    """
    pool: _Pool
    if _is_dask(executor):
        pool = _Dask(executor)
    elif isinstance(executor, concurrent.futures.Executor):
        pool = _Pool(executor)
    else:
        raise TypeError(
            f"executor of type {type(executor).__name__}; allowed: an executor of "
            "concurrent.futures, or a client of dask.distributed"
        )

    def run(payload: bytes, tasks: list[int]) -> Iterator[Batch]:
        return _run(pool, payload, tasks)

    return run


def connect(address: str) -> Batches:
    """Return a function that runs the tasks of a plan on the Dask scheduler at ``address``."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise BentpipeError("Dask is not installed: pip install 'bentpipe[dask]'") from error
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise BentpipeError(f"there is no Dask scheduler at {address}: {error}") from error
    return batches(client)


def _is_dask(executor: object) -> bool:
    """Return true for a client of Dask, without importing it."""
    return any(
        kind.__module__.startswith("distributed.") and kind.__name__ == "Client"
        for kind in type(executor).__mro__
    )


class _Pool:
    """An executor of ``concurrent.futures``."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._client = (_bentpipe.VERSION, _bentpipe.engine())

    def workers(self) -> int:
        """Return the number of tasks that run at the same time."""
        return int(getattr(self._executor, "_max_workers", 0)) or os.cpu_count() or 1

    def prepare(self, payload: bytes) -> Any:
        """Return what stands for the plan in :meth:`submit`."""
        return payload

    def submit(self, payload: Any, indices: list[int]) -> Future[Any]:
        """Start a batch."""
        future: Future[Any] = self._executor.submit(run_batch, self._client, payload, indices)
        return future

    def wait(self, futures: list[Any]) -> list[Any]:
        """Return those of ``futures`` that have ended, after at most :data:`POLL_S`."""
        first = concurrent.futures.FIRST_COMPLETED
        done, _ = concurrent.futures.wait(futures, timeout=POLL_S, return_when=first)
        return list(done)

    def cancel(self, futures: list[Any]) -> None:
        """Cancel batches that have not started."""
        for future in futures:
            future.cancel()


class _Dask(_Pool):
    """A client of ``dask.distributed``, which runs batches of lost workers again on others."""

    def workers(self) -> int:
        threads = self._executor.nthreads()
        return sum(threads.values()) or 1

    def prepare(self, payload: bytes) -> Any:
        if len(payload) < LARGE:
            return payload
        return self._executor.scatter(payload, broadcast=True)

    def submit(self, payload: Any, indices: list[int]) -> Future[Any]:
        # Each batch runs once for each study. Its name must not depend on its content, which Dask
        # would hash, and results must not stay on the workers.
        future: Future[Any] = self._executor.submit(
            run_batch, self._client, payload, indices, pure=False
        )
        return future

    def wait(self, futures: list[Any]) -> list[Any]:
        distributed: Any = importlib.import_module("distributed")
        try:
            distributed.wait(futures, timeout=POLL_S, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        return [future for future in futures if future.done()]

    def cancel(self, futures: list[Any]) -> None:
        self._executor.cancel(futures)


def _run(pool: _Pool, payload: bytes, tasks: list[int]) -> Iterator[Batch]:
    """Run ``tasks`` in batches, and yield their records as they come.

    Yields an empty list when nothing has come for a while, so that the caller can stop. Only as
    many batches are in flight as keep all workers busy: the scheduler never sees the others.
    """
    plan = pool.prepare(payload)
    flying: dict[Any, list[int]] = {}
    next_task = 0
    size = 1
    task_s: float | None = None
    workers, counted = pool.workers(), time.monotonic()
    try:
        while next_task < len(tasks) or flying:
            if time.monotonic() - counted > COUNT_S:
                workers, counted = pool.workers(), time.monotonic()
            while next_task < len(tasks) and len(flying) < PER_WORKER * workers:
                # Towards the end, small batches keep all workers busy.
                left = len(tasks) - next_task
                share = -(-left // (PER_WORKER * workers))
                indices = tasks[next_task : next_task + max(1, min(size, share))]
                next_task += len(indices)
                flying[pool.submit(plan, indices)] = indices
            ended = pool.wait(list(flying))
            batch: Batch = []
            for future in ended:
                indices = flying.pop(future)
                seconds, records = future.result()
                batch += zip(indices, records, strict=True)
                own = seconds / len(indices)
                task_s = own if task_s is None else 0.8 * task_s + 0.2 * own
                size = max(1, min(MAX_BATCH, int(BATCH_S / max(task_s, 1e-6)), 4 * size))
            yield batch
    finally:
        pool.cancel(list(flying))
