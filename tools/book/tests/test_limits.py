"""Tests of the list of limits."""

import unittest

from tools.book.index import Index
from tools.book.limits import Limits
from tools.book.tests.fake import Fake, repository
from tools.testing import folder

LIST = '''
[[area]]
id = "tcp"
title = "TCP"
see = "[more](concepts/tcp.md#limits)"

[[limit]]
id = "fast"
area = "tcp"
text = "There is no `fast` ([why](concepts/tcp.md))."
refused = "unknown key `fast`"
scenario = "[tcp]\\nfast = true\\n"

[[limit]]
id = "bursts"
text = "Losses come in bursts."
test = "losses_come_in_bursts"
'''


class Lists(unittest.TestCase):
    def setUp(self):
        self.root = folder(self).resolve()
        repository(self.root)
        self.page = self.root / "docs/src/guides/tcp.md"

    def limits(self, more="", text=LIST):
        (self.root / "limits.toml").write_text(text + more)
        return Limits(self.root / "limits.toml", self.root)

    def shown(self, more="", text=LIST):
        return list(self.limits(more, text).shown(Fake(), Index(self.root)))

    def test_limits_that_hold_pass(self):
        self.assertEqual(list(self.limits().problems()) + self.shown(), [])

    def test_a_false_limit_is_refused(self):
        more = '[[limit]]\nid = "none"\ntext = "x"\nrefused = "unknown"\nscenario = "slow = 1\\n"\n'
        [fault] = self.shown(more)
        self.assertIn("`none`", fault)
        self.assertIn("no longer refused", fault)

    def test_another_message_is_refused(self):
        [fault] = self.shown(text=LIST.replace("unknown key `fast`", "there is no `fast`"))
        self.assertIn("says something else: error: unknown key `fast`", fault)

    def test_evidence_that_is_gone_is_refused(self):
        start = '[[limit]]\nid = "x"\ntext = "x"\n'
        for evidence, part in (
            ('test = "losses_are_alone"', "no test `losses_are_alone`"),
            ('source = "fn gains"\nwithin = ["crates/link/src"]', "no line of crates/link/src"),
            ('absent = "loses"\nwithin = ["crates/link/src"]', "has `loses` now"),
            ('absent = "gains"\nwithin = ["crates/gone"]', "`crates/gone` does not exist"),
        ):
            [fault] = self.shown(start + evidence + "\n")
            self.assertIn(part, fault)

    def test_an_entry_needs_one_kind_of_evidence_and_a_known_area(self):
        start = '[[limit]]\nid = "x"\ntext = "x"\n'
        for more in ("", 'test = "a"\nsource = "b"\n', 'test = "a"\narea = "gone"\n', "why = 1\n"):
            self.assertEqual(len(list(self.limits(start + more).problems())), 1, more)

    def test_a_quote_is_renewed_with_links_from_its_page(self):
        text = "# T\n\n- Something else.<!-- limit: fast -->\nx<!-- limit: gone -->\n"
        changed, faults = self.limits().quotes(text, self.page)
        quote = "- There is no `fast` ([why](../concepts/tcp.md)).<!-- limit: fast -->\n"
        self.assertIn(quote, changed)
        self.assertEqual([line for line, _ in faults], [3, 4])
        _, faults = self.limits().quotes(changed.replace("gone", "fast"), self.page)
        self.assertEqual([line for line, _ in faults], [4])

    def test_the_list_of_areas_is_made(self):
        changed, faults = self.limits().quotes("<!-- limits: all -->\n<!-- end -->\n", self.page)
        self.assertIn("- **TCP.** There is no `fast`", changed)
        self.assertIn("  See [more](../concepts/tcp.md#limits).", changed)
        self.assertEqual(len(faults), 1)

    def test_limits_outside_the_list_are_named(self):
        text = "## Not implemented\n\n- A thing.\n- Losses come in bursts.<!-- limit: bursts -->\n"
        text += "## More\n\nOthers are not supported.\n"
        found = list(self.limits().check(text, self.page))
        self.assertEqual([line for line, _ in found], [3, 7])
        self.assertEqual(list(self.limits().check(text, self.root / "CHANGELOG.md")), [])

    def test_a_limit_without_a_page_is_named(self):
        [fault] = self.limits().untold([(self.page, "nothing")])
        self.assertIn("`bursts`", fault)


if __name__ == "__main__":
    unittest.main()
