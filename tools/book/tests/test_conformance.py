"""Tests of the page of other people's tests."""

import json
import pathlib
import tempfile
import unittest

from tools.book import conformance
from tools.book.tables import WrongMarker

SCENARIO = """
name = "one"
[[published]]
label = "A-1"
metric = "completion_s"
variant = "default"
value = 5.0
[[expect]]
metric = "completion_s"
variant = "default"
above = 2
below = 5.0
[[published]]
label = "A-1"
metric = "completion_s"
variant = "bbr3"
value = 4
[[expect]]
metric = "completion_s"
variant = "bbr3"
above = 2
below = 4
"""
CASES = """
together = ["A"]
opening = "Cases."
[[section]]
title = "A"
source = "somebody"
about = "Two."
[[section.case]]
id = "A-1"
what = "a file"
why = "It is slow."
[[section.case]]
id = "A-2"
what = "a call"
missing = "calls"
[[section.case]]
id = "A-3"
what = "a state"
tests = ["crates/a.rs: a_state"]
"""


class Repository(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for folder in ("scenarios/conformance", "atlas/conformance", "crates"):
            (self.root / folder).mkdir(parents=True)
        self.write("scenarios/conformance/one.toml", SCENARIO)
        self.write("atlas/conformance.toml", CASES)
        self.write("crates/a.rs", "fn a_state() {}")

    def write(self, name, text):
        (self.root / name).write_text(text)

    def results(self, *rows):
        rows = [{"text": "", "measured": measured, "passed": passed} for measured, passed in rows]
        self.write("atlas/conformance/one.json", json.dumps({"expectations": rows}))

    def rows(self):
        _, sections = conformance.cases(self.root)
        return {case.id: case for _, found in sections for case in found}

    def test_a_case_is_met_if_every_limit_is(self):
        self.results((3.0, True), (3.5, True))
        case = self.rows()["A-1"]
        self.assertEqual(case.verdict, "met")
        self.assertEqual(case.floor(), "2.00")
        self.assertEqual(case.limits(), "default 5.00 s; bbr3 4.00 s")

    def test_floors_that_differ_name_whom_they_concern(self):
        self.results((3.0, True), (3.5, True))
        other = SCENARIO.replace("above = 2\nbelow = 4", "above = 3\nbelow = 4")
        self.write("scenarios/conformance/one.toml", other)
        self.assertEqual(self.rows()["A-1"].floor(), "default 2.00; bbr3 3.00")
        self.assertEqual(self.rows()["A-3"].floor(), "–")

    def test_the_default_may_meet_what_a_document_does_not(self):
        self.results((3.0, True), (6.5, False))
        case = self.rows()["A-1"]
        self.assertEqual(case.verdict, "met by ours")
        self.assertEqual(case.ours(), "default 3.00; bbr3 **6.50**")
        self.assertIn("It is slow.", case.row())

    def test_a_limit_is_missed_by_the_default_or_by_a_run_that_does_not_complete(self):
        self.results((5.5, False), (3.0, True))
        self.assertEqual(self.rows()["A-1"].verdict, "missed")
        self.results((None, False), (3.0, True))
        self.assertIn("default **did not complete**", self.rows()["A-1"].ours())

    def test_a_case_may_name_the_variant_that_stands_for_bentpipe(self):
        own = 'what = "a file"\nours = "bbr3"\n'
        self.write("atlas/conformance.toml", CASES.replace('what = "a file"\n', own))
        self.results((5.5, False), (3.0, True))
        self.assertEqual(self.rows()["A-1"].verdict, "met by ours")

    def test_without_results_there_is_no_verdict(self):
        self.assertEqual(self.rows()["A-1"].verdict, "no result")

    def test_other_cases_are_missing_or_decided_by_tests(self):
        rows = self.rows()
        self.assertEqual(rows["A-2"].verdict, "not expressible")
        self.assertEqual(rows["A-2"].reason(), "missing: calls")
        self.assertEqual(rows["A-3"].verdict, "tested")
        self.assertEqual(rows["A-3"].reason(), "`a_state`.")

    def test_the_page_counts_verdicts(self):
        text = conformance.page(*conformance.cases(self.root))
        self.assertIn("| A | 3 | 1 | 1 | 1 |", text)
        self.assertIn("| **all** | 3 |", text)

    def test_the_default_alone_counts_without_presets_and_other_controllers(self):
        self.results((3.0, True), (6.5, False))
        text = conformance.page(*conformance.cases(self.root))
        self.assertIn("| A | 3 | 1 | 1 | 1 | 1 of 1 |", text)
        self.assertIn("Of the 1 cases of A, the default alone meets 1: 100.0 %.", text)
        # That another controller meets a limit is not to the default's credit.
        self.results((5.5, False), (3.0, True))
        own = 'what = "a file"\nours = "bbr3"\n'
        self.write("atlas/conformance.toml", CASES.replace('what = "a file"\n', own))
        case = self.rows()["A-1"]
        self.assertEqual((case.verdict, case.alone), ("met by ours", False))

    def refused(self, name, text, said):
        self.write(name, text)
        with self.assertRaisesRegex(WrongMarker, said):
            conformance.cases(self.root)

    def test_a_limit_and_its_expectation_agree(self):
        other = SCENARIO.replace("below = 5.0", "below = 6.0")
        self.refused("scenarios/conformance/one.toml", other, "has the limit of A-1, default")

    def test_a_case_has_one_way_to_be_decided(self):
        both = CASES.replace('missing = "calls"', 'missing = "calls"\ntests = []')
        self.refused("atlas/conformance.toml", both, "A-2: needs one of")

    def test_a_test_that_is_gone_is_found(self):
        self.refused("crates/a.rs", "fn other() {}", "there is no test")

    def test_a_scenario_without_a_case_is_found(self):
        other = CASES.replace('id = "A-1"', 'id = "A-9"').replace('what = "a file"',
                                                                  'what = "a file"\nmissing = "x"')
        self.refused("atlas/conformance.toml", other, "no case has the id A-1")


if __name__ == "__main__":
    unittest.main()
