"""Tests of the check of the report page's packages."""

import contextlib
import io
import json
import unittest

from tools.testing import folder, program

deny = program("check/deny")


class Licences(unittest.TestCase):
    def found(self, **package):
        root = folder(self)
        self.addCleanup(setattr, deny, "ROOT", deny.ROOT)
        deny.ROOT = root
        (root / "studio").mkdir()
        (root / "deny.toml").write_text('[licenses]\nallow = ["MIT", "ISC"]\n')
        package = {"integrity": "sha512-x", **package}
        package = {key: value for key, value in package.items() if value}
        lock = {"packages": {"": {}, "node_modules/one": package}}
        (root / "studio/package-lock.json").write_text(json.dumps(lock))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            return deny.page_licences(), said.getvalue()

    def test_a_licence_that_is_allowed_or_one_of_several_passes(self):
        self.assertEqual(self.found(license="MIT"), (True, ""))
        self.assertEqual(self.found(license="(GPL-3.0 OR ISC)"), (True, ""))

    def test_another_licence_and_none_are_refused_but_in_tools(self):
        self.assertIn("licence GPL-3.0", self.found(license="GPL-3.0")[1])
        self.assertFalse(self.found()[0])
        self.assertTrue(self.found(license="GPL-3.0", dev=True)[0])

    def test_a_package_without_a_digest_is_refused(self):
        passed, said = self.found(license="MIT", integrity=None)
        self.assertFalse(passed)
        self.assertIn("no digest", said)
