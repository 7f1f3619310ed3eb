"""Tests of links between the book and research/."""

import json
import subprocess
import unittest

from tools.book.places import crosslinks, link, place
from tools.testing import HERE


class Places(unittest.TestCase):
    """Pages, where they are published, and how they lead to each other."""

    PAGE = "docs/src/concepts/tcp.md"

    def test_pages_of_both_books_have_a_place(self):
        self.assertEqual(place(self.PAGE), "book/concepts/tcp.html")
        self.assertEqual(place("research/README.md"), "research/index.html")
        self.assertEqual(place("research/atlas/a.svg"), "research/atlas/a.svg")

    def test_links_to_the_other_book_lead_to_its_published_page(self):
        text = "See [a](../../../research/tcp.md#theory) and [b](../../../research/README.md)."
        should = "See [a](../../research/tcp.html#theory) and [b](../../research/index.html)."
        self.assertEqual(crosslinks(text, self.PAGE), should)
        back = "[c](../docs/src/concepts/tcp.md#rack)"
        self.assertEqual(crosslinks(back, "research/tcp.md"), "[c](../book/concepts/tcp.html#rack)")

    def test_links_within_a_book_and_to_elsewhere_stay(self):
        for text in ("[a](quic.md#ack)", "[a](#here)", "[a](https://example.org/research/tcp.md)",
                     "[a](../images/globe.png)", "`[a]`"):
            self.assertEqual(crosslinks(text, self.PAGE), text)

    def test_a_link_can_be_quoted_by_another_page(self):
        quoted = link("tcp.md#theory", "research/atlas.md", "gallery/chain.html")
        self.assertEqual(quoted, "../research/tcp.html#theory")
        quoted = link("../docs/src/validation/safety.md", "research/atlas.md", "gallery/chain.html")
        self.assertEqual(quoted, "../book/validation/safety.html")


class Preprocessor(unittest.TestCase):
    """The command as mdBook runs it."""

    def run_it(self, *arguments, given=""):
        command = [HERE / "book/crosslinks", *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True)

    def test_it_supports_every_renderer(self):
        self.assertEqual(self.run_it("supports", "html").stdout, "")

    def test_it_changes_chapters_and_those_below_them(self):
        def chapter(path, *below):
            content = "[a](../../research/tcp.md)"
            return {"Chapter": {"content": content, "source_path": path, "sub_items": list(below)}}

        items = [chapter("one.md", chapter("two.md")), "Separator", chapter(None)]
        context = {"config": {"preprocessor": {"crosslinks": {"pages": "docs/src"}}}}
        given = json.dumps([context, {"items": items}])
        [one, separator, draft] = json.loads(self.run_it("html", given=given).stdout)["items"]
        changed = "[a](../research/tcp.html)"
        self.assertEqual(one["Chapter"]["content"], changed)
        self.assertEqual(one["Chapter"]["sub_items"][0]["Chapter"]["content"], changed)
        self.assertEqual(separator, "Separator")
        self.assertEqual(draft, chapter(None))
