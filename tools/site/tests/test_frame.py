"""Tests of what the pages of the site share."""

import unittest

from tools.site import frame
from tools.testing import folder

LARGE = "var x = 1;\n" * 2000


class Shared(unittest.TestCase):
    """A report whose large parts move into files."""

    def setUp(self):
        self.assets = frame.Assets(folder(self) / "assets")

    def files(self):
        return {path.suffix: path for path in self.assets.directory.iterdir()}

    def test_large_scripts_move_and_small_ones_stay(self):
        text = frame.share(f"<script>small()</script><script>{LARGE}</script>", self.assets, "../")
        self.assertIn("<script>small()</script>", text)
        self.assertIn(f'<script src="../assets/{self.files()[".js"].name}"></script>', text)
        self.assertEqual(self.files()[".js"].read_text(), LARGE)

    def test_a_module_becomes_a_deferred_function(self):
        text = frame.share(f'<script type="module">{LARGE}</script>', self.assets, "")
        self.assertRegex(text, r'<script src="assets/report-\w+\.js" defer></script>')
        self.assertTrue(self.files()[".js"].read_text().startswith("(() => {"))

    def test_styles_move_and_the_policy_lets_both_load(self):
        page = ('<meta http-equiv="Content-Security-Policy" '
                "content=\"script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
                "<style>a { b: c }</style>")
        text = frame.share(page, self.assets, "")
        self.assertIn("script-src 'self' file: 'unsafe-inline'", text)
        self.assertIn("style-src 'self' file:", text)
        self.assertEqual(self.files()[".css"].read_text(), "a { b: c }")

    def test_equal_files_have_one_name_and_others_another(self):
        names = [self.assets.put("a", "js", text) for text in ("1", "1", "2")]
        self.assertEqual(names[0], names[1])
        self.assertNotEqual(names[0], names[2])


class Pages(unittest.TestCase):
    def test_a_page_marks_its_place_and_escapes_its_title(self):
        text = frame.page("../", "A < B", "gallery", "Gallery", "<p>body</p>")
        self.assertIn("<title>A &lt; B</title>", text)
        self.assertIn('<a href="../gallery/index.html" aria-current=page>Gallery</a>', text)
        self.assertEqual(text.count("aria-current"), 1)
