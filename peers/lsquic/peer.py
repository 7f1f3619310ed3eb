"""Downloads a file with lsquic's http_client, and takes the times that it prints."""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

# A line of times: what was timed, how many there were, and their mean in milliseconds.
TIMES = re.compile(r"^(.+): n: (\d+); .*mean: ([0-9.]+) ms", re.MULTILINE)


def times(text):
    """Returns the seconds of each line of times that has one sample."""
    return {what: float(mean) / 1000 for what, count, mean in TIMES.findall(text) if count == "1"}


def body(file):
    """Returns what `file` has after the header, which http_client writes before the content."""
    if not file.exists():
        return b""
    return file.read_bytes().partition(b"\r\n\r\n")[2]


def download(options, work):
    where = urllib.parse.urlsplit(options.url)
    anchors, received = work / "anchors", work / "received"
    anchors.mkdir()
    received.mkdir()
    # It reads the certificates whose names end in .pem.
    shutil.copy(options.ca, anchors / "ca.pem")
    command = ["http_client", "-H", options.name, "-s", f"{where.hostname}:{where.port}"]
    command += ["-p", where.path, "-7", received, "-C", anchors, "-t"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        ended = subprocess.run(command, text=True, timeout=options.timeout, **pipes)
    except subprocess.TimeoutExpired:
        sys.exit(f"http_client: not complete within {options.timeout:g} s")
    found = times(ended.stdout)
    connected, first = found.get("time for connect"), found.get("time to 1st byte")
    rest = found.get("time for request")
    complete = None not in (connected, first, rest)
    content = body(received / where.path.lstrip("/"))
    # Each time begins where the one before ends.
    result = {
        "bytes": len(content),
        "handshake_s": connected,
        "first_byte_s": connected + first if complete else None,
        "completion_s": connected + first + rest if complete else None,
        "protocol": "h3",
        "zero_rtt": False,
    }
    print(json.dumps(result), flush=True)
    if not complete:
        said = ended.stderr.strip().splitlines()
        sys.exit(f"http_client: {said[-1] if said else f'it ended with status {ended.returncode}'}")
    pathlib.Path(options.output).write_bytes(content)


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "name", "ca", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    folder = pathlib.Path(options.output).parent
    with tempfile.TemporaryDirectory(dir=folder) as work:
        download(options, pathlib.Path(work))


if __name__ == "__main__":
    main()
