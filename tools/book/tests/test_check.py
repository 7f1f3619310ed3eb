"""Tests of the parts of the book's check that need no command."""

import unittest

from tools.book.tables import WrongMarker
from tools.testing import program

check = program("book/check")


class Blocks(unittest.TestCase):
    def test_lines_that_are_shown_and_marks_for_those_that_are_not(self):
        output = "one\ntwo\nthree  \nfour\n"
        self.assertEqual(check.cut(output, "1-"), "one\ntwo\nthree\nfour\n")
        self.assertEqual(check.cut(output, "1, 3-4"), "one\n…\nthree\nfour\n")
        self.assertEqual(check.cut(output, "2-3"), "…\ntwo\nthree\n…\n")
        with self.assertRaises(WrongMarker):
            check.cut(output, "first")

    def test_options_of_a_command(self):
        command, settings = check.options("bentpipe run x\n  exit: 1\n  mask: a:b")
        self.assertEqual((command, settings["exit"], settings["mask"]),
                         ("bentpipe run x", "1", "a:b"))
        with self.assertRaisesRegex(WrongMarker, "`exti` is no option"):
            check.options("x\n  exti: 1")
