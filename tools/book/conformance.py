"""The page of conformance: cases whose right answer others wrote, with computed verdicts.

Made from atlas/conformance.toml, the scenarios in scenarios/conformance/ and their results in
atlas/conformance/; used by check, which refuses a page that differs.
"""

import json
import pathlib
import re
import tomllib

from tools.book.picture import number
from tools.book.tables import WrongMarker

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "atlas/conformance.toml"
PAGE = ROOT / "docs/src/validation/conformance.md"
CASE_KEYS = {"id", "what", "missing", "tests", "why", "ours"}
# Verdicts from the best to the worst.
VERDICTS = ["met", "met by ours", "tested", "missed", "no result", "not expressible"]
UNITS = {"completion_s": "s", "handshake_s": "s", "goodput_mbps": "Mbps", "rtt_mean_ms": "ms"}


class Check:
    """One limit of a case: what a scenario expects of a variant, and what was measured."""

    def __init__(self, scenario, fields, expect, result):
        self.scenario, self.id, self.variant = scenario, fields["label"], fields["variant"]
        self.metric, self.limit = fields["metric"], fields["value"]
        self.point = fields.get("point", {})
        # A limit from below, such as a rate, has the best that is possible above it.
        self.least = self.limit == expect.get("above")
        self.floor = expect.get("below" if self.least else "above")
        self.measured = result and result["measured"]
        self.passed = result and result["passed"]

    def value(self):
        """What was measured, in words; bold if the limit is missed."""
        if self.passed is None:
            return "–"
        said = "did not complete" if self.measured is None else number(self.measured)
        return said if self.passed else f"**{said}**"


def expectation(expects, fields):
    """Returns the index of the one expectation that has the limit of `fields`."""
    keys = ("metric", "variant", "flow", "point")
    found = [
        index
        for index, expect in enumerate(expects)
        if all(expect.get(key) == fields.get(key) for key in keys)
        and fields["value"] in (expect.get("below"), expect.get("above"))
    ]
    return found[0] if len(found) == 1 else None


def checks(root=ROOT):
    """Returns the checks of all scenarios by the id of their case."""
    found = {}
    for path in sorted((root / "scenarios/conformance").glob("*.toml")):
        document = tomllib.loads(path.read_text())
        results = root / "atlas/conformance" / f"{path.stem}.json"
        measured = json.loads(results.read_text())["expectations"] if results.exists() else None
        expects = document.get("expect", [])
        for fields in document.get("published", []):
            index = expectation(expects, fields)
            if index is None:
                said = f"{fields['label']}, {fields['variant']}, {fields['metric']}"
                where = path.relative_to(root)
                raise WrongMarker(f"{where}: no [[expect]] has the limit of {said}")
            result = measured[index] if measured else None
            check = Check(path.stem, fields, expects[index], result)
            found.setdefault(check.id, []).append(check)
    return found


class Case:
    """A case, with its verdict."""

    def __init__(self, fields, own, root=ROOT, ours="default"):
        self.id = fields.get("id", "?")
        where = f"atlas/conformance.toml: {self.id}"
        if unknown := set(fields) - CASE_KEYS:
            raise WrongMarker(f"{where}: {sorted(unknown)}; keys are {sorted(CASE_KEYS)}")
        kinds = [bool(own), "missing" in fields, "tests" in fields]
        if sum(kinds) != 1:
            raise WrongMarker(f"{where}: needs one of a scenario, `tests` and `missing`")
        self.what, self.why = fields["what"], fields.get("why", "")
        self.missing, self.tests = fields.get("missing"), fields.get("tests", [])
        self.checks, self.ours_is = own, fields.get("ours", ours)
        for test in self.tests:
            file, _, name = test.partition(": ")
            if not (root / file).exists() or f"fn {name}(" not in (root / file).read_text():
                raise WrongMarker(f"{where}: there is no test `{test}`")

    @property
    def verdict(self):
        """One of VERDICTS."""
        if self.missing:
            return "not expressible"
        if self.tests:
            return "tested"
        if any(check.passed is None for check in self.checks):
            return "no result"
        if all(check.passed for check in self.checks):
            return "met"
        ours = [check for check in self.checks if check.variant.startswith(self.ours_is)]
        return "met by ours" if ours and all(check.passed for check in ours) else "missed"

    @property
    def alone(self):
        """Whether the shipped default alone meets the limits; None if nothing was measured."""
        own = [check for check in self.checks if check.variant == "default"]
        own = own or [check for check in self.checks if check.variant.startswith("default-")]
        if not own or any(check.passed is None for check in own):
            return None
        return all(check.passed for check in own)

    def limits(self):
        """The limits of all checks, and whom each concerns if they differ."""
        return self.parts(lambda check: limit(check))

    def ours(self):
        """What was measured."""
        return self.parts(lambda check: check.value())

    def parts(self, said, checks=None):
        """A text for each check, by default of all, with the variants that share it."""
        checks = self.checks if checks is None else checks
        several = len({(check.metric, str(check.point)) for check in checks}) > 1
        groups = {}
        for check in checks:
            about = condition(check) if several else ""
            groups.setdefault((about, said(check)), []).append(check.variant)
        texts = []
        for (about, text), variants in groups.items():
            everyone = {check.variant for check in checks if condition(check) == about}
            same = not several and len(groups) == 1 or several and set(variants) == everyone
            whom = "" if same else ", ".join(dict.fromkeys(variants)) + " "
            texts.append(f"{about}{': ' if about else ''}{whom}{text}")
        return "; ".join(texts)

    def floor(self):
        """The floors of the checks, and what each concerns if they differ."""
        if not self.checks:
            return "–"
        known = [check for check in self.checks if check.floor is not None]
        if len({check.floor for check in known}) <= 1:
            return number(known[0].floor) if known else ""
        return self.parts(lambda check: number(check.floor), known)

    def reason(self):
        """What is missing, which tests decide, or why a limit is missed."""
        if self.missing:
            return f"missing: {self.missing}"
        names = [test.partition(": ")[2] for test in self.tests]
        tests = ", ".join(f"`{name}`" for name in names)
        return " ".join(filter(None, [tests and f"{tests}.", self.why]))

    def row(self):
        """The row of the table."""
        cells = [self.id, self.what, self.limits(), self.floor(), self.ours(), self.verdict]
        return f"| {' | '.join(cells)} | {self.reason()} |"


def limit(check):
    """The limit of a check in words."""
    unit = UNITS.get(check.metric, "")
    sign = "> " if check.least else ""
    return f"{sign}{number(check.limit)} {unit}".rstrip()


def condition(check):
    """What a check is about beside its variant."""
    metric = "" if check.metric == "completion_s" else f"`{check.metric}`"
    values = [re.sub(r"^(\d[\d.]*) .*", r"\g<0>", value) for value in check.point.values()]
    return ", ".join(filter(None, [metric, *values]))


def cases(root=ROOT):
    """Returns the document and its sections, each with its cases."""
    document = tomllib.loads((root / "atlas/conformance.toml").read_text())
    own = checks(root)
    sections = []
    for section in document["section"]:
        ours = section.get("ours", "default")
        found = [
            Case(fields, own.pop(fields.get("id"), []), root, ours) for fields in section["case"]
        ]
        sections.append((section, found))
    if own:
        raise WrongMarker(f"atlas/conformance.toml: no case has the id {', '.join(sorted(own))}")
    ids = [case.id for _, found in sections for case in found]
    if twice := {one for one in ids if ids.count(one) > 1}:
        raise WrongMarker(f"atlas/conformance.toml: {', '.join(sorted(twice))} is there twice")
    return document, sections


def summary(sections):
    """The table of verdicts by section."""
    every = [case for _, found in sections for case in found]
    shown = [verdict for verdict in VERDICTS if any(case.verdict == verdict for case in every)]
    head = f"| source | cases | {' | '.join(shown)} | the default alone |"
    lines = [head, "|---" * (len(shown) + 3) + "|"]
    whole = ("**all**", every)
    for title, found in [*((section["title"], found) for section, found in sections), whole]:
        counts = [str(sum(case.verdict == verdict for case in found) or "") for verdict in shown]
        met, of = alone(found)
        lines.append(
            f"| {title} | {len(found)} | {' | '.join(counts)} | {f'{met} of {of}' if of else ''} |"
        )
    return lines


def alone(found):
    """How many of `found` the shipped default alone meets, and of how many."""
    verdicts = [case.alone for case in found if case.alone is not None]
    return sum(verdicts), len(verdicts)


def together(titles, sections):
    """The sentence about the sections `titles` together."""
    met, of = alone([case for one, found in sections if one["title"] in titles for case in found])
    names = " and ".join(titles)
    if of == 0:
        return f"Nothing of {names} was measured."
    return f"Of the {of} cases of {names}, the default alone meets {met}: {100 * met / of:.1f} %."


def page(document, sections):
    """The text of the page."""
    lines = [
        "<!-- Made by `tools/book/check --write` from atlas/conformance.toml: edit that file. -->",
        "",
        "# Other people's tests",
        "",
        document["opening"].strip(),
        "",
        *summary(sections),
        "",
        "*Met by ours* means that Bentpipe as it is, or its preset for such paths, meets the "
        "limit, and a controller as its document says does not.",
        "*Tested* means that unit tests decide the case; what they assert has no floor.",
        "*The default alone* counts cases whose limits Bentpipe as it is meets, without a preset "
        "or another controller, also those that a source sets for one controller.",
        together(document["together"], sections),
        "A value in bold misses its limit.",
        "",
    ]
    for section, found in sections:
        lines += [f"## {section['title']}", "", f"Source: {section['source']}.", ""]
        lines += [section["about"].strip(), ""]
        lines += ["| case | what | limit | floor | ours | verdict | reason |", "|---" * 7 + "|"]
        lines += [*(case.row() for case in found), ""]
    return "\n".join(lines)


def check(write):
    """Compares the page with what it should be; returns what differs."""
    should = page(*cases())
    if PAGE.exists() and PAGE.read_text() == should:
        return []
    if write:
        PAGE.write_text(should)
        return []
    return [f"{PAGE.relative_to(ROOT)}: differs (--write corrects it)"]
