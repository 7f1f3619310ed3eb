"""Tests of the files of compact results."""

import json
import os
import unittest

from tools.atlas import text
from tools.testing import folder


class Texts(unittest.TestCase):
    def test_a_row_is_a_line_and_the_file_is_json(self):
        document = {"seed": 1, "rows": [{"a": 1}, {"a": "µ"}], "none": []}
        said = text.text_of(document)
        self.assertEqual(json.loads(said), document)
        self.assertIn('\n    {"a": "µ"}\n', said)


class Digest(unittest.TestCase):
    """What a digest depends on."""

    def setUp(self):
        self.file = folder(self) / "one.toml"
        self.file.write_text("seed = 1\n")

    def test_it_depends_on_values_and_inputs_alone(self):
        before = text.digest(self.file, [])
        self.file.write_text("# Why.\nseed = 1\n")
        self.assertEqual(text.digest(self.file, []), before)
        self.file.with_name("trace.txt").write_text("1\n")
        self.assertNotEqual(text.digest(self.file, ["trace.txt"]), before)
        self.file.write_text("seed = 2\n")
        self.assertNotEqual(text.digest(self.file, []), before)


class Ended(unittest.TestCase):
    """Whether a run wrote its results."""

    def setUp(self):
        self.directory = folder(self)
        self.manifest = self.directory / "manifest.json"

    def ended(self, status, begun=100.0):
        return text.has_ended(status, self.directory, begun)

    def test_failed_expectations_are_results_and_errors_are_not(self):
        self.assertTrue(self.ended(0) and self.ended(1))
        self.assertFalse(self.ended(2) or self.ended(3))

    def test_an_incomplete_transfer_is_a_result_if_the_manifest_is_new_and_whole(self):
        self.manifest.write_text('{"complete": true}')
        os.utime(self.manifest, (200, 200))
        self.assertTrue(self.ended(3))
        self.assertFalse(self.ended(3, begun=300.0))
        self.manifest.write_text('{"complete": false}')
        self.assertFalse(self.ended(3))
