"""How programs of all rooms run others."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def target():
    """cargo's directory for what it builds."""
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def run(*command, **options):
    """Runs a command in the repository; ends with its status if it fails."""
    done = subprocess.run(command, **{"cwd": ROOT, **options})
    if done.returncode:
        sys.exit(done.returncode)


def said(*command, **options):
    """Returns what a command prints, without the last end of line; ends with its status."""
    options = {"cwd": ROOT, "stdout": subprocess.PIPE, "text": True, **options}
    done = subprocess.run(command, **options)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout.removesuffix("\n")


def part(text):
    """The number and the count of a part, such as "3/12"; ends if it is none."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        program = pathlib.Path(sys.argv[0]).name
        sys.exit(f"{program}: --part {text}; allowed: 1/N to N/N, such as 3/12")
    return int(number), int(count)


def waited(condition, seconds=10):
    """Waits for a condition; returns its last value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


@contextlib.contextmanager
def running(*command, **options):
    """A process that is ended with the block, if it has not ended by then."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
