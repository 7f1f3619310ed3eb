"""The result store, as scenarios run from Python use it."""

import pathlib

import bentpipe
import pytest


def test_the_second_run_takes_the_results_of_the_first(
    small: bentpipe.Scenario, tmp_path: pathlib.Path
) -> None:
    """Results and files are the same, with and without a store."""
    first = small.run(store=tmp_path / "store", progress=False, out=tmp_path / "first")
    size = (tmp_path / "store" / "results-1.sqlite").stat().st_size
    assert size > 10_000
    second = small.run(store=tmp_path / "store", progress=False)
    without = small.run(store=False, progress=False)
    assert first.to_json() == second.to_json() == without.to_json()


def test_a_directory_that_cannot_be_written_is_an_error(
    small: bentpipe.Scenario, tmp_path: pathlib.Path
) -> None:
    """A store that the caller names must work."""
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(OSError, match="result store"):
        small.run(store=tmp_path / "file" / "store", progress=False)


def test_a_default_store_that_cannot_be_opened_is_a_warning(
    small: bentpipe.Scenario, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs are computed anyway."""
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.delenv("BENTPIPE_STORE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="not kept for later"):
        assert small.run(progress=False).complete
