"""Runs on executors: processes of this machine, and Dask."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import bentpipe
import pytest
from bentpipe import _bentpipe, _cluster

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


def study(runs: int) -> bentpipe.Scenario:
    """Return a scenario with four cases, each run ``runs`` times."""
    return bentpipe.Scenario(
        name="study",
        repeat=runs,
        path={"profile": "geo-50-10", "forward": {"loss": 0.001}},
        workload={"download": "100 kB"},
        variants=[{"name": "cubic"}, {"name": "bbr", "congestion": "bbr3"}],
        output={"qlog": True},
    ).sweep("workload.download", ["100 kB", "1 MB"])


def files(directory: pathlib.Path) -> dict[str, bytes]:
    """Return the content of each file below ``directory``."""
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


@pytest.fixture
def pool() -> Iterator[concurrent.futures.Executor]:
    """Two processes that share nothing with this one."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


def test_processes_give_the_files_of_threads(
    pool: concurrent.futures.Executor, tmp_path: pathlib.Path
) -> None:
    """The place where a run is executed leaves no trace in any file."""
    study(6).run(store=False, progress=False, out=tmp_path / "threads")
    study(6).run(store=False, progress=False, out=tmp_path / "pool", executor=pool)
    assert files(tmp_path / "threads") == files(tmp_path / "pool")


def test_results_of_workers_go_to_the_store(
    pool: concurrent.futures.Executor, tmp_path: pathlib.Path
) -> None:
    """The client keeps what workers return, and asks them for the rest only."""
    store = tmp_path / "store"
    first = study(3).run(store=store, progress=False, executor=pool)
    asked: list[int] = []

    def batches(payload: bytes, tasks: list[int]) -> Iterator[list[tuple[int, bytes]]]:
        asked.extend(tasks)
        yield list(zip(tasks, _bentpipe.run_tasks(payload, tasks), strict=True))

    plan = study(5)._plan
    data = _bentpipe.run(plan, store=_options(store), batches=batches)
    assert len(asked) == 8
    runs = bentpipe.Results(data).flows.to_pandas()
    kept = runs[runs.run < 3].reset_index(drop=True)
    assert kept.equals(first.flows.to_pandas())


def _options(store: pathlib.Path) -> object:
    from bentpipe._execution import _store

    return _store(store, True)


def test_an_input_file_travels_to_the_workers(
    pool: concurrent.futures.Executor, tmp_path: pathlib.Path
) -> None:
    """Workers need none of the files that a scenario names."""
    (tmp_path / "loss.txt").write_text("0" * 60 + "1\n")
    text = """
name = "file"
path.profile = "geo-50-10"
path.forward.loss = { model = "trace", file = "loss.txt" }
workload.download = "1 MB"
"""
    scenario = bentpipe.Scenario.from_toml(text, directory=tmp_path)
    (tmp_path / "loss.txt").unlink()
    results = scenario.run(store=False, progress=False, executor=pool)
    assert results.flows.to_pandas()["packets_lost_channel"].tolist()[0] > 5


def test_a_worker_with_another_version_is_refused() -> None:
    """Both versions and the worker are named."""
    other = ("9.9.9", "0" * 32)
    with pytest.raises(bentpipe.VersionError) as raised:
        _cluster.run_batch(other, b"{}", [0])
    text = str(raised.value)
    own = f"{_bentpipe.VERSION} (engine {_bentpipe.engine()})"
    assert own in text and "9.9.9 (engine 0000" in text and str(os.getpid()) in text


class Outdated(concurrent.futures.ThreadPoolExecutor):
    """An executor whose workers have another version than the client."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        """Start ``fn`` as a client of another version would."""
        _, payload, indices = args
        return super().submit(fn, ("9.9.9", "f" * 32), payload, indices)


def test_a_study_on_outdated_workers_raises_at_once() -> None:
    """The exception of the worker reaches the caller."""
    with Outdated(1) as pool, pytest.raises(bentpipe.VersionError, match="allowed: the same"):
        study(2).run(store=False, progress=False, executor=pool)


def test_other_executors_are_refused() -> None:
    """Errors name what is allowed."""
    with pytest.raises(TypeError, match="dask.distributed"):
        study(2).run(store=False, executor=3)


def test_dask_survives_the_loss_of_a_worker(tmp_path: pathlib.Path) -> None:
    """A worker is killed and another one joins: nothing is lost, nothing comes twice."""
    scenario = study(100)
    scenario.run(store=False, progress=False, out=tmp_path / "threads")
    killed: list[int] = []
    late: list[subprocess.Popen[bytes]] = []
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def progress(done: int, total: int) -> None:
            assert done <= total
            if done > 50 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)
                command = [sys.executable, "-m", "distributed.cli.dask_worker"]
                options = ["--nthreads", "1", "--no-dashboard"]
                late.append(
                    subprocess.Popen(
                        [*command, cluster.scheduler_address, *options],
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                )

        try:
            scenario.run(store=False, progress=progress, out=tmp_path / "dask", executor=client)
        finally:
            for process in late:
                process.terminate()
                process.wait()
    assert killed
    assert files(tmp_path / "threads") == files(tmp_path / "dask")
