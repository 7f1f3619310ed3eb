"""Simulates QUIC and TCP over satellite paths.

::

    import bentpipe

    scenario = bentpipe.Scenario(
        name="geo",
        path={"profile": "geo-50-10"},
        workload={"download": "10 MB"},
        variants=[{"name": "cubic"}, {"name": "bbr", "congestion": "bbr3"}],
    )
    results = scenario.run()
    print(results.flows.to_pandas()[["variant", "completion_s"]])
"""

from . import orbit
from ._bentpipe import VERSION as __version__
from ._bentpipe import (
    Ack,
    ControllerConfig,
    EcnCe,
    Loss,
    PathChange,
    RateSample,
    Restart,
    SentPacket,
)
from ._controller import Controller, register_controller
from ._errors import BentpipeError, RunError, ScenarioError, VersionError
from ._figure import Figure, Interval, interval
from ._lists import cities, constellations, controllers, profiles
from ._recording import Recording, import_recording
from ._results import Results
from ._scenario import Scenario
from ._table import Column, Table

# Users see these names, not those of the modules that define them.
for _class in (
    BentpipeError,
    Column,
    Controller,
    Figure,
    Interval,
    Recording,
    Results,
    RunError,
    Scenario,
    ScenarioError,
    Table,
):
    _class.__module__ = __name__
del _class

__all__ = [
    "Ack",
    "BentpipeError",
    "Column",
    "Controller",
    "ControllerConfig",
    "EcnCe",
    "Figure",
    "Interval",
    "Loss",
    "PathChange",
    "RateSample",
    "Recording",
    "Restart",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SentPacket",
    "Table",
    "VersionError",
    "__version__",
    "cities",
    "constellations",
    "controllers",
    "import_recording",
    "interval",
    "orbit",
    "profiles",
    "register_controller",
]
