"""Tests of what measured files say, against files that are known."""

import math
import pathlib
import random
import unittest

from tools.atlas import recorded, simulated

RECORDED = pathlib.Path(__file__).resolve().parents[3] / "scenarios/validation/recorded"


class Recorded(unittest.TestCase):
    """The recordings that the repository has, and drawn ones."""

    def test_an_hour_of_telemetry_has_its_known_quantiles(self):
        samples = recorded.telemetry(RECORDED / "fjordlink-2024-12-12.csv.gz")
        found = recorded.quantiles([rtt for _, rtt in samples], (0.5, 0.95, 0.99))
        self.assertEqual([round(one, 2) for one in found], [27.52, 40.2, 48.88])

    def test_the_trace_has_its_known_outages_and_ramp(self):
        trace = recorded.opportunities(RECORDED / "leocc-rate.trace.gz")
        gaps = recorded.outages(trace)
        self.assertEqual([length for _, length in gaps], [59, 69, 82, 68, 95, 135, 59, 93])
        ends = [at for at, _ in gaps[1:]] + [trace[-1]]
        ramp = [round(share, 2) for share in recorded.ramp(trace, gaps, ends)]
        self.assertEqual(ramp, [0.32, 0.68, 0.83, 0.86, 0.88, 0.93, 0.94, 0.95, 1.01, 0.94])
        seconds = recorded.rates(trace, 0, trace[-1], 1000)
        found = recorded.quantiles(seconds, (0.05, 0.5, 0.95))
        for one, known in zip(found, (36.36, 48.32, 62.89)):
            self.assertAlmostEqual(one, known, delta=0.02)

    def test_levels_that_were_drawn_are_found(self):
        draw = random.Random(1)
        samples, normal = [], 0.0
        for slot in range(4000):
            normal = 0.7 * normal + math.sqrt(1 - 0.7**2) * draw.gauss(0, 1)
            rtt = 18 + 9.68 * math.exp(0.565 * normal)
            samples += [(15 * slot + 12 + second, rtt) for second in range(15)]
        median, spread, sigma, correlation = recorded.levels(samples)
        self.assertAlmostEqual(median, 27.68, delta=0.4)
        self.assertAlmostEqual(spread, 9.68, delta=0.8)
        self.assertAlmostEqual(sigma, 0.565, delta=0.05)
        self.assertAlmostEqual(correlation, 0.7, delta=0.03)

    def test_a_series_holds_its_values(self):
        times, values = [0.0, 1.0, 2.0], [0, 125_000, 500_000]
        self.assertEqual(simulated.held(times, values, [0.5, 1.0, 3.0]), [0, 125_000, 500_000])
        self.assertEqual(simulated.per_second(times, values, 2), [1.0, 3.0])


if __name__ == "__main__":
    unittest.main()
