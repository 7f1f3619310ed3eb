"""Tests of the parts of a Debian package."""

import gzip
import os
import unittest
from unittest import mock

from tools.release import rpm
from tools.running import ROOT
from tools.testing import folder, program

package = program("release/package")


class Parts(unittest.TestCase):
    def test_the_newest_glibc_counts_by_numbers(self):
        symbols = "GLIBC_2.9 x\n(GLIBC_2.34) y\nGLIBC_2.2.5 z\nGCC_3.0\n"
        self.assertEqual(package.needed(symbols), "2.34")

    def test_an_rpm_owns_its_files_and_only_its_own_directories(self):
        place = folder(self)
        for name, mode in (("usr/bin/bentpipe", 0o755), ("usr/share/doc/bentpipe/a/b", 0o644)):
            path = place / name
            path.parent.mkdir(parents=True)
            path.write_text("")
            path.chmod(mode)
        self.assertEqual(rpm.names(place), [
            "%dir %attr(0755, root, root) /usr/share/doc/bentpipe",
            "%attr(0755, root, root) /usr/bin/bentpipe",
            "%dir %attr(0755, root, root) /usr/share/doc/bentpipe/a",
            "%attr(0644, root, root) /usr/share/doc/bentpipe/a/b"])

    def test_equal_files_are_packed_equally_whatever_their_names_and_dates(self):
        place, packed = folder(self), []
        for name, seconds in (("a", 1), ("b", 2)):
            path = place / name
            path.write_text("text\n" * 100)
            os.utime(path, (seconds, seconds))
            with mock.patch("time.time", return_value=seconds):
                package.pack(path)
            self.assertFalse(path.exists())
            packed.append((place / f"{name}.gz").read_bytes())
        self.assertEqual(*packed)
        self.assertEqual(gzip.decompress(packed[0]), b"text\n" * 100)

    def test_newer_files_get_the_date_and_older_ones_keep_theirs(self):
        place = folder(self)
        for name, seconds in (("old", 100), ("new", 300)):
            (place / name).write_text("")
            os.utime(place / name, (seconds, seconds))
        (place / "link").symlink_to("nowhere")
        package.date(place, 200)
        dates = {path.name: path.lstat().st_mtime for path in place.iterdir()}
        self.assertEqual(dates, {"old": 100, "new": 200, "link": 200})

    def test_files_of_the_repository_that_are_packed_exist(self):
        for name in (*package.FILES, *(f"packaging/debian/{one}" for one in package.SCRIPTS)):
            self.assertTrue((ROOT / name).is_file(), name)
