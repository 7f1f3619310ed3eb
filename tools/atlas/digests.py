"""Which scenarios have results in atlas/, and whether these are of the scenarios as they are.

Results carry a digest of their scenario and of the files that it names. docs-check refuses a
scenario that changed after its results were made at once, and not only when it runs again.
"""

import json
import pathlib

from tools.atlas.text import digest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Folders of scenarios/ in which each scenario has results. The book may quote examples besides.
FOLDERS = ["published", "conformance", "studies", "safety", "validation"]
# Results of measurements. Those of scenarios name them in `scenarios`, with their digests.
MEASURED = "measured"
# Scenarios that run on both clocks, for tools/atlas/clocks, which writes a file of results each.
TIMED = {
    "clocks": ["clocks-tcp", "clocks-tcp-short", "clocks-quic", "clocks-quic-short"],
    "applications": ["clocks-applications"],
}
# Scenarios with other programs, which run in real time only, and what makes their results.
REAL = {"clocks-hughes": "make hughes"}


def command(name):
    """The command that makes the results of the scenario `name` again."""
    return REAL.get(name, f"tools/atlas/run {name}")


def check(root=ROOT):
    """Returns what is wrong with the results, each with the command that mends it."""
    problems, found = [], set()
    for path in sorted((root / "atlas").glob("*/*.json")):
        shown = path.relative_to(root)
        if path.parent.name == MEASURED:
            problems += measured(json.loads(path.read_text()), shown, root)
            continue
        scenario = root / "scenarios" / path.parent.name / f"{path.stem}.toml"
        found.add(scenario)
        if not scenario.exists():
            problems.append(f"{shown}: no scenario has these results: git rm {shown}")
            continue
        document = json.loads(path.read_text())
        if why := stale(document, scenario, scenario.relative_to(root)):
            problems.append(f"{shown}: {why}: {command(path.stem)}")
    for folder in FOLDERS:
        for scenario in sorted((root / "scenarios" / folder).glob("*.toml")):
            if scenario not in found:
                shown = scenario.relative_to(root)
                problems.append(f"{shown}: no results in atlas/: {command(scenario.stem)}")
    return problems


def measured(document, shown, root):
    """Yields each scenario that has changed since it was measured."""
    for name, made in document.get("scenarios", {}).items():
        scenario = root / "scenarios" / "validation" / f"{name}.toml"
        if not scenario.exists() or digest(scenario, []) != made:
            why = f"of another version of {scenario.relative_to(root)}"
            yield f"{shown}: {why}: {document['measured_by']}"


def stale(document, scenario, shown):
    """Says why the results `document` are not those of `scenario`; `None` if they are."""
    try:
        now = digest(scenario, document.get("inputs", []))
    except FileNotFoundError as missing:
        return f"{missing.filename}, which its runs read, is gone"
    if document.get("scenario") != str(shown) or document.get("digest") != now:
        return f"of another version of {shown}"
    return None
