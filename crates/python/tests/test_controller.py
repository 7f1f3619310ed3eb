"""Controllers written in Python."""

import copy
import importlib.util
import pathlib
import subprocess
import sys
import textwrap
import threading
import types

import bentpipe
import pytest
from bentpipe import Controller, ControllerConfig, RunError, Scenario, register_controller


def example(root: pathlib.Path, name: str) -> types.ModuleType:
    """Import ``examples/python-controllers/NAME.py``."""
    spec = importlib.util.spec_from_file_location(
        name, root / "examples" / "python-controllers" / f"{name}.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def newreno(root: pathlib.Path) -> type[Controller]:
    """NewReno in Python, registered as ``python-newreno``."""
    controller: type[Controller] = example(root, "newreno").NewReno
    return controller


def download(controller: str, size: str = "300 kB", **keys: object) -> Scenario:
    """A download over a geostationary path with the controller."""
    defaults = {"congestion": controller, "slow_start": "standard"}
    made: dict[str, object] = {
        "name": "one",
        "path": {"profile": "geo-50-10"},
        "workload": {"download": size},
        "defaults": defaults,
    }
    return Scenario(**(made | keys))


SCENARIOS = {
    "lossless": """
name = "lossless"
path.profile = "geo-50-10"
workload.download = "20 MB"
defaults = { congestion = "NAME", slow_start = "standard" }
[[variant]]
name = "quic"
[[variant]]
name = "tcp"
transport = "tcp"
""",
    "loss": """
name = "loss"
repeat = 4
path = { profile = "geo-50-10", forward = { loss = 0.003 }, return = { loss = 0.01 } }
workload.download = "3 MB"
defaults = { congestion = "NAME", slow_start = "standard" }
[[variant]]
name = "quic"
[[variant]]
name = "tcp"
transport = "tcp"
""",
    "competition": """
name = "competition"
repeat = 2
[path.forward]
rate = "20 Mbps"
delay = "100 ms"
queue = { limit = "1 BDP", aqm = "codel", ecn = true }
[path.return]
rate = "5 Mbps"
delay = "100 ms"
[defaults]
congestion = "NAME"
slow_start = "standard"
[[flow]]
name = "quic"
bulk.duration = "10 s"
[[flow]]
name = "tcp"
transport = "tcp"
tcp.ecn = true
start_time = "1 s"
bulk.duration = "10 s"
""",
    "layers": """
name = "layers"
repeat = 2
path = { profile = "geo-50-10", forward = { loss = 0.001 } }
workload.download = "5 MB"
defaults.congestion = "NAME"
[[variant]]
name = "fast-start"
[[variant]]
name = "hystart++"
slow_start = "hystart++"
[[variant]]
name = "tcp"
transport = "tcp"
""",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_newreno_in_python_gives_the_numbers_of_the_built_in_one(
    name: str, newreno: type[Controller]
) -> None:
    own, built_in = (
        Scenario.from_toml(SCENARIOS[name].replace("NAME", controller)).run(progress=False)
        for controller in ("python-newreno", "newreno")
    )
    assert own.to_json().replace('"python-newreno"', '"newreno"') == built_in.to_json()
    # The scenario exercises the controller: it reduces its window, except on the lossless path.
    assert name == "lossless" or sum(own.flows["packets_declared_lost"]) > 0
    ours, theirs = (result.series(variant=result.variants[0], run=0) for result in (own, built_in))
    assert list(ours.rows()) == list(theirs.rows())


def test_results_do_not_depend_on_the_number_of_jobs(newreno: type[Controller]) -> None:
    scenario = Scenario.from_toml(SCENARIOS["loss"].replace("NAME", "python-newreno"))
    one, three = (scenario.run(jobs=jobs, progress=False) for jobs in (1, 3))
    assert one.to_json() == three.to_json()


def test_attributes_set_window_pacing_and_phase() -> None:
    @register_controller("fixed")
    class Fixed(Controller):
        def __init__(self, config: ControllerConfig) -> None:
            super().__init__(config)
            self.cwnd = 200_000.9
            self.pacing_rate = 1e6
            self.phase = "steady"

    results = download("fixed", "500 kB").run(progress=False)
    # 500 kB at 1 Mbit/s take 4 s, and the connection starts with two round trips.
    (completion_s,) = results.flows["completion_s"]
    assert 4.5 < completion_s < 7.0
    series = list(results.series(variant=results.variants[0], run=0).rows())
    assert {row["value"] for row in series if row["series"] == "cwnd"} == {200_000}
    marks = list(results.marks(variant=results.variants[0], run=0).rows())
    assert [row["label"] for row in marks if row["kind"] == "phase"] == ["steady"]


def test_events_carry_what_the_documentation_says() -> None:
    seen: dict[str, object] = {}

    @register_controller("watcher")
    class Watcher(Controller):
        def __init__(self, config: ControllerConfig) -> None:
            super().__init__(config)
            seen["config"] = config

        def on_packet_sent(self, packet: bentpipe.SentPacket) -> None:
            seen["packet"] = packet

        def on_packets_acked(self, ack: bentpipe.Ack) -> None:
            self.cwnd += ack.bytes
            seen["ack"] = ack

        def on_round(self, ack: bentpipe.Ack) -> None:
            assert ack is seen["ack"], "the round is reported after the packets"
            seen["round"] = ack

        def on_packets_lost(self, loss: bentpipe.Loss) -> None:
            seen["loss"] = loss

    download("watcher", path={"profile": "geo-50-10", "forward": {"loss": 0.02}}).run(
        progress=False
    )
    ack, loss, packet = seen["ack"], seen["loss"], seen["packet"]
    assert isinstance(ack, bentpipe.Ack) and isinstance(loss, bentpipe.Loss)
    assert isinstance(packet, bentpipe.SentPacket)
    assert ack.newest == ack.packets[-1].number < ack.next_number <= packet.number + 1
    assert sum(acked.bytes for acked in ack.packets) == ack.bytes
    assert 600_000_000 <= ack.min_rtt_ns <= ack.rtt_ns and type(ack.rtt_ns) is int
    assert loss.newest == loss.packets[-1].number and loss.lost >= loss.bytes > 0
    assert ack.sample.delivered > 0
    assert repr(ack).startswith("Ack(now_ns=") and copy.deepcopy(ack) is ack
    round_ = seen["round"]
    assert isinstance(round_, bentpipe.Ack) and round_.round_start
    config = seen["config"]
    assert isinstance(config, ControllerConfig)
    assert config.initial_cwnd >= 10 * config.mtu and config.rtt_ns is None
    with pytest.raises(AttributeError):
        ack.bytes = 1  # type: ignore[misc]


def test_parameters_are_set_by_scenarios() -> None:
    @register_controller("constant")
    class Constant(Controller):
        parameters = {"packets": (40.0, 2.0, 1000.0)}  # noqa: RUF012

        def __init__(self, config: ControllerConfig) -> None:
            super().__init__(config)
            self.cwnd = config.parameters["packets"] * config.mtu

    scenario = download("constant").sweep("defaults.parameters.constant.packets", [5, 40])
    slow, fast = scenario.run(progress=False).flows["completion_s"]
    assert slow > 2 * fast
    with pytest.raises(bentpipe.ScenarioError, match=r"out of range.*2 to 1000"):
        scenario.set("defaults.parameters.constant.packets", 1)
    with pytest.raises(ValueError, match="default 1; allowed: 2 to 3"):
        register_controller(
            "constant", type("Bad", (Controller,), {"parameters": {"x": (1, 2, 3)}})
        )


def test_registering_again_replaces_the_class() -> None:
    def constant(packets: int) -> type[Controller]:
        class Constant(Controller):
            def restart(self, to: bentpipe.Restart) -> None:
                pass

            def __init__(self, config: ControllerConfig) -> None:
                super().__init__(config)
                self.cwnd = packets * config.mtu

        return Constant

    register_controller("again", constant(5))
    scenario = download("again")
    slow = scenario.run(progress=False).flows["completion_s"][0]
    register_controller("again", constant(40))
    assert scenario.run(progress=False).flows["completion_s"][0] < slow / 2


@pytest.mark.parametrize("name", ["cubic", "Two Words", "", "auto", "long-path"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid name|is the name of another"):
        register_controller(name, Controller)


def test_only_controllers_can_be_registered() -> None:
    with pytest.raises(TypeError, match=r"allowed: a subclass of bentpipe\.Controller"):
        register_controller("text", str)  # type: ignore[type-var]


def test_an_exception_ends_the_run_and_is_the_cause_of_its_error() -> None:
    @register_controller("broken")
    class Broken(Controller):
        def on_packets_acked(self, ack: bentpipe.Ack) -> None:
            self.cwnd = ack.bytes // 0

    with pytest.raises(RunError, match="controller `broken` raised ZeroDivisionError") as caught:
        download("broken").run(progress=False)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert cause.__traceback__ is not None
    assert cause.__traceback__.tb_frame.f_code.co_name == "on_packets_acked"


def test_a_failed_variant_leaves_the_results_of_the_others() -> None:
    @register_controller("refuses")
    class Refuses(Controller):
        def __init__(self, config: ControllerConfig) -> None:
            raise RuntimeError("no")

    variants = [{"name": "good", "congestion": "cubic"}, {"name": "bad"}]
    with pytest.raises(
        RunError, match="variant `bad` failed: controller `refuses` raised"
    ) as caught:
        download("refuses", variants=variants).run(jobs=1, progress=False)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.results is None or set(caught.value.results.flows["variant"]) == {"good"}


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("cwnd", 0, "`cwnd` of 0 is out of range; allowed: a number from 1"),
        ("cwnd", -3, "`cwnd` of -3 is out of range"),
        ("cwnd", None, "`cwnd` is None; allowed: a number of bytes"),
        ("cwnd", float("nan"), "`cwnd` of nan is out of range"),
        ("cwnd", 1 << 64, "`cwnd` of 18446744073709551616 is out of range"),
        ("cwnd", "10", "`cwnd` of 10 is out of range"),
        ("cwnd", True, "`cwnd` of True is out of range"),
        ("pacing_rate", 0.0, r"`pacing_rate` of 0\.0 is out of range"),
        ("phase", 3, "`phase` is not text; allowed: str or None"),
    ],
)
def test_attributes_that_make_no_sense_end_the_run(
    attribute: str, value: object, message: str
) -> None:
    class Wrong(Controller):
        def on_packets_acked(self, ack: bentpipe.Ack) -> None:
            setattr(self, attribute, value)

    register_controller("wrong", Wrong)
    with pytest.raises(RunError, match=message):
        download("wrong").run(progress=False)


def test_an_uncaught_exception_shows_its_line(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import bentpipe

            @bentpipe.register_controller("broken")
            class Broken(bentpipe.Controller):
                def on_round(self, ack):
                    self.cwnd = self.cwmd + 1

            bentpipe.Scenario(
                name="x",
                path={"profile": "geo-50-10"},
                workload={"download": "1 MB"},
                defaults={"congestion": "broken"},
            ).run()
            """
        )
    )
    child = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert child.returncode == 1
    assert "self.cwnd = self.cwmd + 1" in child.stderr
    assert "AttributeError: 'Broken' object has no attribute 'cwmd'" in child.stderr
    assert "bentpipe.RunError: run 0 of variant" in child.stderr
    assert "panicked" not in child.stderr


def test_runs_in_several_threads_of_python_do_not_block_each_other(
    newreno: type[Controller],
) -> None:
    scenario = Scenario.from_toml(SCENARIOS["loss"].replace("NAME", "python-newreno"))
    expected = scenario.run(progress=False).to_json()
    found: list[str] = []
    run = lambda: found.append(scenario.run(jobs=2, progress=False).to_json())  # noqa: E731
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [expected] * 3
