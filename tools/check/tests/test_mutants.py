"""Tests of what compiles all mutants into one build."""

import unittest

from tools.testing import folder, program

mutants = program("check/mutants")
SOURCE = """\
impl A {
    pub const fn more(self, than: u32) -> bool {
        self.0 > than
    }
}
"""


def at(line, column):
    return {"line": line, "column": column}


class Instrumented(unittest.TestCase):
    """A function with two mutants."""

    def setUp(self):
        self.path = folder(self) / "a.rs"
        self.path.write_text(SOURCE)
        function = {"span": {"start": at(2, 5), "end": at(4, 6)}}
        self.listed = [
            {"number": 1, "genre": "BinaryOperator", "replacement": "==", "function": function,
             "span": {"start": at(3, 16), "end": at(3, 17)}},
            {"number": 2, "genre": "FnValue", "replacement": "true", "function": function,
             "span": {"start": at(3, 9), "end": at(3, 22)}},
        ]

    def test_each_mutant_is_a_branch_and_the_function_itself_the_last(self):
        mutants.instrument(self.path, self.listed)
        text = self.path.read_text()
        self.assertIn("pub fn more(self, than: u32) -> bool { match crate::mutant_switch() {", text)
        self.assertRegex(text, r"1u32 => \{ // BEGIN 1\s+self\.0 == than\s+\} // END 1")
        self.assertRegex(text, r"2u32 => \{ // BEGIN 2\s+true\s+\} // END 2")
        self.assertRegex(text, r"_ => \{\s+self\.0 > than\s+\} \}")
        self.assertEqual(text.count("{"), text.count("}"))

    def test_an_error_belongs_to_the_mutant_in_whose_branch_it_is(self):
        mutants.instrument(self.path, self.listed)
        lines = self.path.read_text().splitlines()
        named = lambda part: mutants.mutants_at(self.path.parent, {
            "file_name": self.path.name,
            "line_start": 1 + next(n for n, line in enumerate(lines) if part in line),
        })
        self.assertEqual(named("self.0 == than"), [1])
        self.assertEqual(named("self.0 > than"), [])

    def test_a_removed_field_takes_its_comma(self):
        text = "S { a: 1, b: 2 }"
        mutant = {"genre": "StructField", "replacement": "",
                  "span": {"start": at(1, 5), "end": at(1, 9)}}
        self.assertEqual(mutants.mutated(text, [text], mutant, 0, len(text)), "S {  b: 2 }")
