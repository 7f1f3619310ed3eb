"""Tests of the faults that are planted for the swarm."""

import pathlib
import unittest

from tools.testing import program

faults = program("check/swarm-faults")
ROOT = pathlib.Path(__file__).resolve().parents[3]


class Places(unittest.TestCase):
    """Each fault has one place in the sources, and changes it."""

    def test_every_fault_can_be_planted(self):
        for fault, (path, _, wrong) in faults.FAULTS.items():
            text = (ROOT / path).read_text()
            changed = faults.planted(text, fault)
            self.assertIn(wrong, changed, fault)
            self.assertNotIn(wrong, text, fault)

    def test_a_place_that_is_gone_is_named(self):
        with self.assertRaisesRegex(SystemExit, "0 places for counted-twice"):
            faults.planted("fn main() {}\n", "counted-twice")
