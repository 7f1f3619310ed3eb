"""Files of compact results, and the digest of the scenario that they are from."""

import hashlib
import json


def head(root, file, directory):
    """The first entries of the results in `directory`, which are of the scenario in `file`.

    They name the scenario, the files that it names, and the digest of both.
    """
    manifest = json.loads((directory / "manifest.json").read_text())
    inputs = [entry["name"] for entry in manifest.get("inputs", [])]
    named = {"inputs": inputs} if inputs else {}
    return {"scenario": str(file.relative_to(root)), "digest": digest(file, inputs), **named}


def digest(file, inputs):
    """Returns a digest of the scenario in `file` and of `inputs`, the files that it names."""
    total = hashlib.sha256(file.read_bytes())
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
