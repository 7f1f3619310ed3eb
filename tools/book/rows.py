"""The atlas page: every published row with a picture and a verdict that is computed.

Made from atlas/rows.toml and the results in atlas/; used by check, which refuses a page or a
picture that differs.
"""

import math
import pathlib
import tomllib

from tools.book import picture
from tools.book.atlas import load, selected, selection
from tools.book.cells import Cell
from tools.book.tables import WrongMarker

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ROOT / "atlas" / "rows.toml"
PAGE = ROOT / "research/atlas.md"
PICTURES = ROOT / "research/atlas"
SOURCE_KEYS = {"id", "title", "who", "section"}
ROW_KEYS = {
    "source", "id", "title", "unit", "where", "figures", "order", "details", "known", "tried",
    "other",
}
FIGURE_KEYS = {"label", "published", "low", "high", "key", "ours", "chosen"}
NEAR, FAR = 1.1, 1.5
# Verdicts from the best to the worst, with their marks.
MARKS = {
    "within 10 %": "●",
    "within 1.5": "◐",
    "direction only": "◔",
    "not reproduced": "○",
    "as claimed": "●",
    "not as claimed": "○",
}


class Figure:
    """A figure of a row of `file`: what is published, and our median with its interval."""

    def __init__(self, fields, where, file="atlas/rows.toml"):
        unknown = set(fields) - FIGURE_KEYS
        if unknown or "label" not in fields:
            raise WrongMarker(f"{file}: figure {fields}: keys are {sorted(FIGURE_KEYS)}")
        self.label = fields["label"]
        self.published = fields.get("published")
        self.low, self.high = fields.get("low"), fields.get("high")
        self.chosen = fields.get("chosen", False)
        place = fields.get("ours") or where.replace("{}", fields.get("key", self.label))
        scenario, *conditions, cell = (part.strip() for part in place.split(";"))
        every, cell = load(scenario), Cell(cell)
        rows = selected(every, selection(conditions))
        value = cell.value(rows, every)
        if value is None:
            raise WrongMarker(f"{file}: no value fits `{place}`")
        self.scenario, self.metric = scenario, cell.metric
        self.ours = value * cell.factor
        self.interval = cell.interval(rows, every)
        self.runs = next(row["n"] for row in rows if row["metric"] == cell.metric)

    def extent(self):
        """Every value that the axis has to show."""
        named = [self.ours, self.published, self.low, self.high, *(self.interval or [])]
        return [value for value in named if value is not None]

    def ratio(self):
        """Ours over the published figure, or over the nearest end of the published range."""
        if self.published is not None:
            return self.ours / self.published
        if self.low is not None and self.ours < self.low:
            return self.ours / self.low
        if self.high is not None and self.ours > self.high:
            return self.ours / self.high
        return 1.0

    def words(self):
        """The figure in words, for those who do not see the picture."""
        number = picture.number
        said = picture.claimed(self)
        source = "" if said == "–" else f"published {said}, "
        ends = [number(end) for end in self.interval or []]
        interval = f" ({ends[0]} to {ends[1]})" if ends else ""
        return f"{self.label}: {source}ours {number(self.ours)}{interval}"


def order(figures, labels):
    """Whether ours are in this order: `yes`, `no`, or `open` if intervals overlap."""
    named = {figure.label: figure for figure in figures}
    pairs = [(named[a], named[b]) for a, b in zip(labels, labels[1:])]
    if any(a.ours <= b.ours for a, b in pairs):
        return "no"
    apart = (not (a.interval and b.interval) or a.interval[0] > b.interval[1] for a, b in pairs)
    return "yes" if all(apart) else "open"


def verdict(figures, labels):
    """Returns the verdict on a row, and what is said besides about its order."""
    counted = [figure for figure in figures if not figure.chosen]
    ordered = order(figures, labels) if labels else None
    if all(figure.published is None and None in (figure.low, figure.high) for figure in counted):
        # Only bounds, or only an order.
        met = all(figure.ratio() == 1 for figure in counted) and ordered in (None, "yes")
        return ("as claimed" if met else "not as claimed"), ""
    ratios = [figure.ratio() for figure in counted]
    signed = all(ratio > 0 for ratio in ratios)
    worst = max(max(ratio, 1 / ratio) for ratio in ratios) if signed else math.inf
    if worst > FAR:
        return ("direction only" if ordered == "yes" else "not reproduced"), ""
    beside = {"no": ", but not the order", "open": ", the order open"}.get(ordered, "")
    return ("within 10 %" if worst <= NEAR else "within 1.5"), beside


class Row:
    """A row of a source, with its verdict and picture."""

    def __init__(self, fields):
        unknown = set(fields) - ROW_KEYS
        if unknown:
            raise WrongMarker(f"atlas/rows.toml: {sorted(unknown)}: keys are {sorted(ROW_KEYS)}")
        self.fields, self.id, self.source = fields, fields["id"], fields["source"]
        self.title, self.other = fields["title"], fields.get("other", False)
        where = fields.get("where", "")
        self.figures = [Figure(figure, where) for figure in fields["figures"]]
        self.verdict, self.beside = verdict(self.figures, fields.get("order"))

    def runs(self):
        """How many runs the medians are of."""
        counts = sorted({figure.runs for figure in self.figures})
        if counts == [1]:
            return "one run"
        few, most = counts[0], counts[-1]
        return f"{few} to {most} runs" if few < most else f"{most} runs"

    def picture(self):
        """The SVG of the row."""
        said = "; ".join(figure.words() for figure in self.figures)
        description = f"{said}. In {self.fields['unit']}. Verdict: {self.verdict}{self.beside}."
        fields = self.fields
        return picture.picture(
            self.id, self.title, fields["unit"], self.figures, description
        )

    def card(self):
        """The row as it stands in the page."""
        fields = self.fields
        scenarios = ", ".join(f"`{name}`" for name in sorted({f.scenario for f in self.figures}))
        mark = MARKS[self.verdict]
        lines = [
            f'<div class="row" id="{self.id}">',
            "",
            f"**{self.title}**",
            "",
            f"{{{{#include atlas/{self.id}.svg}}}}",
            "",
            f"{mark} **{self.verdict}**{self.beside} · {self.runs()} · {scenarios}",
            "",
            f"Open: {fields['known']}",
        ]
        if "tried" in fields:
            lines.append(f"Tried: {fields['tried']}")
        return [*lines, f"[Table and conditions]({fields['details']})", "", "</div>"]


def rows():
    """Returns the document atlas/rows.toml, its sources and its rows."""
    document = tomllib.loads(ROWS.read_text())
    for source in document["source"]:
        if set(source) != SOURCE_KEYS:
            raise WrongMarker(f"atlas/rows.toml: source {source}: keys are {sorted(SOURCE_KEYS)}")
    found = [Row(fields) for fields in document["row"]]
    return document, document["source"], found


def missing(found):
    """Yields each measured figure of a published scenario that no row shows."""
    shown = {
        (figure.scenario, figure.metric, value)
        for row in found
        for figure in row.figures
        for value in (figure.published, figure.low, figure.high)
        if value is not None
    }
    for path in sorted((ROOT / "scenarios/published").glob("*.toml")):
        for one in tomllib.loads(path.read_text()).get("published", []):
            # Shares are percent in the page.
            values = [round(one["value"] * factor, 6) for factor in (1, 100)]
            keys = {(path.stem, one["metric"], value) for value in values}
            if one["kind"] == "measured" and not shown & keys:
                yield f"{path.stem}: {one['metric']} of {one['value']} ({one['label']}) has no row"


def marks(found):
    """The verdicts of rows as marks that lead to them."""
    links = []
    for row in found:
        said = f"{row.title}: {row.verdict}{row.beside}".replace('"', "'")
        links.append(f'[{MARKS[row.verdict]}](#{row.id} "{said}")')
    return " ".join(links)


def summary(sources, found):
    """The table of verdicts by source, and how often there is each."""
    own = [row for row in found if not row.other]
    kinds = [kind for kind in MARKS if any(row.verdict == kind for row in own)]
    counts = {kind: sum(row.verdict == kind for row in own) for kind in kinds}
    said = ", ".join(f"{count} {MARKS[kind]} {kind}" for kind, count in counts.items())
    lines = [f"{len(own)} rows: {said}.", "", '<div class="verdicts">', ""]
    lines += ["| source | rows | with other settings |", "|---|---|---|"]
    for source in sources:
        of = [row for row in found if row.source == source["id"]]
        cells = [marks([row for row in of if row.other == other]) for other in (False, True)]
        lines.append(f"| [{source['title']}](#{slug(source['title'])}) | {' | '.join(cells)} |")
    return [*lines, "", "</div>"]


def slug(title):
    """The anchor of a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in "- ")
    return kept.replace(" ", "-")


def page(texts, sources, found):
    """The text of the page."""
    lines = [
        "<!-- Made by `tools/book/check --write` from atlas/rows.toml: edit that file. -->",
        "",
        "# Atlas of published rows",
        "",
        texts["opening"].strip(),
        "",
        *summary(sources, found),
        "",
        texts["reading"].strip(),
        "",
    ]
    for source in sources:
        own = [row for row in found if row.source == source["id"]]
        lines += [f"## {source['title']}", ""]
        lines += [f"{source['who']}: [setting]({source['section']}).", ""]
        lines += ['<div class="rows">', ""]
        for row in own:
            lines += [*row.card(), ""]
        lines += ["</div>", ""]
    return "\n".join(lines)


def check(write):
    """Compares page and pictures with what they should be; returns what differs."""
    texts, sources, found = rows()
    problems = list(missing(found))
    should = {PICTURES / f"{row.id}.svg": row.picture() for row in found}
    should[PAGE] = page(texts, sources, found)
    gone = set(PICTURES.glob("*.svg")) - set(should)
    for path, text in should.items():
        if path.exists() and path.read_text() == text:
            continue
        if write:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        else:
            problems.append(f"{path.relative_to(ROOT)}: differs (--write corrects it)")
    for path in gone:
        if write:
            path.unlink()
        else:
            name = path.relative_to(ROOT)
            problems.append(f"{name}: no row of atlas/rows.toml (--write removes it)")
    return problems
