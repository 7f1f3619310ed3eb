"""Tests of numbers that are quoted from another page."""

import unittest

from tools.book.repeats import moved
from tools.testing import folder


class Quotes(unittest.TestCase):
    def setUp(self):
        self.root = folder(self)
        (self.root / "research").mkdir()
        (self.root / "research/a.md").write_text("It took 4.08 s, 195 of 200, 2.9 to 3.0, 8.0 %.\n")

    def faults(self, text):
        return list(moved(text, self.root))

    def test_numbers_that_stand_there_pass(self):
        for number in ("4.08 s", "4.08", "195 of 200", "2.9 to 3.0", "8.0 %"):
            self.assertEqual(self.faults(f"Some {number}<!-- in research/a.md -->."), [], number)

    def test_a_number_that_has_moved_is_named(self):
        [(line, fault)] = self.faults("\n\nIt takes 4.07 s<!-- in research/a.md -->.")
        self.assertEqual(line, 3)
        self.assertIn("`4.07 s` does not stand", fault)
        for part in ("4.0", "08", "95 of 200"):
            self.assertEqual(len(self.faults(f"It is {part}<!-- in research/a.md -->")), 1, part)

    def test_a_quote_of_a_quote_is_none(self):
        (self.root / "research/b.md").write_text("So 4.08 s<!-- in research/a.md -->.\n")
        self.assertEqual(len(self.faults("So 4.08 s<!-- in research/b.md -->.")), 1)

    def test_a_missing_page_and_a_marker_without_a_number_are_named(self):
        self.assertEqual(len(self.faults("4.08 s<!-- in research/no.md -->")), 1)
        self.assertEqual(len(self.faults("soon<!-- in research/a.md -->")), 1)


if __name__ == "__main__":
    unittest.main()
