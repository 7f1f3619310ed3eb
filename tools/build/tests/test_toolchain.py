"""Tests of the search for compilers."""

import os
import unittest
from unittest import mock

from tools.build import toolchain
from tools.testing import folder


class Tools(unittest.TestCase):
    """A directory of tools, alone in PATH."""

    def setUp(self):
        self.place = folder(self)
        change = mock.patch.dict(os.environ, {"PATH": str(self.place)})
        change.start()
        self.addCleanup(change.stop)

    def install(self, *names):
        for name in names:
            (self.place / name).write_text("")
            (self.place / name).chmod(0o755)

    def test_the_newest_version_is_taken_and_an_old_one_only_without_any_other(self):
        self.assertIsNone(toolchain.tool("clang"))
        self.install("clang-16", "clang-9")
        self.assertEqual(toolchain.tool("clang"), str(self.place / "clang-16"))
        self.install("clang")
        self.assertEqual(toolchain.tool("clang"), str(self.place / "clang"))
        self.install("clang-19", "clang-20")
        self.assertEqual(toolchain.tool("clang"), str(self.place / "clang-20"))

    def test_a_tool_of_any_version_counts_and_others_with_its_name_do_not(self):
        self.install("llvm-ar-x", "wasm-ld-19-wrapper")
        self.assertFalse(toolchain.has_tool("llvm-ar") or toolchain.has_tool("wasm-ld"))
        self.install("llvm-ar-9")
        self.assertTrue(toolchain.has_tool("llvm-ar"))

    def test_versions_are_those_of_the_lock_file(self):
        entry = '[[package]]\nname = "{}"\nversion = "{}"\n'
        lock = entry.format("a", "1.2.3") + entry.format("b", "4")
        self.assertEqual(toolchain.locked("b", lock), "4")
