"""Tests of the parts of the book's check that need no command."""

import unittest

from tools.book.tables import WrongMarker
from tools.testing import folder, program

check = program("book/check")


class Headings(unittest.TestCase):
    def test_anchors_are_those_of_the_html(self):
        text = "# One two\n## `key`: [a link](page.md)\n## One two\n```\n# no heading\n```\n"
        self.assertEqual(check.slugs(text), {"one-two", "one-two-1", "key-a-link"})


class Links(unittest.TestCase):
    """A page of a book with a neighbour."""

    def setUp(self):
        self.root = folder(self).resolve()
        books = [self.root / "docs/src", self.root / "research"]
        for name, value in (("ROOT", self.root), ("BOOKS", books)):
            self.addCleanup(setattr, check, name, getattr(check, name))
            setattr(check, name, value)
        self.page = self.root / "docs/src/page.md"
        self.page.parent.mkdir(parents=True)
        self.page.write_text("# Page\n")
        (self.page.parent / "other.md").write_text("# Other\n## Part\n")
        (self.root / "README.md").write_text("# Repository\n")
        (self.root / "research").mkdir()
        (self.root / "research/long.md").write_text("# Long\n")

    def faults(self, text):
        return list(check.broken_links(self.page, text))

    def test_links_that_lead_somewhere_pass(self):
        good = "# Page\n[a](other.md#part) [b](#page) [c](../../research/long.md#long)\n"
        good += "[d](https://example.org/no#where)\n"
        self.assertEqual(self.faults(good), [])

    def test_missing_files_headings_and_pages_outside_the_book_are_named(self):
        for link, why in (("no.md", "no such file"), ("other.md#no", "no such heading"),
                          ("#no", "no such heading"), ("../../README.md", "has no such page")):
            [fault] = self.faults(f"# Page\n[a]({link})\n")
            self.assertIn(why, fault)

    def test_paths_in_backticks_exist(self):
        [fault] = self.faults("See `scenarios/examples/none.toml` and `scenarios/NAME.toml`.\n")
        self.assertIn("none.toml", fault)

    def test_the_book_has_no_dates_but_in_code(self):
        text = "Measured on 3 May 2026, and since 2026-05-04: `2026-01-01`, May 2026.\n"
        [one, two] = check.dates(self.page, text)
        self.assertIn("3 May 2026", one)
        self.assertIn("2026-05-04", two)
        self.assertEqual(list(check.dates(self.root / "research/long.md", text)), [])

    def test_code_has_no_links(self):
        self.assertEqual(self.faults("`[a](no.md)`\n```\n[a](no.md)\n```\n"), [])


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
