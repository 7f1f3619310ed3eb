"""Results: tables, series, packets, files."""

import json
import math
import pathlib
import pickle

import bentpipe
import pytest
from bentpipe import Results, Scenario

CRATES = pathlib.Path(__file__).resolve().parents[2]


def test_tables_hold_what_the_document_holds(results: Results) -> None:
    document = json.loads(results.to_json())
    flows = results.flows
    assert len(flows) == 8 == len(results.runs) == len(results)
    assert flows["completion_s"] == [run["flows"][0]["completion_s"] for run in document["runs"]]
    assert flows["point.workload.download.number"][0] == 50_000
    assert len(results.links) == sum(len(run["links"]) for run in document["runs"])
    assert results.summary["median"] == [row["median"] for row in document["summary"]]
    assert results.expectations["passed"] == [True] * 4 and results.passed
    assert set(Results.tables()) >= {"runs", "flows", "links", "summary", "expectations"}
    for name in Results.tables():
        assert results.table(name).columns, name


def test_columns_have_units_and_meanings(results: Results) -> None:
    columns = {column.name: column for column in results.flows.columns}
    assert columns["completion_s"].unit == "s" and columns["completion_s"].kind == "float"
    assert "last byte" in columns["completion_s"].about
    assert columns["variant"].kind == "text" and columns["completed"].kind == "bool"


def test_unknown_names_list_the_allowed_ones(results: Results) -> None:
    with pytest.raises(KeyError, match="no column is named `nothing`; allowed: variant"):
        results.flows["nothing"]
    with pytest.raises(LookupError, match="no table is named `x`; allowed: runs, flows"):
        results.table("x")


def test_intervals_are_those_of_all_figures() -> None:
    cases = json.loads((CRATES / "results/tests/intervals.json").read_text(encoding="utf-8"))
    for case in cases:
        found = bentpipe.interval(case["values"])
        assert found == (case["interval"] and tuple(case["interval"])), case
    assert len(cases) > 8


def test_figures_are_drawn_and_written(results: Results, tmp_path: pathlib.Path) -> None:
    assert set(results.figures()) == {"budget", "sweep", "series"}
    point = {"workload.download": "50 kB"}
    figure = results.figure("budget", point=point, width=178, serif=True, grey=True)
    assert figure.svg.startswith("<svg") and 'width="178.00mm"' in figure.svg
    assert figure.caption.startswith("Where the time went, download 50 kB. Scenario ")
    assert figure._repr_svg_() == figure.svg
    lines = figure.csv().splitlines()
    assert len(lines) == 3 and lines[1].startswith("50 kB,cubic,2,2,")
    for name, text in [
        ("f.svg", figure.svg),
        ("f.csv", figure.csv()),
        ("f.md", figure.markdown()),
        ("f.tex", figure.latex()),
    ]:
        assert figure.save(tmp_path / name).read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="cannot be written as `.pdf`; allowed: .svg"):
        figure.save(tmp_path / "f.pdf")
    series = results.figure("series", point=point, series="received", variants="cubic")
    assert series.svg.count("<polyline") == 1
    with pytest.raises(LookupError, match="no figure is named `pie`; allowed: budget, sweep"):
        results.figure("pie")
    with pytest.raises(LookupError, match="variant: no variant is named `x`; allowed: cubic"):
        results.figure("sweep", variants=["x"])


def test_pandas_gets_numbers_and_nulls(results: Results) -> None:
    frame = results.flows.to_pandas()
    assert frame["completion_s"].dtype == "float64" and frame["bytes"].dtype == "int64"
    assert frame["completed"].dtype == bool and frame["error"].isna().all()
    assert frame["completion_s"].tolist() == results.flows["completion_s"]
    assert frame.attrs["units"]["completion_s"] == "s"
    medians = frame.groupby(["variant", "point.workload.download"])["completion_s"].median()
    assert len(medians) == 4
    series = results.series("cubic", point={"workload.download": "50 kB"}).to_pandas()
    assert series["visit"].dtype == "Int64" and series["visit"].isna().any()


def test_polars_and_pyarrow_take_the_arrow_stream(results: Results) -> None:
    polars = pytest.importorskip("polars")
    frame = results.flows.to_polars()
    assert frame["completion_s"].to_list() == results.flows["completion_s"]
    assert frame["completed"].dtype == polars.Boolean and frame.columns[0] == "variant"
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(results.flows)
    assert table.column("completion_s").to_pylist() == results.flows["completion_s"]
    assert table.schema.field("completion_s").metadata[b"unit"] == b"s"
    assert table.schema.metadata[b"bentpipe.scenario"] == b"small"
    table.validate(full=True)
    # Each call makes a stream of its own.
    assert pyarrow.table(results.flows).equals(table)


def test_a_table_without_rows_keeps_its_columns(results: Results) -> None:
    empty = results.table("warnings")
    assert len(empty) == 0 and len(empty.to_pandas()) == 0
    assert list(empty.to_pandas().columns) == [column.name for column in empty.columns]
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(empty).shape == (0, len(empty.columns))


def test_tables_have_a_short_text_and_html(results: Results) -> None:
    assert repr(results.flows).startswith("<bentpipe.Table flows: 8 rows; variant, ")
    assert results.flows._repr_html_().count("<tr>") == 9
    assert next(results.flows.rows())["variant"] == "cubic"


def test_series_of_a_run(results: Results) -> None:
    at = {"workload.download": "200 kB"}
    series = results.series("newreno", 0, at).to_pandas()
    cwnd = series[series["flow"].notna() & (series["series"] == "cwnd")]
    assert len(cwnd) > 2 and (cwnd["unit"] == "bytes").all() and (cwnd["time_s"].diff()[1:] >= 0).all()
    assert {"queue", "throughput"} <= set(series[series["link"].notna()]["series"])
    marks = results.marks("newreno", 0, at)
    assert "complete" in marks["label"] and "phase" in marks["kind"]
    assert {"variant": "newreno", "run": 0, "point": at} in results.recorded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "variant is not given; allowed: cubic, newreno"),
        (("bbr",), "no variant is named `bbr`; allowed: cubic, newreno"),
        (("cubic",), "`workload.download` is not given; allowed: 50 kB, 200 kB"),
        (("cubic", 0, {"workload.download": "1 MB"}), "does not have the value `1 MB`"),
        (("cubic", 0, {"workload.download": "50 kB", "x": 1}), "`x` is not swept"),
        (("cubic", 1, {"workload.download": "50 kB"}), "run 1 of `cubic` has no time series"),
    ],
)
def test_a_wrong_selection_is_explained(
    results: Results, arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(LookupError, match=message):
        results.series(*arguments)  # type: ignore[arg-type]


def test_packets_of_a_run(results: Results) -> None:
    packets = results.packets("cubic", 0, {"workload.download": "200 kB"}).to_pandas()
    assert set(packets["log"]) == {"main-visit1-client", "main-visit1-server"}
    server = packets[packets["log"] == "main-visit1-server"]
    sent = server[server["event"] == "quic:packet_sent"]
    flow = next(
        row
        for row in results.flows.rows()
        if (row["variant"], row["point.workload.download"], row["run"]) == ("cubic", "200 kB", 0)
    )
    # The metric ends with the transfer, the qlog with the connection.
    assert 0 <= len(sent) - flow["packets_sent"] <= 5
    assert sent["packet_number"].notna().all() and (sent["bytes"] > 0).all()
    assert json.loads(sent["data"].iloc[0])["header"]["packet_type"] == sent["packet_type"].iloc[0]
    plain = Scenario.from_toml(results.toml).set("output.qlog", False).run(progress=False)
    with pytest.raises(LookupError, match="output.qlog = true"):
        plain.packets("cubic", 0, {"workload.download": "200 kB"})


def test_results_survive_a_directory(results: Results, tmp_path: pathlib.Path) -> None:
    assert results.directory is None
    path = results.save(tmp_path / "deep" / "run")
    assert path == tmp_path / "deep" / "run"
    again = Results.load(path)
    assert again.to_json() == results.to_json() and again.directory == path
    at = {"workload.download": "50 kB"}
    assert again.series("cubic", 0, at) == results.series("cubic", 0, at)
    assert again.packets("cubic", 0, at) == results.packets("cubic", 0, at)
    again.save(path)
    assert Results.load(path).report() == results.report()


def test_results_and_tables_can_be_pickled(results: Results) -> None:
    copy = pickle.loads(pickle.dumps(results))
    assert copy.to_json() == results.to_json() and copy.report() == results.report()
    table = pickle.loads(pickle.dumps(results.flows))
    assert table == results.flows and table.name == "flows"


def test_a_directory_that_is_no_run_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="allowed: a directory that `bentpipe run` wrote"):
        Results.load(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(OSError, match="another version"):
        Results.load(tmp_path)


def test_a_manifest_cannot_name_files_elsewhere(results: Results, tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret").write_text("x")
    path = results.save(tmp_path / "run")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"] += ["../secret", str(tmp_path / "secret")]
    (path / "manifest.json").write_text(json.dumps(manifest))
    copy = Results.load(path).save(tmp_path / "copy")
    assert not list(copy.parent.glob("**/secret"))[1:]


def test_the_report_is_shown_in_a_frame(results: Results) -> None:
    page = results._repr_html_()
    assert page.startswith("<iframe srcdoc=") and page.count("<iframe") == 1
    # Nothing of the page ends the attribute.
    assert page.count('"') == 10
    assert len(page) < 12_000_000 * 1.5


def test_a_failing_expectation_is_reported(small: Scenario) -> None:
    failing = small.set("expect", [{"metric": "completion_s", "below": 0.001}])
    assert not failing.run(repeat=1, progress=False).passed


def test_missing_libraries_are_named(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="needs polars, which is not installed: pip install"):
        results.flows.to_polars()


def test_goodput_is_bytes_over_time(results: Results) -> None:
    for row in results.flows.rows():
        goodput = row["bytes"] * 8 / row["completion_s"] / 1e6
        assert math.isclose(row["goodput_mbps"], goodput, rel_tol=1e-9)


def test_the_version_is_that_of_the_results(results: Results) -> None:
    assert results.version == bentpipe.__version__
