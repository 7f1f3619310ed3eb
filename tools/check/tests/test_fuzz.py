"""Tests of the summaries of fuzzing, and of the inputs that it begins with."""

import unittest

from tools.testing import folder, program

fuzz = program("check/fuzz")


class Summaries(unittest.TestCase):
    def test_the_number_of_inputs_or_the_input_that_fails(self):
        log = "#2\tINITED\nDone 512 runs in 61 second(s)\nstat::number: 1\n"
        self.assertEqual(fuzz.summary("toml", 0, log),
                         "toml: nothing found, 512 runs in 61 second(s)")
        log = "prefix='x'; Test unit written to fuzz/artifacts/toml/crash-1\nBase64: eA==\n"
        self.assertEqual(fuzz.summary("toml", 77, log), "toml: FOUND: fuzz/artifacts/toml/crash-1")
        self.assertEqual(fuzz.summary("toml", 1, "error: could not compile\n"), "toml: FOUND: ")


class Inputs(unittest.TestCase):
    def test_each_line_is_an_input(self):
        place = folder(self)
        (place / "corpus.txt").write_text("00ff\n41\n")
        fuzz.begin(place / "corpus.txt", place / "inputs")
        found = {path.name: path.read_bytes() for path in (place / "inputs").iterdir()}
        self.assertEqual(found, {"test-0": b"\x00\xff", "test-1": b"A"})
