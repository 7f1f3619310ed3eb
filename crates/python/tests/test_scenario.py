"""Scenarios: from files, text and keywords; changes; errors."""

import pathlib
import pickle

import bentpipe
import pytest
from bentpipe import Scenario, ScenarioError

from .conftest import SMALL


def test_keywords_make_the_scenario_that_the_text_describes() -> None:
    made = Scenario(
        name="small",
        repeat=2,
        path={"profile": "geo-50-10", "forward": {"loss": 0.001}},
        workload={"download": "200 kB"},
        variants=[
            {"name": "cubic"},
            {"name": "newreno", "congestion": "newreno", "slow_start": "standard"},
        ],
        sweep={"workload.download": ["50 kB", "200 kB"]},
        expect=[{"metric": "completion_s", "below": 100}],
        output={"qlog": True},
    )
    read = Scenario.from_toml(SMALL)
    assert made.run(progress=False).to_json() == read.run(progress=False).to_json()
    assert (made.variants, made.points, len(made)) == (read.variants, read.points, 8)


def test_a_file_names_itself_and_its_line_in_errors(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(SMALL.replace("download =", "downlod ="))
    with pytest.raises(ScenarioError) as caught:
        Scenario(file)
    error = caught.value
    assert (error.file, error.line, error.column) == (str(file), 7, 1)
    assert error.source == 'downlod = "200 kB"'
    assert "unknown key `downlod`" in error.message and "`download`" in error.message
    assert error.help == "did you mean `download`?"
    assert str(error).splitlines()[1:] == [
        '7 | downlod = "200 kB"',
        "  | ^^^^^^^",
        "help: did you mean `download`?",
    ]


def test_errors_of_the_syntax_have_a_place() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml('name = "x"\n[path\n', name="broken.toml")
    assert caught.value.line == 2 and "broken.toml:2" in str(caught.value)


def test_an_error_of_set_shows_what_was_set(small: Scenario) -> None:
    with pytest.raises(ScenarioError) as caught:
        small.set("path.forward.rate", "50 ms")
    assert caught.value.source == 'path.forward.rate="50 ms"'
    assert "50 ms" in str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, bentpipe.BentpipeError)


def test_set_and_sweep_return_new_scenarios(small: Scenario) -> None:
    other = small.set(repeat=5).set("workload.download", "1 MB").sweep("path.rtt", ["100 ms", "1 s"])
    assert other.points == {"workload.download": ["1 MB"], "path.rtt": ["100 ms", "1 s"]}
    assert len(other) == 2 * 2 * 5 and len(small) == 8
    assert '"workload.download" = ["1 MB"]' in other.toml
    two = small.set({"variant.newreno.congestion": "cubic", "repeat": 1})
    assert len(two) == 4 and two != small
    assert Scenario.from_toml(two.toml).points == two.points


def test_keys_can_be_swept_together(small: Scenario) -> None:
    both = small.sweep(("path.rtt", "path.forward.rate"), [["100 ms", "5 Mbps"], ["1 s", "9 Mbps"]])
    assert both.points["path.rtt, path.forward.rate"] == ["100 ms, 5 Mbps", "1 s, 9 Mbps"]


def test_values_of_other_types_are_refused(small: Scenario) -> None:
    with pytest.raises(TypeError, match="`path.rtt` is of type object; allowed: str"):
        small.set("path.rtt", object())
    with pytest.raises(TypeError, match="not both"):
        Scenario("x.toml", name="y")
    with pytest.raises(TypeError, match="needs a file or keywords"):
        Scenario()
    with pytest.raises(FileNotFoundError):
        Scenario("missing.toml")


@pytest.mark.parametrize("text", ['quote " and \\', "tab\tand\nline", "\x7f\x00\x1b", "é – 漢字"])
def test_any_text_survives_as_a_title(text: str) -> None:
    scenario = Scenario(
        name="x", title=text, path={"profile": "geo-50-10"}, workload={"download": "1 kB"}
    )
    assert scenario.title == text
    assert scenario.set(title=text + "!").title == text + "!"


def test_a_scenario_can_be_pickled(small: Scenario) -> None:
    changed = small.set(repeat=3)
    assert pickle.loads(pickle.dumps(changed)) == changed
    assert hash(pickle.loads(pickle.dumps(changed))) == hash(changed)


def test_an_error_can_be_pickled() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml("name = 1")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and copy.line == caught.value.line


def test_check_returns_notes() -> None:
    scenario = Scenario(name="x", path={"profile": "geo-50-10"}, workload={"download": "1 kB"})
    assert any("nothing in this scenario is random" in note for note in scenario.check())
    assert repr(scenario).startswith("<bentpipe.Scenario x: variants ")


def test_every_example_can_be_read(root: pathlib.Path) -> None:
    for file in sorted((root / "scenarios" / "examples").glob("*.toml")):
        try:
            scenario = Scenario(file)
        except ValueError as error:
            assert "--clock virtual" in str(error), file
        else:
            assert scenario.variants, file
