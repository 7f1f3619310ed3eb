"""Which scenarios a call of tools/atlas/run runs: a part of all, and those that commits touch."""

import json
import subprocess
import sys

from tools import running
from tools.atlas.rows import same


def estimates(root, bentpipe, files, extra):
    """Returns what `run --dry-run` says of each file."""
    if not files:
        return []
    command = [bentpipe, "run", "--dry-run", "--json", *extra, *files]
    output = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True).stdout
    documents = json.loads(output)
    return documents if isinstance(documents, list) else [documents]


def part_of(files, seconds, part):
    """Returns the K-th of N parts of `files` that take about as long; `part` is "K/N"."""
    number, count = running.part(part)
    loads = [0.0] * count
    parts = [[] for _ in range(count)]
    for file in sorted(files, key=lambda file: -seconds[file]):
        least = loads.index(min(loads))
        parts[least].append(file)
        loads[least] += seconds[file]
    return [file for file in files if file in parts[number - 1]]


def touched(root, files, commit):
    """Returns those of `files` whose results in atlas/ differ from those in `commit`.

    Results carry the digest of their scenario and its inputs, so that these are compared, too. A
    scenario that has results at one of the two alone is one of them.
    """
    known = subprocess.run(["git", "cat-file", "-e", commit], cwd=root, capture_output=True)
    if known.returncode != 0:
        sys.exit(f"tools/atlas/run: --touched {commit}: no such commit here")

    def differs(file):
        path = f"atlas/{file.parent.name}/{file.stem}.json"
        old = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=root, capture_output=True)
        now = root / path
        texts = [old.stdout or "null", now.read_text() if now.exists() else "null"]
        return not same(*map(json.loads, texts))

    return [file for file in files if differs(file)]


def within(files, seconds, limit):
    """Splits `files` into those that take `limit` seconds in all, shortest first, and the rest."""
    chosen, total = set(), 0.0
    for file in sorted(files, key=lambda file: seconds[file]):
        total += seconds[file]
        if total <= limit:
            chosen.add(file)
    return [f for f in files if f in chosen], [f for f in files if f not in chosen]
