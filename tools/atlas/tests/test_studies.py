"""Tests of what makes compact results from the lines of studies."""

import json
import sys
import unittest

from tools.testing import folder, program


class Studies(unittest.TestCase):
    """Each program reads lines of a file and writes a document."""

    def made(self, name, lines, *more):
        """The rows that a program makes of lines, by variant and metric."""
        place = folder(self)
        (place / "lines").write_text("".join(f"{line}\n" for line in lines))
        before, sys.argv = sys.argv, [name, str(place / "out"), str(place / "lines"), *more]
        try:
            program(f"atlas/{name}").main()
        finally:
            sys.argv = before
        document = json.loads((place / "out").read_text())
        return document, {(row["variant"], row["metric"]): row for row in document["rows"]}

    def test_paths_without_regret_have_ratios_and_their_worst(self):
        path = ("rtt = 600 ms, forward = { rate = 50000000 bps, queue = 1.5 BDP, loss = 0.01 }, "
                "return = { rate = 5000000 bps")
        case = "{} of 3: case {}, {}, 2000000 bytes, {}: Ok([{}, {}, {}])"
        document, rows = self.made("no-regret-rows", [
            case.format(1, 0, "drawn", path, "Some(4.0)", "Some(3.0)", "Some(2.0)"),
            case.format(2, 1, "drawn", path, "Some(4.0)", "Some(2.0)", "Some(5.0)"),
            case.format(3, 2, "drawn", path, "Some(4.0)", "Some(4.0)", "None"),
        ], "7")
        self.assertIn("3 paths, 1 did not complete", document["about"])
        self.assertEqual(rows["population", "time_ratio"]["median"], 0.875)
        self.assertEqual(rows["worst", "time_ratio"]["median"], 1.25)
        self.assertEqual(rows["worst", "memory_ratio"]["median"], 2.5)
        self.assertEqual(rows["worst", "start_ratio"]["median"], 1.0)
        first = next(row for row in document["rows"] if row["variant"] == "path")
        self.assertEqual(first["point"]["path"], "50/5 Mbps, 600 ms, queue 1.50 BDP, loss 1 %")

    def test_a_wide_path_says_what_is_wrong_with_it(self):
        path = ("forward = {{ rate = 50000000 bps, queue = 0.500 BDP, loss = 0.000000, "
                "delay = {}{} }}, return = {{ rate = 5000000 bps, queue = 1 BDP, "
                "delay = 300.00 ms }}")
        late = "{ base = 300.00 ms, jitter = 1.500 ms, distribution = normal, keep_order = false }"
        policer = ", policer = { rate = 20000000 bps, burst = 64 kB }"
        times = "Ok([Some(4.0), Some(3.0), Some({})])"
        document, _ = self.made("no-regret-rows", [
            f"1 of 2: case 0, wide, 2000000 bytes, {path.format(late, '')}: {times.format('4.0')}",
            f"2 of 2: case 1, wide, 2000000 bytes, {path.format('300.00 ms', policer)}: "
            f"{times.format('2.0')}",
        ], "7")
        worst = [row["point"]["path"] for row in document["rows"] if row["variant"] == "path"]
        self.assertIn("50/5 Mbps, 600.0 ms, queue 0.50 BDP, jitter 1.5 ms out of order", worst)
        self.assertIn("50/5 Mbps, 600.0 ms, queue 0.50 BDP, policer 20 Mbps, 64 kB", worst)
        self.assertTrue(document["measured_by"].startswith("no-regret --wide"))

    def test_a_line_of_another_form_is_refused(self):
        with self.assertRaises(SystemExit):
            self.made("no-regret-rows", ["1 of 1: case 0, a new form"], "7")

    def test_random_paths_count_an_incomplete_download_with_the_limit(self):
        def case(number, standard, auto):
            downloads = [
                {"bytes": 2_000_000, "slow_start": start, "seconds": seconds, "lost_early": 1,
                 "lost": 2, "sent": 100}
                for start, seconds in (("standard", standard), ("auto", auto))
            ]
            return json.dumps({"case": number, "path": "p", "queue_bdp": 1.0,
                               "downloads": downloads})

        lines = [case(0, 10.0, 10.5), case(1, 10.0, None), case(2, None, 3.0)]
        _, rows = self.made("random-paths-rows", lines, "7")
        self.assertEqual(rows["auto", "time_ratio_max"]["median"], 12.0)
        self.assertEqual(rows["auto", "slower_2_percent"]["median"], 2)
        self.assertEqual(rows["auto", "slower_10_percent"]["median"], 1)
        self.assertEqual(rows["auto", "excluded"]["median"], 1)
        self.assertEqual(rows["auto", "incomplete"]["median"], 1)
        self.assertEqual(rows["auto", "lost_percent"]["median"], 2)

    def test_interop_counts_failed_and_doubtful_downloads(self):
        runs = [{"completed": True, "completion_s": 3.0, "warnings": ["late"]},
                {"completed": False, "warnings": []}]
        cell = {"client": "a", "server": "b", "profile": "geo", "bytes": 2_000_000,
                "protocol": "h3", "runs": runs}
        results = {"cells": [cell], "participants": [
            {"name": name, "version": "1"} for name in ("a", "b", "unused")]}
        document, rows = self.made("interop-rows", [json.dumps(results)])
        self.assertEqual(document["about"], "geo; a 1, b 1; 2 downloads, 1 doubtful")
        self.assertEqual(rows["h3", "completed"]["mean"], 50.0)
        self.assertEqual(rows["h3", "completion_s"]["n"], 1)
