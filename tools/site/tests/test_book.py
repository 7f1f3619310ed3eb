"""Tests of the book as a part of the site."""

import tomllib
import unittest

from tools.site import book, runs
from tools.testing import folder


class Decisions(unittest.TestCase):
    """The decisions as chapters."""

    def setUp(self):
        place = folder(self)
        self.own, self.source = place / "own", place / "src"
        self.own.mkdir()
        self.source.mkdir()
        self.addCleanup(setattr, book, "DECISIONS", book.DECISIONS)
        book.DECISIONS = self.own

    def test_each_is_a_chapter_by_its_title_and_links_lead_to_pages_of_the_book(self):
        (self.own / "README.md").write_text("# All\n")
        links = "[a](../src/a.md) [b](README.md) [c](../../research/tcp.md)"
        (self.own / "0002-two.md").write_text(f"# Two\n{links}\n")
        (self.own / "0001-one.md").write_text("# One\n")
        lines = book.decisions(self.source)
        self.assertEqual(lines[-2:], ["  - [One](decisions/0001-one.md)",
                                      "  - [Two](decisions/0002-two.md)"])
        text = (self.source / "decisions/0002-two.md").read_text()
        self.assertIn("[a](../a.md) [b](index.md) [c](../../../research/tcp.md)", text)
        self.assertTrue((self.source / "decisions/index.md").exists())

    def test_one_without_a_title_is_refused(self):
        (self.own / "0001-one.md").write_text("One\n")
        with self.assertRaisesRegex(runs.SiteError, "0001-one.md has no title"):
            book.decisions(self.source)


class Staged(unittest.TestCase):
    """The repository's own book, with what the site adds."""

    def test_the_book_gets_the_decisions_the_bar_and_the_names_of_blocks_that_run(self):
        place = folder(self) / "stage"
        book.stage(place, ["own.toml"])
        work = place / "docs"
        self.assertIn("decisions/0001", (work / "src/SUMMARY.md").read_text())
        self.assertIn("[Decisions](decisions/index.md)", (work / "src/introduction.md").read_text())
        self.assertIn('bentpipeBlocks = ["own.toml"]', (work / "theme/head.hbs").read_text())
        settings = (work / "book.toml").read_text()
        self.assertEqual(tomllib.loads(settings)["output"]["html"]["additional-css"], ["site.css"])
        self.assertTrue((place / "tools/book/crosslinks").exists())

    def test_research_has_the_style_of_the_atlas_and_no_settings_among_its_pages(self):
        place = folder(self) / "stage"
        book.stage(place, [])
        self.assertIn(".rows .row", (place / "research/site.css").read_text())
        self.assertEqual(list((place / "research/src").glob("*.toml")), [])
        settings = tomllib.loads((place / "research/book.toml").read_text())
        self.assertEqual(settings["book"]["src"], "src")

    def test_blocks_that_run_are_in_their_pages(self):
        names = [name for name, text in runs.blocks() if "[" in text]
        self.assertTrue(names)
