"""Files of compact results, and the digest and the commit that they are from."""

import hashlib
import json
import subprocess
import tomllib

# What decides the results of a run, besides its scenario.
SOURCES = ["Cargo.lock", ":(glob)crates/*/src/**"]


def has_ended(status, directory, begun):
    """Says whether `bentpipe run`, begun at this time and ended with `status`, wrote all results.

    Status 3 is also that of a study with a transfer that did not complete, which is a result.
    """
    manifest = directory / "manifest.json"
    if status != 3 or not manifest.exists() or manifest.stat().st_mtime < begun:
        return status in (0, 1)
    return json.loads(manifest.read_text())["complete"]


def head(root, file, directory):
    """The first entries of the results in `directory`, which are of the scenario in `file`.

    They name the scenario, the files that it names, and the digest of both.
    """
    manifest = json.loads((directory / "manifest.json").read_text())
    inputs = [entry["name"] for entry in manifest.get("inputs", [])]
    named = {"inputs": inputs} if inputs else {}
    return {"scenario": str(file.relative_to(root)), "digest": digest(file, inputs), **named}


def commit(root, directory):
    """Returns the commit in `root` that gave the results in `directory`; `None` in an archive.

    A `+` behind it says that they may be of other sources than that commit's: some are not
    committed, or they differ from those that the command was built from.
    """
    built = json.loads((directory / "manifest.json").read_text()).get("commit") or ""

    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)

    if not (root / ".git").exists():
        return None
    changed = git("status", "--porcelain", "--", *SOURCES).stdout
    same = git("diff", "--quiet", built, "HEAD", "--", *SOURCES).returncode == 0
    mark = "" if same and not changed else "+"
    return git("rev-parse", "--short=12", "HEAD").stdout.strip() + mark


def digest(file, inputs):
    """Returns a digest of the scenario in `file` and of `inputs`, the files that it names.

    It is of what the scenario says, whatever its comments, such as the reasons for expectations.
    """
    said = tomllib.loads(file.read_text())
    total = hashlib.sha256(json.dumps(said, default=str).encode())
    for name in inputs:
        total.update((file.parent / name).read_bytes())
    return total.hexdigest()[:16]


def text_of(document):
    """Returns the text of a file in atlas/: a row a line, so that differences can be read."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in value)
            inner = f"[\n{rows}\n  ]" if rows else "[]"
            parts.append(f"  {json.dumps(key)}: {inner}")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
