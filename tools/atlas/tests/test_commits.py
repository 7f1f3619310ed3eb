"""Tests of what depends on commits: which results name, and which scenarios they touch."""

import json
import subprocess
import unittest

from tools.atlas import choice, text
from tools.testing import folder


class Commits(unittest.TestCase):
    """A repository with a source, and results with the commit that they are from."""

    def setUp(self):
        self.root = folder(self)
        self.source = self.root / "crates/sim/src/lib.rs"
        self.source.parent.mkdir(parents=True)
        self.source.write_text("1\n")
        self.results = self.root / "out"
        self.results.mkdir()

    def made_by(self, built):
        """The commit of results of a command that was built from the commit `built`."""
        (self.results / "manifest.json").write_text(json.dumps({"commit": built}))
        return text.commit(self.root, self.results)

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
        results = self.root / "atlas/safety"
        results.mkdir(parents=True)
        for name in ("same", "other"):
            (results / f"{name}.json").write_text('{"digest": "1", "commit": "a"}')
        base = self.commit()
        files = [self.root / f"scenarios/safety/{name}.toml" for name in ("same", "other", "new")]
        touched = lambda: [f.stem for f in choice.touched(self.root, files, base)]
        self.assertEqual(touched(), [])
        (results / "same.json").write_text('{"digest": "1", "commit": "b"}')
        (results / "other.json").write_text('{"digest": "2", "commit": "b"}')
        (results / "new.json").write_text('{"digest": "1", "commit": "b"}')
        self.assertEqual(touched(), ["other", "new"])
        self.commit()
        self.assertEqual(touched(), ["other", "new"])
        with self.assertRaises(SystemExit):
            choice.touched(self.root, files, "0123456789ab")
