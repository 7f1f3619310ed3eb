"""Tests of the parts of a Debian package."""

import gzip
import os
import subprocess
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

    def test_a_unit_that_does_not_start_keeps_no_other_from_being_upgraded(self):
        debian = (ROOT / "packaging/debian/postinst").read_text()
        spec = (ROOT / "packaging/rpm/bentpipe.spec").read_text()
        rpm_script = "#!/bin/sh\nset -e\n" + spec.split("%post\n")[1].split("\n#")[0]
        for script, words in ((debian, ["configure", "0.1.0"]), (rpm_script, ["2"])):
            place = folder(self)
            statuses = {"systemctl": 1, "systemd-sysusers": 0, "systemd-tmpfiles": 0}
            for name, status in statuses.items():
                (place / name).write_text(
                    f'#!/bin/sh\necho "{name} $*" >> {place}/called\nexit {status}\n')
                (place / name).chmod(0o755)
            file = place / "script"
            file.write_text(script.replace("/run/systemd/system", str(place)))
            env = {"PATH": f"{place}:{os.environ['PATH']}"}
            subprocess.run(["sh", file, *words], env=env, check=True)
            called = (place / "called").read_text().splitlines()
            self.assertEqual([line.split()[1:] for line in called if "bentpipe-" in line], [
                ["try-reload-or-restart", "bentpipe-front.service"],
                ["try-restart", "bentpipe-serve.service"],
                ["try-restart", "bentpipe-proxy.service"],
                ["try-restart", "bentpipe-pep.service"]])

    def test_files_of_the_repository_that_are_packed_exist(self):
        for name in (*package.FILES, *(f"packaging/debian/{one}" for one in package.SCRIPTS)):
            self.assertTrue((ROOT / name).is_file(), name)
