"""Tests of the check of layout: circles, long lines and functions, and decisions."""

import unittest

from tools.testing import folder, program

layout = program("check/layout")


class Circles(unittest.TestCase):
    """Crates of a few files."""

    def circles(self, **files):
        """The circles of a crate whose files have these texts; `a__b` is a/b.rs."""
        source = folder(self)
        for name, text in files.items():
            path = source / f"{name.replace('__', '/')}.rs"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return layout.Crate(source).circles()

    def test_two_files_that_use_each_other(self):
        self.assertEqual(self.circles(lib="mod a;\nmod b;\n", a="use crate::b::B;\npub struct A;\n",
                                      b="use crate::a::A;\npub struct B;\n"), [[("a",), ("b",)]])

    def test_a_path_in_code_is_a_use_and_one_in_a_comment_is_not(self):
        other = "use crate::a::A;\npub struct B;\n"
        code = "pub struct A;\nfn f() { crate::b::g(); }\n"
        self.assertEqual(len(self.circles(lib="", a=code, b=other)), 1)
        comment = "/// See crate::b::B.\npub struct A;\nconst T: &str = \"crate::b::B\";\n"
        self.assertEqual(self.circles(lib="", a=comment, b=other), [])
        raw = 'pub struct A;\nconst T: &str = r#"one quote: " crate::b::g()"#;\n'
        self.assertEqual(self.circles(lib="", a=raw, b=other), [])

    def test_three_files_in_a_row_and_in_a_circle(self):
        use = "use crate::{}::X;\npub struct X;\n"
        row = {"a": use.format("b"), "b": use.format("c"), "c": "pub struct X;\n"}
        self.assertEqual(self.circles(lib="", **row), [])
        self.assertEqual(len(self.circles(lib="", **{**row, "c": use.format("a")})[0]), 3)

    def test_an_item_that_a_parent_passes_on_is_that_of_its_file(self):
        files = {"lib": "", "m__mod": "mod a;\nmod b;\npub use a::A;\npub use b::B;\n",
                 "m__a": "use super::B;\npub struct A;\n", "m__b": "pub struct B;\n"}
        self.assertEqual(self.circles(**files), [])
        files["m__b"] = "use super::A;\npub struct B;\n"
        self.assertEqual(self.circles(**files), [[("m", "a"), ("m", "b")]])

    def test_tests_are_exempt(self):
        inner = "pub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n"
        self.assertEqual(self.circles(lib="", a=inner, b="use crate::a::A;\npub struct B;\n"), [])

    def test_a_use_of_several_paths(self):
        self.assertEqual(layout.tree("crate::{a, b::{self, C as D}}"),
                         ["crate::a", "crate::b::self", "crate::b::C"])


class Lines(unittest.TestCase):
    """Files of a repository."""

    def setUp(self):
        self.root = folder(self)
        self.addCleanup(setattr, layout, "HERE", layout.HERE)
        layout.HERE = self.root
        (self.root / "crates/one/src").mkdir(parents=True)

    def found(self, text):
        (self.root / "crates/one/src/lib.rs").write_text(text)
        return list(layout.lines_and_lengths())

    def test_a_long_line_is_named_and_data_in_raw_strings_is_exempt(self):
        [line] = self.found("fn f() {}\n//" + "x" * 99 + "\n")
        self.assertEqual(line, "crates/one/src/lib.rs:2: 101 characters; at most 100")
        self.assertEqual(self.found('const T: &str = r#"' + "x" * 200 + '"#;\n'), [])
        self.assertEqual(self.found("//" + "x" * 98 + "\n"), [])

    def test_a_long_file_is_named(self):
        self.assertEqual(self.found("\n" * layout.LENGTH), [])
        [line] = self.found("\n" * (layout.LENGTH + 1))
        self.assertIn(f"{layout.LENGTH + 1} lines", line)

    def test_a_long_style_sheet_is_named(self):
        style = self.root / "studio/src/style"
        style.mkdir(parents=True)
        (style / "page.css").write_text("\n" * (layout.LENGTH + 1))
        self.assertIn("studio/src/style/page.css", *layout.lines_and_lengths())

    def test_python_that_writes_a_file_itself_is_named(self):
        place = self.root / "python/bentpipe"
        place.mkdir(parents=True)
        reads = 'open(name, encoding="utf-8")\npath.read_text()\n# path.write_text("")\n'
        (place / "a.py").write_text(reads)
        self.assertEqual(list(layout.python_writes()), [])
        for writes in ('path.write_text(page)', 'open(name, "w")', "path.open('xb')",
                       'os.makedirs(name)'):
            (place / "a.py").write_text(reads + writes)
            [line] = layout.python_writes()
            self.assertIn("python/bentpipe/a.py:4: follows links", line)


class Decisions(unittest.TestCase):
    """A folder of two decisions, the numbers 1 and 4."""

    def setUp(self):
        root = folder(self)
        self.addCleanup(setattr, layout, "HERE", layout.HERE)
        layout.HERE = root
        self.place = root / "docs/decisions"
        self.place.mkdir(parents=True)
        self.write(("0001-one.md", "# 1. One\n"), ("0004-four.md", "# 4. Four\n"), (
            "README.md", "| 1 | [One](0001-one.md) | x |\n| 4 | [Four](0004-four.md) | x |\n\n"
            "No decision has the number 2 or 3.\n"))

    def write(self, *pages):
        for name, text in pages:
            (self.place / name).write_text(text)

    def test_short_pages_that_the_index_names_pass(self):
        self.assertEqual(list(layout.decisions()), [])
        self.write(("0001-one.md", "# 1. One\n" + "word " * (layout.WORDS - 3)))
        self.assertEqual(list(layout.decisions()), [])

    def test_a_page_of_too_many_words_is_named(self):
        self.write(("0001-one.md", "# 1. One\n" + "word " * (layout.WORDS - 2)))
        [line] = layout.decisions()
        self.assertIn("docs/decisions/0001-one.md: 601 words; at most 600", line)

    def test_a_title_that_the_index_does_not_have_is_named(self):
        self.write(("0004-four.md", "# 4. Five\n"))
        [line] = layout.decisions()
        self.assertIn("README.md has no row that begins with `| 4 | [Five](0004-four.md) |`", line)

    def test_a_number_that_is_not_the_files_is_named(self):
        self.write(("0004-four.md", "# 5. Four\n"))
        self.assertIn("the first line is not `# 4. TITLE`", list(layout.decisions())[0])

    def test_numbers_without_a_page_are_named(self):
        self.write(("0002-two.md", "# 2. Two\n"))
        self.assertIn("lacks `No decision has the number 3.`", list(layout.decisions())[-1])


class Functions(unittest.TestCase):
    """Functions of Python."""

    def test_a_function_of_more_than_80_lines_is_named(self):
        text = "def short():\n" + "    pass\n" * 79 + "\n\ndef long():\n" + "    pass\n" * 80
        self.assertEqual(
            list(layout.long_functions(text, "tool")),
            ["tool:83: long has 81 lines; at most 80"],
        )
