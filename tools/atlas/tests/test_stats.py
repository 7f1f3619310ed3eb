"""Tests of the statistics: the same figures as those of crates/results/src/stats.rs."""

import unittest

from tools.atlas import stats


class Quantiles(unittest.TestCase):
    def test_quantiles_are_interpolated(self):
        found = stats.statistics([4.0, 1.0, 3.0, 2.0])
        self.assertEqual((found["n"], found["median"], found["mean"]), (4, 2.5, 2.5))
        self.assertEqual((found["p5"], found["p95"]), (1.15, 3.85))

    def test_one_value_has_no_spread(self):
        found = stats.statistics([3.5])
        self.assertEqual((found["n"], found["median"], found["mean"]), (1, 3.5, 3.5))
        for name in ("p5", "p95", "ci95_low", "ci95_high"):
            self.assertIsNone(found[name])

    def test_figures_have_nine_digits(self):
        self.assertEqual(stats.rounded(1 / 3), 0.333333333)
        self.assertEqual(stats.rounded(123456789.87), 123456790.0)
        self.assertIsNone(stats.rounded(None))


class Intervals(unittest.TestCase):
    """Ranks that enclose the median, from tables of order statistics."""

    def test_ranks_are_those_of_the_binomial_distribution(self):
        for count, low, high in ((6, 1, 6), (9, 2, 8), (10, 2, 9), (20, 6, 15), (100, 40, 61)):
            values = [float(value) for value in range(1, count + 1)]
            self.assertEqual(stats.median_interval(values), (low, high), count)

    def test_five_values_and_equal_values_have_none(self):
        self.assertEqual(stats.median_interval([1.0, 2.0, 3.0, 4.0, 5.0]), (None, None))
        self.assertEqual(stats.median_interval([2.0] * 30), (None, None))
