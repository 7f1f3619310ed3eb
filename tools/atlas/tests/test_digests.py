"""Tests of the check that results are of the scenarios as they are."""

import json
import unittest

from tools.atlas import digests
from tools.testing import folder


class Digests(unittest.TestCase):
    """A repository of one scenario, which reads a file, and its results."""

    def setUp(self):
        self.root = folder(self)
        for name in ("scenarios/published", "atlas/published", "atlas/measured"):
            (self.root / name).mkdir(parents=True)
        self.scenario = self.root / "scenarios/published/one.toml"
        self.results = self.root / "atlas/published/one.json"
        self.scenario.write_text("seed = 1\n")
        self.trace = self.scenario.parent / "trace.txt"
        self.trace.write_text("1 2 3\n")
        digest = digests.digest(self.scenario, ["trace.txt"])
        document = {"scenario": "scenarios/published/one.toml", "digest": digest}
        self.results.write_text(json.dumps({**document, "inputs": ["trace.txt"]}))

    def found(self):
        return digests.check(self.root)

    def test_results_of_the_scenario_as_it_is_pass(self):
        self.assertEqual(self.found(), [])

    def test_a_changed_scenario_is_named_with_the_command_that_renews_its_results(self):
        self.scenario.write_text("seed = 2\n")
        [problem] = self.found()
        self.assertIn("scenarios/published/one.toml", problem)
        self.assertTrue(problem.endswith(": tools/atlas/run one"), problem)

    def test_a_comment_does_not_change_a_scenario(self):
        self.scenario.write_text("# The first.\nseed = 1  # no other\n")
        self.assertEqual(self.found(), [])

    def test_a_changed_or_missing_input_is_found(self):
        self.trace.write_text("1 2 4\n")
        self.assertEqual(len(self.found()), 1)
        self.trace.unlink()
        self.assertEqual(len(self.found()), 1)

    def test_a_scenario_without_results_and_results_without_a_scenario_are_found(self):
        self.scenario.rename(self.scenario.with_name("two.toml"))
        problems = "\n".join(self.found())
        self.assertIn("atlas/published/one.json: no scenario", problems)
        self.assertIn("scenarios/published/two.toml: no results", problems)

    def test_measured_scenarios_are_compared(self):
        measured = self.root / "atlas/measured/clocks.json"
        timed = self.root / "scenarios/validation/timed.toml"
        timed.parent.mkdir()
        timed.write_text("seed = 1\n")
        (self.root / "atlas/validation").mkdir()
        digest = digests.digest(timed, [])
        own = {"scenario": "scenarios/validation/timed.toml", "digest": digest}
        (self.root / "atlas/validation/timed.json").write_text(json.dumps(own))
        document = {"measured_by": "tools/atlas/clocks", "scenarios": {"timed": digest}}
        measured.write_text(json.dumps(document))
        self.assertEqual(self.found(), [])
        document["scenarios"]["timed"] = "0"
        measured.write_text(json.dumps(document))
        [problem] = self.found()
        self.assertTrue(problem.endswith(": tools/atlas/clocks"), problem)
