"""Imports of measurements."""

import pathlib

import pytest

import bentpipe

SAMPLES = pathlib.Path(__file__).parents[3] / "examples/recordings"


def test_a_recording_is_a_scenario_that_runs(tmp_path: pathlib.Path) -> None:
    path = bentpipe.import_recording(
        SAMPLES / "ping.txt", SAMPLES / "iperf3.json", out=tmp_path / "path", rate="15 Mbps"
    )
    assert (path.directory / "ORIGIN.md").exists()
    assert any("RTT p50" in line for line in path.measured)
    assert path.unknown or path.inferred
    results = path.scenario.set("workload.download", "100 kB").run(progress=False)
    # Each run begins at another place of the recording.
    seconds = results.flows["completion_s"]
    assert len(set(seconds)) > 1
    assert all(0.05 < one < 60 for one in seconds)


def test_one_file_of_a_direction_needs_no_list(tmp_path: pathlib.Path) -> None:
    file = SAMPLES / "ping.txt"
    for number, path in enumerate(
        [
            bentpipe.import_recording(up=str(file), out=tmp_path / "a", rate="15 Mbps"),
            bentpipe.import_recording(up=file, out=tmp_path / "b", rate="15 Mbps"),
            bentpipe.import_recording(up=[file], out=tmp_path / "c", rate="15 Mbps"),
        ]
    ):
        assert any("RTT p50" in line for line in path.measured), number


def test_a_directory_is_not_written_over(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OSError, match="not empty"):
        bentpipe.import_recording(SAMPLES / "ping.txt", out=tmp_path, rate="15 Mbps")


def test_mistakes_name_the_argument_or_the_line(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "path"
    with pytest.raises(TypeError, match="needs a file"):
        bentpipe.import_recording(out=out)
    with pytest.raises(ValueError, match="format: `pcap`; allowed: "):
        bentpipe.import_recording(SAMPLES / "ping.txt", out=out, format="pcap")
    with pytest.raises(ValueError, match="rate: "):
        bentpipe.import_recording(SAMPLES / "ping.txt", out=out, rate="fast")
    with pytest.raises(ValueError, match="phase: allowed: "):
        bentpipe.import_recording(SAMPLES / "ping.txt", out=out, phase="61 s")
    with pytest.raises(FileNotFoundError):
        bentpipe.import_recording(tmp_path / "absent", out=out)
    broken = tmp_path / "broken.json"
    broken.write_text("{\n  \"start\": ")
    with pytest.raises(ValueError, match="broken.json"):
        bentpipe.import_recording(broken, out=out)
    assert not out.exists()
