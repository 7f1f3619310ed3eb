"""Tests of the tables of simulated against measured paths."""

import pathlib
import tomllib
import unittest
from unittest import mock

from tools.book import measured
from tools.book.tables import WrongMarker

SCENARIOS = pathlib.Path(__file__).resolve().parents[3] / "scenarios"


def figure(ours, **fields):
    """A figure whose value is known."""
    row = {"n": 1, "metric": "rate", "median": ours}
    with (
        mock.patch("tools.book.rows.load", return_value=[row]),
        mock.patch("tools.book.rows.selected", return_value=[row]),
        mock.patch("tools.book.cells.Cell.value", return_value=ours),
        mock.patch("tools.book.cells.Cell.interval", return_value=None),
    ):
        return measured.Figure({"label": "rate", "ours": "some; rate", **fields}, "{}")


class Verdicts(unittest.TestCase):
    """What passes, and what is accepted."""

    def test_a_published_figure_passes_within_its_distance(self):
        near, far = figure(7.67, published=6.75), figure(8.6, published=6.75)
        self.assertTrue(measured.passes(near, 0.25))
        self.assertFalse(measured.passes(far, 0.25))
        self.assertEqual(measured.accepted(near, 0.25), "within 25 %")

    def test_a_bound_passes_without_distance(self):
        self.assertTrue(measured.passes(figure(120.0, low=120), 0.25))
        self.assertFalse(measured.passes(figure(119.0, low=120), 0.25))
        self.assertFalse(measured.passes(figure(0.9, low=0.55, high=0.75), 0.25))
        between = figure(0.6, low=0.55, high=0.75)
        self.assertEqual(measured.accepted(between, 0.0), "0.550 to 0.750")

    def test_numbers_have_three_digits(self):
        found = [measured.number(value) for value in (0.3173, 6.752, 47.83, 301.4)]
        self.assertEqual(found, ["0.317", "6.75", "47.8", "301"])

    def test_unknown_keys_and_tables_are_refused(self):
        with self.assertRaises(WrongMarker):
            list(measured.lines("rows", [{"id": "M1", "date": "2024"}]))
        with self.assertRaises(WrongMarker):
            measured.table("columns")

    def test_a_wrong_figure_is_said_to_be_of_this_file(self):
        row = {"id": "M1", "figures": [{"label": "rate", "unit": "Mbps", "ours": "some; rate"}]}
        with self.assertRaisesRegex(WrongMarker, "^atlas/measured.toml: figure"):
            list(measured.lines("figures", [row]))


def expected(text):
    """Bounds in percent of a scenario's expectations, by published value."""
    expectations = tomllib.loads(text).get("expect", [])
    return {
        one["published"]: float(one["within"].rstrip(" %"))
        for one in expectations
        if "published" in one and str(one.get("within", "")).endswith("%")
    }


class Bounds(unittest.TestCase):
    """What the page accepts is what the scenario expects, since both were said before the run."""

    def test_rows_and_scenarios_have_the_same_bounds(self):
        compared = 0
        for row in tomllib.loads(measured.ROWS.read_text())["row"]:
            for one in row["figures"]:
                name = one["ours"].partition(";")[0]
                found = list(SCENARIOS.glob(f"*/{name}.toml"))
                bounds = expected(found[0].read_text()) if found else {}
                if one.get("published") in bounds:
                    within = 100 * one.get("within", row.get("within", 0))
                    known = f"{row['id']}: {one['label']}"
                    self.assertAlmostEqual(within, bounds[one["published"]], msg=known)
                    compared += 1
        self.assertGreater(compared, 8)


if __name__ == "__main__":
    unittest.main()
