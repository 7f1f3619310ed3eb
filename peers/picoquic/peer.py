"""Downloads a file with picoquicdemo, and takes the times of the lines that it prints."""

import argparse
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.parse

# The lines of picoquicdemo that mark an event, and the event.
LINES = [
    (re.compile(r"Starting client connection\b"), "start"),
    (re.compile(r"Connection established\b"), "handshake"),
    (re.compile(r"Stream \d+ ended after (\d+) bytes"), "end"),
    (re.compile(r"(Zero RTT data is accepted)"), "zero_rtt"),
    (re.compile(r"(Stream \d+ reset|Connection ends? with .*|HTTP .* error.*)"), "error"),
]


def events(lines, clock):
    """Returns the first time and match of each event in `lines`."""
    found = {}
    for line in lines:
        now = clock()
        for pattern, event in LINES:
            match = pattern.search(line)
            if match and event not in found:
                found[event] = (now, match.group(match.lastindex or 0))
    return found


def lines_of(terminal):
    """Yields the lines of a terminal as they come, until its other end closes."""
    rest = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux reports a closed terminal as an input/output error.
            piece = b""
        if not piece:
            return
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode(errors="replace").rstrip() for line in whole)


def download(options):
    where = urllib.parse.urlsplit(options.url)
    output = pathlib.Path(options.output)
    folder = output.parent / "received"
    folder.mkdir(exist_ok=True)
    command = ["picoquicdemo", "-n", options.name, "-t", options.ca, "-o", str(folder), "-a", "h3"]
    # Streams by number; the second begins when the first has ended.
    scenario = f"0:{where.path};4:0:{options.then}" if options.then else where.path
    command += [*options.more, where.hostname, str(where.port), scenario]
    # The C library writes lines at once to a terminal, and in blocks to a pipe.
    ours, theirs = pty.openpty()
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)

    late = []

    def give_up(*_):
        late.append(f"not complete within {options.timeout:g} s")
        program.kill()

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(max(1, int(options.timeout)))
    found = events(lines_of(ours), time.monotonic)
    status = program.wait()
    since = lambda event: found[event][0] - found["start"][0] if event in found else None
    received = int(found["end"][1]) if "end" in found else 0
    result = {
        "bytes": received,
        "handshake_s": since("handshake"),
        "first_byte_s": None,
        "completion_s": since("end"),
        "protocol": "h3",
        "zero_rtt": "zero_rtt" in found,
    }
    print(json.dumps(result), flush=True)
    if "end" not in found:
        ended = [found["error"][1] if "error" in found else f"it ended with status {status}"]
        sys.exit(f"picoquicdemo: {(late or ended)[0]}")
    (folder / where.path.lstrip("/")).replace(output)


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "name", "ca", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--then", help="path of a second file, requested after the first")
    parser.add_argument("more", nargs="*", help="further options of picoquicdemo, after --")
    download(parser.parse_args())


if __name__ == "__main__":
    main()
