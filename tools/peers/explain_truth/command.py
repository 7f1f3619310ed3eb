"""Runs `bentpipe explain`, with a limit on its time, and measures the memory that it took."""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass


@dataclass
class Ended:
    """How a command ended. `status` is that of Popen: negative for a signal, None if it was ended
    here because it took too long."""

    status: int
    output: bytes
    error: str
    seconds: float
    memory_mb: float


def run(words, limit):
    """Runs a command for at most `limit` seconds."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
        began = time.monotonic()
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=error)
        late = False
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - began > limit and not late:
                late = True
                process.kill()
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        texts = []
        for file in (output, error):
            file.seek(0)
            texts.append(file.read())
    return Ended(None if late else process.returncode, texts[0], texts[1].decode(errors="replace"),
                 took, usage.ru_maxrss / 1000)


def keys_of(file):
    """The keys of a recorded file, if there are any and it needs them: a capture; or None."""
    keys = file.parent / "keys.txt"
    return keys if file.suffix.startswith(".pcap") and keys.exists() else None


def explain(bentpipe, file, keys=None, more=(), limit=60):
    """Explains a file. Returns (document or None, how the command ended)."""
    words = [bentpipe, "explain", file, "--json", *more, *(["--keys", keys] if keys else [])]
    ended = run(words, limit)
    if ended.status != 0:
        return None, ended
    try:
        return json.loads(ended.output), ended
    except ValueError:
        return None, ended


def reason(ended):
    """Why a file was refused, in a line."""
    if ended.status is None:
        return f"no answer in {ended.seconds:.0f} s"
    lines = ended.error.strip().splitlines()
    return lines[0] if lines else f"status {ended.status}, no JSON"
