"""Tests of verdicts on published rows, and of the numbers beside their pictures."""

import types
import unittest

from tools.book import picture, rows


class One(rows.Figure):
    """A figure with values of its own, in place of committed results."""

    def __init__(self, label, ours, published=None, low=None, high=None, interval=None,
                 chosen=False):
        self.label, self.ours, self.published = label, ours, published
        self.low, self.high, self.interval, self.chosen = low, high, interval, chosen


class Verdicts(unittest.TestCase):
    def test_the_worst_figure_decides_in_either_direction(self):
        for ours, said in ((10.0, "within 10 %"), (11.0, "within 10 %"), (9.0, "within 1.5"),
                           (15.0, "within 1.5"), (15.1, "not reproduced"), (0.0, "not reproduced")):
            figures = [One("a", 10.0, published=10.0), One("b", ours, published=10.0)]
            self.assertEqual(rows.verdict(figures, None)[0], said, ours)

    def test_a_chosen_figure_does_not_count(self):
        figures = [One("a", 10.0, published=10.0), One("b", 99.0, published=10.0, chosen=True)]
        self.assertEqual(rows.verdict(figures, None)[0], "within 10 %")

    def test_a_range_is_as_good_as_its_nearest_end(self):
        self.assertEqual(One("a", 12.0, low=10.0, high=15.0).ratio(), 1.0)
        self.assertEqual(One("a", 5.0, low=10.0, high=15.0).ratio(), 0.5)
        self.assertEqual(One("a", 30.0, low=10.0, high=15.0).ratio(), 2.0)

    def test_bounds_on_one_side_are_claims(self):
        self.assertEqual(rows.verdict([One("a", 9.0, low=8.0)], None)[0], "as claimed")
        self.assertEqual(rows.verdict([One("a", 7.0, low=8.0)], None)[0], "not as claimed")

    def test_an_order_counts_only_if_the_intervals_are_apart(self):
        apart = [One("a", 20.0, 20.0, interval=(18, 22)), One("b", 10.0, 10.0, interval=(9, 11))]
        near = [One("a", 20.0, 20.0, interval=(10, 22)), apart[1]]
        self.assertEqual(rows.order(apart, ["a", "b"]), "yes")
        self.assertEqual(rows.order(near, ["a", "b"]), "open")
        self.assertEqual(rows.order(apart, ["b", "a"]), "no")
        self.assertEqual(rows.verdict(near, ["a", "b"]), ("within 10 %", ", the order open"))
        self.assertEqual(rows.verdict(apart, ["b", "a"]), ("within 10 %", ", but not the order"))

    def test_far_off_figures_in_the_order_that_is_claimed(self):
        far = [One("a", 60.0, 20.0, interval=(50, 70)), One("b", 10.0, 10.0, interval=(9, 11))]
        self.assertEqual(rows.verdict(far, ["a", "b"]), ("direction only", ""))


class Numbers(unittest.TestCase):
    def test_three_digits(self):
        found = {9.996: "10.0", 99.96: "100", 0.01234: "0.0123", 0: "0", 1234.5: "1234",
                 1.0: "1.00", None: ""}
        for value, said in found.items():
            self.assertEqual(picture.number(value), said, value)

    def test_what_the_source_says(self):
        claim = lambda **known: picture.claimed(
            types.SimpleNamespace(**{"published": None, "low": None, "high": None, **known})
        )
        self.assertEqual(claim(published=2.50), "2.5")
        self.assertEqual(claim(low=1, high=2), "1–2")
        self.assertEqual((claim(low=1), claim(high=2), claim()), ("≥ 1", "≤ 2", "–"))


class Axes(unittest.TestCase):
    def test_values_far_apart_have_a_logarithmic_axis_unless_a_bound_begins_at_zero(self):
        self.assertTrue(picture.Axis([1, 7], 0, 100, False).log)
        self.assertFalse(picture.Axis([1, 5], 0, 100, False).log)
        self.assertFalse(picture.Axis([1, 7], 0, 100, True).log)
        self.assertFalse(picture.Axis([0, 7], 0, 100, False).log)

    def test_positions_grow_with_values_and_stay_inside(self):
        for axis in (picture.Axis([1, 5], 10, 110, False), picture.Axis([1, 50], 10, 110, False)):
            places = [axis.at(value) for value in (-9, 1, 2, 5, 1e9)]
            self.assertEqual(places, sorted(places))
            self.assertEqual((places[0], places[-1]), (10, 110))
            self.assertLess(places[1], places[2])

    def test_ticks_are_round_and_inside(self):
        self.assertEqual(picture.steps(0, 10), [0, 2.5, 5, 7.5, 10])
        self.assertEqual(picture.decades(0.9, 12), [1, 2, 5, 10])
        self.assertEqual(picture.decades(1, 1000), [1, 10, 100, 1000])
