"""Fixtures of the tests, which run against the installed package."""

import os
import pathlib
from collections.abc import Iterator

import bentpipe
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

SMALL = """\
name = "small"
repeat = 2
[path]
profile = "geo-50-10"
forward = { loss = 0.001 }
[workload]
download = "200 kB"
[[variant]]
name = "cubic"
[[variant]]
name = "newreno"
congestion = "newreno"
slow_start = "standard"
[sweep]
"workload.download" = ["50 kB", "200 kB"]
[[expect]]
metric = "completion_s"
below = 100
[output]
qlog = true
"""


@pytest.fixture(scope="session", autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's result store out of the tests, and those of other processes."""
    os.environ["BENTPIPE_STORE"] = str(tmp_path_factory.mktemp("store"))
    yield
    del os.environ["BENTPIPE_STORE"]


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def small() -> bentpipe.Scenario:
    """A scenario of two variants, two sizes and two runs each."""
    return bentpipe.Scenario.from_toml(SMALL)


@pytest.fixture(scope="session")
def results(small: bentpipe.Scenario) -> bentpipe.Results:
    """Its results."""
    return small.run(progress=False)
