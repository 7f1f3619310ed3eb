"""The command ``bentpipe``."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig

from . import _bentpipe


def main() -> int:
    """Run the command line of this process, and return the exit status."""
    # The command handles signals itself, and none of Python's code runs while it does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _bentpipe.main(["bentpipe", *sys.argv[1:]], _program())


def _program() -> str:
    """Return the executable that the command starts itself with, for QUIC endpoints."""
    installed = os.path.join(sysconfig.get_path("scripts"), "bentpipe")
    if os.access(installed, os.X_OK):
        return installed
    return os.path.abspath(sys.argv[0])


if __name__ == "__main__":
    sys.exit(main())
