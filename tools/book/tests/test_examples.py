"""Tests of the lookup of example commands."""

import unittest

from tools.book import shell
from tools.book.examples import Examples, known_key
from tools.book.json_paths import Missing, follow, merged, shape
from tools.book.tests.fake import SCHEMA, Fake, repository
from tools.testing import folder


class Commands(unittest.TestCase):
    def test_remarks_continuations_and_pipes_are_read_as_a_shell_reads_them(self):
        text = "$ bentpipe run a.toml \\\n  --json | jq '.runs[]'   # all\noutput\n"
        text += "$ sudo bentpipe run b\n"
        lines = list(shell.typed(text))
        self.assertEqual([number for number, _ in lines], [0, 3])
        [(words, program)] = shell.invocations(lines[0][1], {"run"})
        self.assertEqual((words, program), (["run", "a.toml", "--json"], ".runs[]"))
        [(words, program)] = shell.invocations(lines[1][1], {"run"})
        self.assertEqual((words, program), (["run", "b"], None))

    def test_packages_and_redirections_are_no_arguments(self):
        self.assertEqual(list(shell.invocations("apt install bentpipe", {"run"})), [])
        [(words, _)] = shell.invocations("bentpipe run a.toml > out.json", {"run"})
        self.assertEqual(words, ["run", "a.toml"])

    def test_a_quote_that_is_not_closed_is_named(self):
        with self.assertRaises(shell.Unreadable):
            list(shell.invocations("bentpipe run 'a", {"run"}))


class Lookups(unittest.TestCase):
    def setUp(self):
        root = folder(self)
        repository(root)
        self.examples = Examples(Fake(), root)

    def faults(self, command):
        return [what for _, what in self.examples.check(f"```console\n$ {command}\n```\n")]

    def test_what_the_command_accepts_passes(self):
        for command in (
            "bentpipe run scenarios/examples/pair.toml --set path.rtt='\"300 ms\"'",
            "bentpipe run mine.toml --set variant.cubic.congestion=bbr3",
            "bentpipe explain out/pair --variant cubic --variant bbr3",
            "bentpipe run a.toml --json | jq '.runs[] | select(.passed == false)'",
        ):
            self.assertEqual(self.faults(command), [], command)

    def test_a_renamed_option_is_refused(self):
        [fault] = self.faults("bentpipe run a.toml --fresh")
        self.assertIn("unexpected argument '--fresh'", fault)

    def test_a_renamed_key_is_refused_in_a_known_file_and_in_others(self):
        [fault] = self.faults("bentpipe run scenarios/examples/pair.toml --set path.delay=1")
        self.assertIn("unknown key `path.delay`", fault)
        [fault] = self.faults("bentpipe run mine.toml --set path.delay=1")
        self.assertIn("`path.delay` is no key", fault)

    def test_a_removed_variant_and_a_missing_scenario_are_refused(self):
        [fault] = self.faults("bentpipe explain out/pair --variant reno")
        self.assertIn("`pair` has no variant `reno`; it has cubic, bbr3", fault)
        [fault] = self.faults("bentpipe explain out/gone")
        self.assertIn("no scenario is called `gone`", fault)
        [fault] = self.faults("bentpipe run scenarios/examples/gone.toml")
        self.assertIn("`scenarios/examples/gone.toml` does not exist", fault)

    def test_a_key_that_is_not_swept_and_an_unknown_metric_are_refused(self):
        [fault] = self.faults("bentpipe explain out/pair --point path.loss=1")
        self.assertIn("does not sweep `path.loss`", fault)
        [fault] = self.faults("bentpipe explain out/pair --metric goodput")
        self.assertIn("no metric `goodput`", fault)

    def test_a_field_that_jq_does_not_find_is_refused(self):
        [fault] = self.faults("bentpipe run a.toml --json | jq '.runs[].failed'")
        self.assertIn("no field `failed`", fault)

    def test_help_texts_are_read_too(self):
        fake = self.examples.bentpipe
        self.assertEqual(list(self.examples.help_problems()), [])
        fake.helps = {**fake.helps, ("run",): fake.helps["run",].replace("passed", "gone")}
        [fault] = self.examples.help_problems()
        self.assertTrue(fault.startswith("bentpipe run --help: "), fault)

    def test_blocks_behind_a_run_marker_are_left_to_it(self):
        text = "<!-- run: bentpipe run a --no\nexit: 2 -->\n\n"
        text += "```console\n$ bentpipe run a --no\n```\n"
        self.assertEqual(list(self.examples.check(text)), [])


class Keys(unittest.TestCase):
    def test_entries_of_lists_are_named_in_paths_of_set_only(self):
        self.assertTrue(known_key("variant.cubic.congestion", SCHEMA))
        self.assertFalse(known_key("variant.congestion.no", SCHEMA, named=False))
        self.assertTrue(known_key("variant.congestion", SCHEMA, named=False))
        self.assertFalse(known_key("path.rtt_ms", SCHEMA))

    def test_the_shape_of_a_list_has_the_fields_of_all_its_entries(self):
        found = merged([shape([{"a": 1}, {"b": [{"c": 2}]}])])
        follow(found, ".[].b[].c", {})
        with self.assertRaises(Missing):
            follow(found, ".[].a[]", {})


if __name__ == "__main__":
    unittest.main()
