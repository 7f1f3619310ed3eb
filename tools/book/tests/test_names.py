"""Tests of the lookup of names in backticks."""

import unittest

from tools.book.index import Index
from tools.book.names import Names
from tools.book.tests.fake import Fake, repository
from tools.testing import folder


class Lookups(unittest.TestCase):
    def setUp(self):
        root = folder(self)
        repository(root)
        foreign = root / "foreign.toml"
        foreign.write_text('[[names]]\nof = "Linux"\nare = ["tcp_rmem"]\n')
        self.names = Names(Fake(), Index(root), foreign)

    def faults(self, *spans):
        return [self.names.fault(span) for span in spans]

    def test_names_of_files_items_keys_and_options_are_known(self):
        known = ("crates/link/src/loss/", "loss/mod.rs", "Loss::loses", "mean_burst", "path.rtt",
                 "losses_come_in_bursts", "--set", "make lint", "completion_s",
                 "congestion = \"x\"", "tcp_rmem", "pair", "10 ms", "NAME.toml",
                 "out/pair", "[[variant]]")
        self.assertEqual([one for one in known if self.names.fault(one)], [])

    def test_what_nothing_defines_is_refused_and_named(self):
        for span, part in (
            ("crates/link/src/queue.rs", "does not exist"), ("Loss::gains", "has no `gains`"),
            ("Gain::loses", "no module or type"), ("least_burst", "nothing is called"),
            ("path.delay", "no key of a scenario"), ("--fresh", "has an option"),
            ("make all", "no target `all`"), ("[path.gone]", "no table"),
            ("gone = 1", "nothing is called"),
        ):
            fault = self.names.fault(span)
            self.assertIn(part, fault or "", span)

    def test_a_line_of_a_page_is_named(self):
        text = "# Page\n```\n`gone_a`\n```\nSee `gone_b` and\n<!-- `gone_c` -->`mean_burst`.\n"
        self.assertEqual(list(self.names.check(text)), [(5, "nothing is called `gone_b`")])

    def test_comments_and_locals_of_tests_define_nothing(self):
        root = self.names.root
        (root / "crates/link/src/more.rs").write_text("// `old_name` was here\nfn new_name() {}\n")
        (root / "crates/link/tests/more.rs").write_text("fn t() { f(old_name: 1); }\n")
        names = Names(Fake(), Index(root), root / "foreign.toml")
        self.assertIsNotNone(names.fault("old_name"))
        self.assertIsNone(names.fault("new_name"))

    def test_foreign_names_have_an_owner(self):
        root = self.names.root
        (root / "foreign.toml").write_text('[[names]]\nare = ["x_y"]\n')
        with self.assertRaises((ValueError, KeyError)):
            Names(Fake(), Index(root), root / "foreign.toml")


if __name__ == "__main__":
    unittest.main()
