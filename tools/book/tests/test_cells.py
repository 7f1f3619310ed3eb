"""Tests of cells: what a figure of the book takes from committed results."""

import unittest

from tools.book.cells import Cell
from tools.book.tables import WrongMarker


def row(metric="completion_s", variant="a", flow="main", **values):
    """A row of committed results."""
    point = values.pop("point", {})
    place = {"scenario": "one", "variant": variant, "point": point, "flow": flow, "visit": 1}
    figures = {"median": 10.0, "p95": 12.0, "n": 6, "ci95_low": 9.0, "ci95_high": 11.0}
    return {**place, "metric": metric, "several": False, "published": None, **figures, **values}


class Cells(unittest.TestCase):
    def shown(self, text, rows, every=None):
        return Cell(text).show(rows, every or rows)

    def test_a_cell_has_statistic_digits_factor_and_offset(self):
        self.assertEqual(self.shown("completion_s", [row()]), "10.00")
        self.assertEqual(self.shown("completion_s p95 0", [row()]), "12")
        self.assertEqual(self.shown("completion_s 1 x1000 -2", [row()]), "8000.0")

    def test_several_rows_need_an_aggregate(self):
        rows = [row(flow="f"), row(flow="g", median=4.0), row(flow="h", median=1.0)]
        with self.assertRaisesRegex(WrongMarker, "3 rows fit"):
            self.shown("completion_s", rows)
        for name, value in (("total", 15), ("largest", 10), ("smallest", 1), ("middle", 4)):
            self.assertEqual(self.shown(f"completion_s {name} 0", rows), str(value))

    def test_an_unknown_word_is_refused_with_those_that_are_known(self):
        with self.assertRaisesRegex(WrongMarker, "`medain`.*median"):
            Cell("completion_s medain")

    def test_a_missing_row_has_no_value_but_losses_that_never_happened_are_zero(self):
        self.assertEqual(self.shown("first_byte_s", [row()]), "–")
        self.assertEqual(self.shown("packets_lost_queue 0", [row()]), "0")
        self.assertEqual(self.shown("packets_lost_queue 0", []), "–")

    def test_a_published_figure_and_its_ratio(self):
        known = row(published={"value": 8.0, "ratio": 1.25})
        self.assertEqual(self.shown("completion_s published 1", [known]), "8.0")
        self.assertEqual(self.shown("completion_s ratio", [known]), "1.25")
        self.assertEqual(self.shown("completion_s ratio", [row()]), "–")


class Operations(unittest.TestCase):
    """Comparisons with the row that differs in one key."""

    def setUp(self):
        self.rows = [row(), row(variant="b", median=4.0, ci95_low=3.0, ci95_high=5.0)]

    def compared(self, operation, first=0):
        cell = Cell(f"completion_s 2 {operation} variant=b")
        return cell.show([self.rows[first]], self.rows)

    def test_each_operation(self):
        found = {"over": "2.50", "under": "0.40", "saves": "-150.00", "minus": "6.00",
                 "below": "-6.00", "exceeds": "+150.00", "of": "4.00"}
        for operation, value in found.items():
            self.assertEqual(self.compared(operation), value, operation)

    def test_a_row_is_not_compared_with_itself(self):
        self.assertEqual(self.compared("over", first=1), "–")

    def test_the_other_row_has_the_same_point(self):
        rows = [row(point={"rtt": 1}), row(variant="b", point={"rtt": 1}, median=5.0),
                row(variant="b", point={"rtt": 2}, median=4.0)]
        self.assertEqual(Cell("completion_s over variant=b").show(rows[:1], rows), "2.00")

    def test_the_interval_of_a_comparison_is_as_wide_as_both_allow(self):
        cell = Cell("completion_s over variant=b")
        self.assertEqual(cell.show_interval(self.rows[:1], self.rows), ["1.80", "3.67"])
        self.rows[1]["ci95_low"] = None
        self.assertEqual(cell.show_interval(self.rows[:1], self.rows), ["–", "–"])

    def test_the_interval_of_a_median_is_its_own(self):
        shown = lambda text: Cell(text).show_interval(self.rows[:1], self.rows)
        self.assertEqual(shown("completion_s 1"), ["9.0", "11.0"])
        self.assertEqual(shown("completion_s 0 x1000"), ["9000", "11000"])
