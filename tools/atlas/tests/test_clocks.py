"""Tests of the comparison of both clocks."""

import unittest

from tools.testing import program

clocks = program("atlas/clocks")


def run(**metrics):
    """A run with one completed flow."""
    flow = {"completed": True, "completion_s": 7.0, **metrics}
    return {"variant": "bbr1", "point": {}, "flows": [flow]}


class Differing(unittest.TestCase):
    def lines(self, real, simulated):
        both = {}, {}
        clocks.collect(real, both[0])
        clocks.collect(simulated, both[1])
        return clocks.differing(*both)

    def test_losses_and_rtts_are_compared_although_the_times_agree(self):
        real = [run(packets_lost_queue=1429, rtt_mean_ms=240.0)]
        simulated = [run(packets_lost_queue=2142, rtt_mean_ms=200.0)]
        lines = self.lines(real, simulated)
        self.assertEqual(len(lines), 2)
        self.assertIn("packets_lost_queue: virtual 2142.0, real 1429.000", "".join(lines))
        self.assertIn("rtt_mean_ms", "".join(lines))

    def test_a_few_packets_are_no_difference(self):
        self.assertEqual(self.lines([run(packets_lost_queue=11)], [run(packets_lost_queue=2)]), [])

    def test_a_download_that_failed_has_no_values(self):
        failed = run(packets_lost_queue=5)
        failed["flows"][0]["completed"] = False
        self.assertEqual(self.lines([failed], []), [])
