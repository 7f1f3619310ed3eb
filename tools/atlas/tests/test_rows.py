"""Tests of compact results, and of how two of them differ."""

import unittest

from tools.atlas import rows


class Kept(unittest.TestCase):
    """Which of two results stays."""

    def test_results_that_do_not_move_keep_their_commit_unless_it_was_not_clean(self):
        old = {"digest": "d", "rows": []}
        named = lambda commit: {**old, "commit": commit}
        kept = rows.kept
        self.assertEqual(kept(named("a"), named("b")), named("a"))
        self.assertEqual(kept(named("a+"), named("b+")), named("a+"))
        self.assertEqual(kept(named("a+"), named("b")), named("b"))
        self.assertEqual(kept(old, named("b")), named("b"))
        self.assertEqual(kept(old, named("b+")), old)
        self.assertEqual(kept(named("a"), named(None)), named("a"))
        self.assertEqual(kept(None, named("b+")), named("b+"))
        other = {**named("b"), "digest": "e"}
        self.assertEqual(kept(named("a"), other), other)


class Moved(unittest.TestCase):
    """Expectations before and after."""

    def test_an_expectation_that_is_no_longer_met_is_named_whatever_others_are_new(self):
        def document(**passed):
            expected = [{"text": text, "passed": one} for text, one in passed.items()]
            return {"rows": [], "incomplete": [], "expectations": expected}

        old = document(fast=True, small=True)
        self.assertEqual(rows.moved(old, document(new=False, fast=True, small=True)), [])
        [line] = rows.moved(old, document(new=True, fast=True, small=False))
        self.assertEqual(line, "expectation small: True -> False")


class Compact(unittest.TestCase):
    """The rows that stay of a results document."""

    def results(self):
        head = {"variant": "a", "point": {}, "flow": "main", "visit": 1, "n": 2}
        metrics = {"completion_s": 1.0, "cpu_s": 2.0, "rtt_mean_ms": 3.0, "packets_lost_queue": 0}
        flow = {"name": "main", "visit": 1, "completed": True, "time_budget": {"rtt": 0.5}}
        failed = {**flow, "completed": False}
        return {
            "version": "1", "seed": 1, "published": [],
            "summary": [
                {**head, "metric": name, "median": value, "mean": value, "p95": value}
                for name, value in metrics.items()
            ],
            "expectations": [{"text": "rtt_mean_ms < 4", "passed": True, "measured": 3.0}],
            "runs": [
                {"variant": "a", "point": {}, "flows": [flow]},
                {"variant": "a", "point": {}, "flows": [failed]},
            ],
        }

    def test_kept_metrics_and_those_of_expectations_stay_and_losses_of_nothing_do_not(self):
        found = rows.compact(self.results())
        self.assertEqual([row["metric"] for row in found["rows"]], ["completion_s", "rtt_mean_ms"])

    def test_incomplete_downloads_are_counted_and_cells_without_any_are_left_out(self):
        results = self.results()
        results["runs"].append({**results["runs"][0], "variant": "whole"})
        [one] = rows.compact(results)["incomplete"]
        self.assertEqual((one["flow"], one["incomplete"], one["of"]), ("main", 1, 2))

    def test_an_expectation_of_a_part_of_the_budget_keeps_all_parts_of_complete_downloads(self):
        results = self.results()
        results["runs"][0]["flows"][0] = {
            **results["runs"][0]["flows"][0], "time_budget": {"rtt": 0.5, "queue": 0.1}
        }
        results["summary"].append({**results["summary"][0], "metric": "time_budget.rtt"})
        results["expectations"][0]["text"] = "time_budget.rtt < 1"
        found = {row["metric"]: row for row in rows.compact(results)["rows"]}
        self.assertEqual(found["time_budget.queue"]["median"], 0.1)
        self.assertEqual(found["time_budget.rtt"]["n"], 1)

    def test_a_moved_figure_says_by_how_much_the_largest_first(self):
        old = rows.compact(self.results())
        changed = self.results()
        changed["summary"][0]["median"] = 1.01
        changed["summary"][2]["median"] = 6.0
        lines = rows.moved(old, rows.compact(changed))
        self.assertIn("median 3.0 -> 6.0 (+100.00%)", lines[0])
        self.assertIn("median 1.0 -> 1.01 (+1.00%)", lines[1])
        gone = {**old, "rows": old["rows"][1:]}
        self.assertEqual([line[-6:] for line in rows.moved(old, gone)], [": gone"])
