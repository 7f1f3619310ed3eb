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

    def test_applications_are_compared_by_metrics_of_their_own(self):
        times = (1300, 600, 650, 700)
        answers = [{"start_s": 1.0, "completion_s": 1.0 + ms / 1000} for ms in times]

        def runs(mos, kbps):
            streams = [("upload", 3.6), ("download", mos)]
            call = [{"media": "audio", "direction": one, "mos": mos} for one, mos in streams]
            flows = [
                {"name": "call", "completed": True, "call": call, "completion_s": 1.0},
                {"name": "probe", "completed": True, "objects": answers},
                {"name": "abr", "completed": True, "player": {"mean_bitrate_kbps": kbps}},
            ]
            return [{"variant": "default", "point": {"path.profile": "leo"}, "flows": flows}]

        samples = {}
        clocks.collect(runs(3.5, 750.0), samples)
        found = {(flow, metric): values for (_, _, flow, metric), values in samples.items()}
        self.assertEqual(found["call", "audio_download.mos"], [3.5])
        self.assertEqual(found["call", "audio_upload.mos"], [3.6])
        self.assertAlmostEqual(found["probe", "response_p50_ms"][0], 650.0)
        self.assertEqual(found["abr", "mean_bitrate_kbps"], [750.0])
        self.assertNotIn(("call", "completion_s"), found)
        [line] = self.lines(runs(3.0, 750.0), runs(3.5, 751.0))
        self.assertIn("audio_download.mos: virtual 3.5, real 3.000", line)

    def test_a_download_that_failed_has_no_values(self):
        failed = run(packets_lost_queue=5)
        failed["flows"][0]["completed"] = False
        self.assertEqual(self.lines([failed], []), [])
