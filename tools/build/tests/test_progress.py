"""Tests of what a build of the Python package shows."""

import contextlib
import io
import os
import threading
import unittest

from tools.build.python import build_progress


class Relay(unittest.TestCase):
    """What cargo writes, and what passes."""

    def passed(self, *pieces, start):
        """What passes of the pieces, and what is said of the progress."""
        reader, writer = os.pipe()
        result, original = os.pipe()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            relay = threading.Thread(target=build_progress._relay, args=(reader, original, start))
            relay.start()
            for piece in pieces:
                os.write(writer, piece)
            os.close(writer)
            relay.join()
        os.close(original)
        with open(result, "rb") as stream:
            return stream.read(), said.getvalue()

    def test_lines_pass_unchanged_and_the_bar_does_not(self):
        bar = b"Building [====>   ] 123/310: ring\r"
        late = build_progress.time.monotonic()
        passed, said = self.passed(b"warning: one\nhalf ", bar, b"a line\nlast", start=late)
        self.assertEqual(passed, b"warning: one\na line\nlast")
        self.assertEqual(said, "")

    def test_the_bar_is_told_in_words_every_few_seconds(self):
        early = build_progress.time.monotonic() - build_progress.INTERVAL
        bars = [b"Building [>] 1/310: a\r", b"Building [=>] 2/310: b\r"]
        passed, said = self.passed(b"".join(bars), start=early)
        self.assertEqual(passed, b"")
        self.assertIn("compiled 1 of 310 crates", said)
        self.assertEqual(said.count("compiled"), 1)
