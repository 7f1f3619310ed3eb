"""Tests of the check of links."""

import unittest

from tools.testing import folder, program

links = program("site/check-links")


class Links(unittest.TestCase):
    """A site of two pages."""

    def setUp(self):
        self.root = folder(self).resolve() / "site"
        (self.root / "book").mkdir(parents=True)
        (self.root.parent / "outside.html").write_text("")
        self.write("book/page.html", '<h1 id="part">A</h1><a name="old">B</a>')

    def write(self, name, text):
        (self.root / name).write_text(text)

    def faults(self, body):
        self.write("index.html", body)
        pages = {path: links.Page(path.read_text()) for path in self.root.rglob("*.html")}
        return list(links.faults(self.root, pages, self.root / "index.html"))

    def test_files_anchors_and_other_sites_pass(self):
        good = ("book/page.html", "book/page.html#part", "book/page.html#old", "#here",
                "https://example.org/", "mailto:a@example.org", "data:,")
        body = "".join(f'<a id="here" href="{link}">x</a>' for link in good)
        self.assertEqual(self.faults(body), [])

    def test_what_leads_nowhere_is_named(self):
        for link, why in (("book/none.html", "no such file"), ("book", "no such file"),
                          ("book/page.html#none", "no such anchor"), ("#none", "no such anchor"),
                          ("../outside.html", "no such file"),
                          ("/book/page.html", "root of a host"),
                          ("javascript:x()", "unknown scheme")):
            [fault] = self.faults(f'<a href="{link}">x</a>')
            self.assertIn(why, fault)

    def test_nothing_is_loaded_from_elsewhere(self):
        for body in ('<script src="https://example.org/x.js"></script>',
                     '<link rel="stylesheet" href="//example.org/x.css">',
                     '<img src="http://example.org/x.png">'):
            [fault] = self.faults(body)
            self.assertIn("from elsewhere", fault)
