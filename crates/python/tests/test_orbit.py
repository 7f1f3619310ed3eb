"""Satellite networks, and the lists of built-in names."""

import json
import pathlib
import subprocess
import sys

import bentpipe
import pytest
from bentpipe import Scenario, orbit


def test_a_survey_gives_what_the_command_prints() -> None:
    ours = orbit.survey("kuiper-630", "Toronto", "Washington", duration="60 s", step="1 s")
    command = "orbit kuiper-630 --from Toronto --to Washington --duration 60s --step 1s --json"
    output = subprocess.run(
        [sys.executable, "-m", "bentpipe", *command.split()], check=True, capture_output=True
    )
    flow = json.loads(output.stdout)["flows"][0]
    assert ours.samples["rtt_ms"] == [sample["rtt_ms"] for sample in flow["samples"]]
    assert ours.samples["visible_to"] == [sample["visible"][1] for sample in flow["samples"]]
    assert ours.routes["nodes"] == [" – ".join(route["nodes"]) for route in flow["routes"]]
    assert ours.summary["rtt_median_ms"] == [flow["summary"]["rtt_median_ms"]]
    assert ours.satellites == 1156 and ours.duration_s == 60
    nodes = [node for route in flow["routes"] for node in route["nodes"]]
    assert ours.nodes["node"] == nodes


def test_a_scenario_can_be_surveyed(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    scenario = Scenario(root / "scenarios" / "examples" / "leo.toml")
    survey = orbit.survey(scenario, duration="10 s", disjoint=2)
    assert len(survey.disjoint_routes) >= 1 and len(survey.samples) > 1
    page = survey.save_html(tmp_path / "leo.html")
    assert "</html>" in page.read_text()
    # A link in its place is replaced, not followed.
    other = tmp_path / "other.html"
    page.rename(other)
    page.symlink_to(other)
    other.write_text("mine")
    survey.save_html(page)
    assert other.read_text() == "mine" and "</html>" in page.read_text()
    with pytest.raises(OSError, match="missing/leo.html"):
        survey.save_html(tmp_path / "missing" / "leo.html")


def test_wrong_arguments_are_explained(small: Scenario) -> None:
    with pytest.raises(ValueError, match="no constellation is named `kuiper-1`; allowed: "):
        orbit.survey("kuiper-1", "Toronto", "Washington")
    with pytest.raises(TypeError, match="belong together"):
        orbit.survey("kuiper-630", "Toronto")
    with pytest.raises(ValueError, match="Torronto"):
        orbit.survey("kuiper-630", "Torronto", "Washington")
    with pytest.raises(ValueError, match="duration"):
        orbit.survey("kuiper-630", "Toronto", "Washington", duration="soon")
    with pytest.raises(ValueError, match="has no orbit"):
        orbit.survey(small)


def test_built_in_names_are_listed() -> None:
    assert "geo-50-10" in {profile["name"] for profile in bentpipe.profiles()}
    kinds = {(entry["kind"], entry["name"]) for entry in bentpipe.controllers()}
    assert {("controller", "bbr3"), ("slow_start", "long-path"), ("resume", "careful")} <= kinds
    assert "kuiper-630" in {entry["name"] for entry in bentpipe.constellations()}
    assert [city["name"] for city in bentpipe.cities("TORONTO")] == ["Toronto"]
