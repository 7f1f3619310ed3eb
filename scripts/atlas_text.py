"""Files of compact results, and the digest of the scenario that they are from."""

import hashlib
import json


def digest(file, directory):
    """Returns a digest of the scenario and of the files that it names."""
    manifest = json.loads((directory / "manifest.json").read_text())
    total = hashlib.sha256(file.read_bytes())
    for entry in manifest.get("inputs", []):
        total.update((directory / entry["file"]).read_bytes())
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
