"""Tests of the checks of committed results: stale ones, and what moved."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[3])
from tools.atlas import choice as atlas_choice
from tools.atlas import digests as atlas_digests
from tools.atlas import rows as atlas_rows
from tools.atlas import text as atlas_text
from tools.book import rows as docs_rows
from tools.site import runs as site_runs


class Digests(unittest.TestCase):
    """A repository of one scenario, which reads a file, and its results."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scenarios/published", "atlas/published", "atlas/measured"):
            (self.root / name).mkdir(parents=True)
        self.scenario = self.root / "scenarios/published/one.toml"
        self.results = self.root / "atlas/published/one.json"
        self.scenario.write_text("seed = 1\n")
        self.trace = self.scenario.parent / "trace.txt"
        self.trace.write_text("1 2 3\n")
        digest = atlas_digests.digest(self.scenario, ["trace.txt"])
        document = {"scenario": "scenarios/published/one.toml", "digest": digest}
        self.results.write_text(json.dumps({**document, "inputs": ["trace.txt"]}))

    def found(self):
        return atlas_digests.check(self.root)

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
        folder = self.root / "scenarios/validation"
        folder.mkdir()
        (folder / "timed.toml").write_text("seed = 1\n")
        (self.root / "atlas/validation").mkdir()
        digest = atlas_digests.digest(folder / "timed.toml", [])
        own = {"scenario": "scenarios/validation/timed.toml", "digest": digest}
        (self.root / "atlas/validation/timed.json").write_text(json.dumps(own))
        document = {"measured_by": "tools/atlas/clocks", "scenarios": {"timed": digest}}
        measured.write_text(json.dumps(document))
        self.assertEqual(self.found(), [])
        document["scenarios"]["timed"] = "0"
        measured.write_text(json.dumps(document))
        [problem] = self.found()
        self.assertTrue(problem.endswith(": tools/atlas/clocks"), problem)


class Gallery(unittest.TestCase):
    """The gallery of the site as the repository is."""

    def test_every_row_of_the_atlas_is_in_it_or_is_a_measurement(self):
        _, entries = site_runs.entries()
        shown = {row.id for entry in entries.values() for row in entry.rows}
        _, _, rows = docs_rows.rows()
        measured = atlas_digests.ROOT / "atlas" / atlas_digests.MEASURED
        for row in rows:
            names = {figure.scenario for figure in row.figures}
            found = all((measured / f"{name}.json").exists() for name in names)
            self.assertNotEqual(row.id in shown, found, row.id)


class Choice(unittest.TestCase):
    """Parts of all scenarios, and how many of them fit a time."""

    SECONDS = {"long": 50.0, "short": 10.0, "middle": 30.0, "none": 0.0}

    def test_parts_hold_each_scenario_once_and_take_about_as_long(self):
        files = list(self.SECONDS)
        parts = [atlas_choice.part_of(files, self.SECONDS, f"{k}/2") for k in (1, 2)]
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(files))
        self.assertEqual([sum(self.SECONDS[f] for f in part) for part in parts], [50, 40])
        with self.assertRaises(SystemExit):
            atlas_choice.part_of(files, self.SECONDS, "3/2")

    def test_the_shortest_scenarios_fit_first(self):
        within = atlas_choice.within(list(self.SECONDS), self.SECONDS, 40)
        self.assertEqual(within, (["short", "middle", "none"], ["long"]))


class Commits(unittest.TestCase):
    """A repository with a source, and results with the commit that they are from."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.source = self.root / "crates/sim/src/lib.rs"
        self.source.parent.mkdir(parents=True)
        self.source.write_text("1\n")
        self.results = self.root / "out"
        self.results.mkdir()

    def made_by(self, built):
        """The commit of results of a command that was built from the commit `built`."""
        (self.results / "manifest.json").write_text(json.dumps({"commit": built}))
        return atlas_text.commit(self.root, self.results)

    def git(self, *arguments):
        person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        command = ["git", *person, *arguments]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--message", "A state")
        return self.git("rev-parse", "--short=12", "HEAD")

    def test_results_name_the_commit_of_a_clean_tree(self):
        self.assertIsNone(self.made_by("0123456789ab"))
        self.git("init")
        first = self.commit()
        self.assertEqual(self.made_by(first), first)
        (self.root / "README.md").write_text("A page\n")
        second = self.commit()
        self.assertEqual(self.made_by(first), second)

    def test_other_sources_than_those_of_the_commit_are_marked(self):
        self.git("init")
        first = self.commit()
        self.source.write_text("2\n")
        self.assertEqual(self.made_by(first), f"{first}+")
        second = self.commit()
        self.assertEqual(self.made_by(first), f"{second}+")
        self.assertEqual(self.made_by(second), second)
        self.assertEqual(self.made_by(""), f"{second}+")
        self.source.with_name("new.rs").write_text("3\n")
        self.assertEqual(self.made_by(second), f"{second}+")

    def test_scenarios_with_other_results_than_in_a_commit_are_touched(self):
        self.git("init")
        folder = self.root / "atlas/safety"
        folder.mkdir(parents=True)
        for name in ("same", "other"):
            (folder / f"{name}.json").write_text('{"digest": "1", "commit": "a"}')
        base = self.commit()
        files = [self.root / f"scenarios/safety/{name}.toml" for name in ("same", "other", "new")]
        touched = lambda: [f.stem for f in atlas_choice.touched(self.root, files, base)]
        self.assertEqual(touched(), [])
        (folder / "same.json").write_text('{"digest": "1", "commit": "b"}')
        (folder / "other.json").write_text('{"digest": "2", "commit": "b"}')
        (folder / "new.json").write_text('{"digest": "1", "commit": "b"}')
        self.assertEqual(touched(), ["other", "new"])
        self.commit()
        self.assertEqual(touched(), ["other", "new"])
        with self.assertRaises(SystemExit):
            atlas_choice.touched(self.root, files, "0123456789ab")

    def test_results_that_do_not_move_keep_their_commit_unless_it_was_not_clean(self):
        old = {"digest": "d", "rows": []}
        named = lambda commit: {**old, "commit": commit}
        kept = atlas_rows.kept
        self.assertEqual(kept(named("a"), named("b")), named("a"))
        self.assertEqual(kept(named("a+"), named("b+")), named("a+"))
        self.assertEqual(kept(named("a+"), named("b")), named("b"))
        self.assertEqual(kept(old, named("b")), named("b"))
        self.assertEqual(kept(old, named("b+")), old)
        self.assertEqual(kept(named("a"), named(None)), named("a"))
        self.assertEqual(kept(None, named("b+")), named("b+"))
        other = {**named("b"), "digest": "e"}
        self.assertEqual(kept(named("a"), other), other)


class Moved(unittest.TestCase):
    """Expectations before and after."""

    def test_an_expectation_that_is_no_longer_met_is_named_whatever_others_are_new(self):
        def document(**passed):
            rows = [{"text": text, "passed": one} for text, one in passed.items()]
            return {"rows": [], "incomplete": [], "expectations": rows}

        old = document(fast=True, small=True)
        self.assertEqual(atlas_rows.moved(old, document(new=False, fast=True, small=True)), [])
        [line] = atlas_rows.moved(old, document(new=True, fast=True, small=False))
        self.assertEqual(line, "expectation small: True -> False")


if __name__ == "__main__":
    unittest.main()
