"""Tests of the parts of a page."""

import unittest

from tools.book import pages
from tools.testing import folder


class Headings(unittest.TestCase):
    def test_anchors_are_those_of_the_html(self):
        text = "# One two\n## `key`: [a link](page.md)\n## One two\n```\n# no heading\n```\n"
        self.assertEqual(pages.slugs(text), {"one-two", "one-two-1", "key-a-link"})


class Links(unittest.TestCase):
    """A page of a book with a neighbour."""

    def setUp(self):
        self.root = folder(self).resolve()
        self.page = self.root / "docs/src/page.md"
        self.page.parent.mkdir(parents=True)
        self.page.write_text("# Page\n")
        (self.page.parent / "other.md").write_text("# Other\n## Part\n")
        (self.root / "README.md").write_text("# Repository\n")
        (self.root / "research").mkdir()
        (self.root / "research/long.md").write_text("# Long\n")

    def faults(self, text):
        return list(pages.broken_links(self.page, text, self.root))

    def test_the_book_has_no_dates_but_in_code(self):
        text = "Measured on 3 May 2026, and since 2026-05-04: `2026-01-01`, May 2026.\n"
        [one, two] = pages.dates(self.page, text, self.root)
        self.assertIn("3 May 2026", one)
        self.assertIn("2026-05-04", two)
        self.assertEqual(list(pages.dates(self.root / "research/long.md", text, self.root)), [])

    def test_links_that_lead_somewhere_pass(self):
        good = "# Page\n[a](other.md#part) [b](#page) [c](../../research/long.md#long)\n"
        good += "[d](https://example.org/no#where)\n"
        self.assertEqual(self.faults(good), [])

    def test_missing_files_headings_and_pages_outside_the_book_are_named(self):
        for link, why in (("no.md", "no such file"), ("other.md#no", "no such heading"),
                          ("#no", "no such heading"), ("../../README.md", "has no such page")):
            [fault] = self.faults(f"# Page\n[a]({link})\n")
            self.assertIn(why, fault)

    def test_decisions_link_to_what_the_site_has(self):
        decision = self.root / "docs/decisions/0001-one.md"
        decision.parent.mkdir()
        decision.write_text("# One\n")
        (self.root / "docs/upstream").mkdir()
        (self.root / "docs/upstream/fault.md").write_text("# Fault\n")
        good = "[a](0001-one.md) [b](../src/other.md#part) [c](../../research/long.md)\n"
        self.assertEqual(list(pages.broken_links(decision, good, self.root)), [])
        [fault] = pages.broken_links(decision, "[a](../upstream/fault.md)\n", self.root)
        self.assertIn("has no such page", fault)

    def test_code_has_no_links(self):
        self.assertEqual(self.faults("`[a](no.md)`\n```\n[a](no.md)\n```\n"), [])
