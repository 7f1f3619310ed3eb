"""Tests of what counts as a fault of the command, with commands made here in its place."""

import os
import random
import unittest

from tools.peers.explain_truth import command, hostile
from tools.testing import folder


class Faults(unittest.TestCase):
    def fake(self, script):
        """A command that runs this script."""
        file = folder(self) / "bentpipe"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    def examined(self, script):
        return hostile.examine(self.fake(script), "name", b"data")

    def test_answers_and_refusals_are_none(self):
        self.assertIsNone(self.examined("echo '{}'")["wrong"])
        self.assertIsNone(self.examined("echo 'error: not a trace' >&2; exit 2")["wrong"])

    def test_crashes_are(self):
        self.assertIn("signal 11", self.examined("kill -SEGV $$")["wrong"])
        self.assertIn("panic", self.examined("echo 'thread panicked' >&2; exit 101")["wrong"])

    def test_no_json_and_no_word_are(self):
        self.assertIn("no JSON", self.examined("echo hello")["wrong"])
        self.assertIn("no JSON", self.examined("echo '{\"a\": NaN}'")["wrong"])
        self.assertIn("without a word", self.examined("exit 2")["wrong"])

    def test_a_command_that_hangs_is_ended(self):
        ended = command.run(["sleep", "30"], 0.1)
        self.assertIsNone(ended.status)
        self.assertLess(ended.seconds, 5)
        self.assertIn("took", hostile.wrong(ended))

    def test_memory_is_measured(self):
        program = "import sys; block = b'x' * 100_000_000; sys.stderr.write('end'); sys.exit(2)"
        ended = command.run(["python3", "-c", program], 30)
        self.assertGreater(ended.memory_mb, 90)
        ended.memory_mb = hostile.MEMORY_MB + 1
        self.assertIn("MB", hostile.wrong(ended))

    def test_files(self):
        self.assertEqual(len(hostile.FILES), 26)
        head = hostile.FILES["pcap-head-only"]()
        self.assertEqual(head[:4], b"\xd4\xc3\xb2\xa1")
        self.assertEqual(len(head), 24)

    def test_damage_follows_the_seed_and_changes_files(self):
        data = os.urandom(5_000)
        made = [hostile.damage(data, random.Random(seed)) for seed in range(50)]
        again = [hostile.damage(data, random.Random(seed)) for seed in range(50)]
        self.assertEqual(made, again)
        self.assertGreater(sum(copy != data for copy in made), 45)


if __name__ == "__main__":
    unittest.main()
