"""Tests of the compiler that lints as it compiles, on small crates."""

import os
import shutil
import subprocess
import unittest

from tools.running import ROOT
from tools.testing import folder

MANIFEST = '[package]\nname = "one"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n'
LIBRARY = "//! Sums.\n\n/// One more than `a`.\npub fn more(a: u32) -> u32 {\n    a + 1\n}\n"
PROGRAM = "//! Calls [`one`].\n\nfn one() {}\n\nfn main() {\n    one();\n}\n"
EXAMPLE = "//! example [NAME]\n\nfn main() {}\n"


@unittest.skipUnless(shutil.which("clippy-driver"), "clippy is not installed")
class Compiled(unittest.TestCase):
    """What cargo says with it."""

    def built(self, library=LIBRARY, program=PROGRAM):
        """The status and the messages of a build of all targets."""
        crate = folder(self)
        for name, text in [("Cargo.toml", MANIFEST), ("src/lib.rs", library),
                           ("src/main.rs", program), ("examples/named.rs", EXAMPLE)]:
            path = crate / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        environment = {**os.environ, "CARGO_INCREMENTAL": "0", "CARGO_TARGET_DIR": "target",
                       "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "tools/check/compiler")}
        done = subprocess.run(["cargo", "test", "--offline", "--no-run"], cwd=crate, text=True,
                              env=environment, capture_output=True)
        return done.returncode, done.stderr

    def test_what_is_right_is_compiled(self):
        status, said = self.built()
        self.assertEqual(status, 0, said)

    def test_a_lint_of_clippy_is_an_error(self):
        status, said = self.built(LIBRARY.replace("    a + 1", "    return a + 1;"))
        self.assertNotEqual(status, 0)
        self.assertIn("clippy::needless-return", said)

    def test_a_link_to_nothing_is_an_error(self):
        status, said = self.built(LIBRARY.replace("`a`", "[`b`]"))
        self.assertNotEqual(status, 0)
        self.assertIn("unresolved link to `b`", said)

    def test_a_warning_in_a_test_is_an_error(self):
        status, said = self.built(LIBRARY + "\n#[test]\nfn test() {\n    let unused = 1;\n}\n")
        self.assertNotEqual(status, 0)
        self.assertIn("unused variable", said)


if __name__ == "__main__":
    unittest.main()
