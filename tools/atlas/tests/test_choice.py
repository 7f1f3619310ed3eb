"""Tests of the choice of scenarios."""

import unittest

from tools.atlas import choice


class Choice(unittest.TestCase):
    """Parts of all scenarios, and how many of them fit a time."""

    SECONDS = {"long": 50.0, "short": 10.0, "middle": 30.0, "none": 0.0}

    def test_parts_hold_each_scenario_once_and_take_about_as_long(self):
        files = list(self.SECONDS)
        parts = [choice.part_of(files, self.SECONDS, f"{k}/2") for k in (1, 2)]
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(files))
        self.assertEqual([sum(self.SECONDS[f] for f in part) for part in parts], [50, 40])
        with self.assertRaises(SystemExit):
            choice.part_of(files, self.SECONDS, "3/2")

    def test_the_shortest_scenarios_fit_first(self):
        within = choice.within(list(self.SECONDS), self.SECONDS, 40)
        self.assertEqual(within, (["short", "middle", "none"], ["long"]))
