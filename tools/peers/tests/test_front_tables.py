"""Tests of the tables of front-benefit, front-load and front-reloads."""

import unittest

from tools.peers.front_benefit import table as benefit
from tools.peers.front_load import table as load
from tools.peers.front_reloads import rounds as reloads


def visits(server, seconds, visit=1):
    return [{"path": "geo-20", "size": 1.0, "client": "get", "server": server, "run": run,
             "visit": visit, "seconds": each} for run, each in enumerate(seconds)]


class Tables(unittest.TestCase):
    def test_the_interval_of_a_median_of_ten_is_from_the_second_to_the_ninth(self):
        self.assertEqual(benefit.interval(range(10)), (1, 8))
        # Five have no interval of 95 %.
        self.assertEqual(benefit.interval(range(5)), (0, 4))

    def test_a_later_visit_may_take_two_hundredths_more_and_not_three(self):
        rows = visits("front", [2.0, 2.0, 2.2]) + visits("front", [2.03, 2.04, 1.0], 2)
        self.assertEqual(benefit.slower(rows), [])
        rows += visits("front", [2.06, 2.05, 2.07], 3)
        self.assertEqual(benefit.slower(rows), [("geo-20", 1.0, "get", 3)])
        self.assertIn("1.030 of its first visit  SLOWER", benefit.text(rows))

    def test_rows_for_the_book_tell_first_visits_from_later_ones(self):
        rows = visits("front", [1.0, 2.0]) + visits("front", [0.5], 2)
        samples = {dict(point)["order"]: (server, metric, values)
                   for (server, point, metric), values in benefit.samples(rows).items()}
        self.assertEqual(samples, {"first": ("front", "completion_s", [1.0, 2.0]),
                                   "later": ("front", "completion_s", [0.5])})

    def test_front_is_compared_run_by_run(self):
        rows = visits("front", [1.0, 2.0]) + visits("nginx-h3", [2.0, 8.0])
        line = benefit.text(rows).splitlines()[2]
        self.assertTrue(line.endswith("0.38 (0.25..0.50)"), line)

    def test_load_is_a_multiple_of_fronts_round_by_round(self):
        def row(server, cpu, number):
            return {"file": "1k", "connections": 10, "server": server, "round": number,
                    "requests": 100, "seconds": 2.0, "cpu_s": cpu, "bytes": 100_000,
                    "connect_cpu_s": 0.1, "rss_kb": 500, "p99_ms": 3.0, "failed": 0}
        lines = load.text([row("front", 0.01, 0), row("front", 0.02, 1), row("caddy", 0.03, 0),
                           row("caddy", 0.04, 1)]).splitlines()
        self.assertIn("50.0", lines[1])
        self.assertIn("350.0 (2.50x)", lines[2])

    def test_all_failures_of_a_server_count(self):
        row = {"server": "front", "why": "downloads: cut"}
        for kind, failed in zip(reloads.KINDS, (0, 1, 2), strict=True):
            row[kind], row[f"{kind}_failed"] = 10, failed
        self.assertEqual(reloads.failures(row), 3)
        self.assertIn("2 of 10 failed  downloads: cut", reloads.table([row]))


if __name__ == "__main__":
    unittest.main()
