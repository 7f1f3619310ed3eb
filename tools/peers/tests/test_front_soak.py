"""Tests of what front-soak calls flat."""

import unittest

from tools.peers.front_soak import rounds, verdict


def samples(rss, descriptors=None, failed=0):
    found = descriptors or [100] * len(rss)
    return [{"minute": minute, "rss_kb": kb, "descriptors": count, "asked": 10 * minute,
             "failed": failed, "why": "cut" if failed else "", "episodes": minute, "cpu_s": 1.0}
            for minute, (kb, count) in enumerate(zip(rss, found, strict=True), 1)]


class Verdict(unittest.TestCase):
    def test_memory_that_fills_at_first_and_then_moves_is_flat(self):
        rss = [20_000 + 4_000 * minute for minute in range(10)] + [60_000, 63_000] * 15
        self.assertEqual(verdict.problems(samples(rss)), [])

    def test_memory_that_grows_by_200_kb_each_minute_is_not(self):
        rss = [60_000 + 200 * minute for minute in range(120)]
        self.assertEqual(verdict.problems(samples(rss)), ["rss_kb grew from 68900 to 80900"])

    def test_descriptors_that_are_left_open_are_found(self):
        found = verdict.problems(samples([60_000] * 40, list(range(100, 180, 2))))
        self.assertEqual(found, ["descriptors grew from 129 to 169"])

    def test_a_failed_request_is_a_problem_however_short_the_time(self):
        self.assertEqual(verdict.problems(samples([1, 2], failed=1)),
                         ["1 of 20 requests failed: cut"])
        self.assertIn("too short to say", verdict.text(samples([1, 2])))

    def test_a_round_without_clients_says_nothing(self):
        none = [{**samples([1])[0], "asked": 0, "episodes": 0}]
        self.assertEqual(len(verdict.problems(none)), 2)
        self.assertEqual(verdict.problems([]), ["there is no sample"])


class Counts(unittest.TestCase):
    def test_clients_that_have_not_counted_yet_have_counted_nothing(self):
        missing = rounds.Path("/nonexistent/counts.json")
        self.assertEqual(rounds.counted(missing, {"asked": 0}), {"asked": 0})


if __name__ == "__main__":
    unittest.main()
