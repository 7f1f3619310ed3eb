"""Shows how far cargo is, on the terminal: pip keeps what a build prints to itself without `-v`."""

import contextlib
import os
import re
import sys
import threading
import time

# Seconds between two lines.
INTERVAL = 10
# What cargo's progress bar says, for example `Building [====>   ] 123/310: ring`.
BAR = re.compile(rb"Building \[[=> ]*\] (\d+)/(\d+)")
# How cargo is asked for the bar although it writes to a pipe.
ALWAYS = {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "80"}


def say(line):
    """Prints a line, and shows it on the terminal if there is one."""
    print(line, flush=True)
    if sys.stdout.isatty():
        return
    with contextlib.suppress(OSError), open("/dev/tty", "w", encoding="utf-8") as terminal:
        # pip's spinner stands at the end of the current line.
        terminal.write(f"\r\x1b[K{line}\n")


@contextlib.contextmanager
def showing_progress():
    """Shows what cargo does meanwhile. Everything else on standard error passes unchanged."""
    say("bentpipe: compiling the extension module, about five minutes of processor time")
    before = {name: os.environ.get(name) for name in ALWAYS}
    start = time.monotonic()
    sys.stderr.flush()
    original = os.dup(2)
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.close(writer)
    relay = threading.Thread(target=_relay, args=(reader, original, start))
    relay.start()
    os.environ.update(ALWAYS)
    try:
        yield
    finally:
        sys.stderr.flush()
        # The last writer of the pipe: the thread reads its end.
        os.dup2(original, 2)
        relay.join()
        os.close(original)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    say(f"bentpipe: compiled in {time.monotonic() - start:.0f} s")


def _relay(reader, original, start):
    """Passes lines on from `reader` to `original`, but for those of the progress bar."""
    shown = start
    rest = b""
    with open(reader, "rb", buffering=0) as stream:
        while data := stream.read(65536):
            *lines, rest = re.split(rb"(?<=[\r\n])", rest + data)
            for line in lines:
                bar = BAR.search(line)
                now = time.monotonic()
                if bar is None:
                    os.write(original, line)
                elif now >= shown + INTERVAL:
                    shown = now
                    done, every = (int(number) for number in bar.groups())
                    say(f"bentpipe: compiled {done} of {every} crates after {now - start:.0f} s")
    os.write(original, rest)
