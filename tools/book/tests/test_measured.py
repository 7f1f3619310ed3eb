"""Tests of the tables of simulated against measured paths."""

import unittest
from unittest import mock

from tools.book import measured
from tools.book.tables import WrongMarker


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


if __name__ == "__main__":
    unittest.main()
