"""Running: jobs, seeds, progress, interruption."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from bentpipe import Results, Scenario


def test_results_do_not_depend_on_the_number_of_jobs(small: Scenario, results: Results) -> None:
    for jobs in (1, 3):
        assert small.run(jobs=jobs, progress=False).to_json() == results.to_json()


def test_seed_and_repeat_replace_those_of_the_scenario(small: Scenario) -> None:
    changed = small.run(seed=7, repeat=1, progress=False)
    assert (changed.seed, len(changed)) == (7, 4)


def test_a_run_directory_equals_that_of_the_command(
    small: Scenario, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small.toml)
    ours = Scenario(file).run(out=tmp_path / "ours", progress=False)
    assert ours.directory == tmp_path / "ours"
    command = [sys.executable, "-m", "bentpipe", "run", str(file), "--out", str(tmp_path / "its")]
    subprocess.run(command, check=True, capture_output=True)
    files = sorted(path.relative_to(tmp_path / "its") for path in (tmp_path / "its").rglob("*.*"))
    assert pathlib.Path("results.json") in files and pathlib.Path("report.html") in files
    for name in files:
        same = (tmp_path / "its" / name).read_bytes() == (tmp_path / "ours" / name).read_bytes()
        assert same, name


def test_progress_is_called_in_order_up_to_the_total(small: Scenario) -> None:
    seen: list[tuple[int, int]] = []
    small.run(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (8, 8)
    assert seen == sorted(set(seen))


def test_an_exception_of_progress_ends_the_run(small: Scenario) -> None:
    def fail(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        small.run(progress=fail)


def test_other_threads_run_meanwhile(small: Scenario) -> None:
    long = small.set({"workload.download": "20 MB", "repeat": 3})
    ticks = 0
    finished = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not finished.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    long.run(jobs=1, progress=False)
    elapsed = time.monotonic() - start
    finished.set()
    thread.join()
    # A thread that never gets the lock of the interpreter counts to a handful.
    assert ticks > elapsed * 1000 * 0.1, (ticks, elapsed)


def test_jobs_must_be_positive(small: Scenario) -> None:
    with pytest.raises(ValueError, match="jobs of 0 is too small; allowed: 1 or more"):
        small.run(jobs=0)


def test_ctrl_c_raises_keyboard_interrupt_within_a_second(
    small: Scenario, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "long.toml"
    file.write_text(small.set({"workload.download": "500 MB", "repeat": 500}).toml)
    script = textwrap.dedent(
        f"""
        import time
        import bentpipe
        scenario = bentpipe.Scenario({str(file)!r})
        print("started", flush=True)
        try:
            scenario.run(progress=False)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == "started\n"
        time.sleep(1)
        sent = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        output, _ = child.communicate(timeout=20)
    finally:
        child.kill()
    assert output.startswith("interrupted ") and child.returncode == 0
    assert float(output.split()[1]) - sent < 1


def test_ctrl_c_keeps_the_runs_that_have_ended(small: Scenario, tmp_path: pathlib.Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done >= 5:
            raise KeyboardInterrupt

    many = small.set({"workload.download": "2 MB", "repeat": 200})
    with pytest.raises(KeyboardInterrupt):
        many.run(out=tmp_path / "run", jobs=1, progress=interrupt)
    kept = Results.load(tmp_path / "run")
    assert 5 <= len(kept) < 400 and not kept.complete
    assert f"{len(kept)} of 400 runs" in repr(kept)


def test_a_directory_with_other_content_is_not_replaced(
    small: Scenario, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(OSError, match="not a run; allowed"):
        small.run(out=tmp_path, progress=False)
    assert (tmp_path / "thesis.tex").read_text() == "x"
