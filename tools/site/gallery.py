"""The gallery of the site: an index, and a page for each published result; used by build."""

import html
import re

from tools.book import picture as pictures
from tools.book.atlas import load
from tools.book.places import link
from tools.book.rows import MARKS
from tools.site.frame import THEME, bar, page, share
from tools.site.runs import REPEAT, SiteError

# Most medians in the picture of a scenario of which nothing is published.
MOST = 6
# Verdicts from the one that asks most of a reader to the one that asks least.
HARDEST = ["not reproduced", "not as claimed", "direction only", "within 1.5", "within 10 %",
           "as claimed"]
# Metrics that such a picture may show, the first that there is, with their factors and units.
METRICS = [
    ("completion_s", 1.0, "completion time, seconds"),
    ("goodput_mbps", 1.0, "goodput, Mbps"),
    ("aggregate_goodput_mbps", 1.0, "goodput of all flows, Mbps"),
    ("jain_index", 1.0, "Jain's index"),
]


def text(words):
    """Markdown of a line as HTML: code, and characters that mean something."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(words))


class Median:
    """A median of the full results, as a picture shows it."""

    published = low = high = None
    chosen = False

    def __init__(self, label, row):
        self.label, self.ours = label, row["median"]
        ends = [row["ci95_low"], row["ci95_high"]]
        self.interval = None if None in ends else ends

    def extent(self):
        """Every value that the axis has to show."""
        return [self.ours, *(self.interval or [])]


def own_picture(entry):
    """The medians of a scenario of which nothing is published, and what they are; or nothing."""
    every = load(entry.name)
    for metric, _, unit in METRICS:
        rows = [row for row in every if row["metric"] == metric and row["median"] is not None]
        if not rows:
            continue
        first = rows[0]
        same = [row for row in rows if row["point"] == first["point"]]
        same = [row for row in same if row["visit"] == max(one["visit"] for one in same)]
        flows = len({row["flow"] for row in same}) > 1
        kinds = len({row["variant"] for row in same}) > 1
        label = lambda row: " ".join(
            [row["variant"]] * (kinds or not flows) + [str(row["flow"])] * flows
        )
        medians = [Median(label(row), row) for row in same[:MOST]]
        if max(median.ours for median in medians) <= 0:
            continue
        at = ", ".join(f"{key} = {value}" for key, value in first["point"].items())
        said = "; ".join(f"{one.label} {pictures.number(one.ours)}" for one in medians)
        svg = pictures.picture(entry.name, entry.title, unit, medians, said)
        # Nothing stands in the column of published figures.
        return svg.replace(">published<", "><").replace(">–<", "><"), at
    return "", ""


def verdict(row):
    """The verdict on a row, with its mark."""
    return f"{MARKS[row.verdict]} <strong>{row.verdict}</strong>{html.escape(row.beside)}"


def book(target):
    """The address of a link of the atlas page, from a page of the gallery."""
    return link(target, "research/atlas.md", "gallery/index.html")


def beside(entry, sources):
    """What stands beside the report of an entry: figures of the source, and ours in full."""
    lines = ['<section class="beside" id="published" aria-labelledby="published-title">']
    reduced = (
        f'<p class="note reduced">{text(entry.why)} This page has one run of each case'
        + (f", the full result {entry.repeat}" if entry.repeat > 1 else "")
        + f'. All of it: <code>bentpipe run {entry.scenario}</code></p>'
    )
    if not entry.rows:
        return "\n".join([*lines, '<h2 id="published-title">What this page is</h2>', reduced,
                          "</section>"])
    named = dict.fromkeys(row.source for row in entry.rows)
    of = "; ".join(
        f'{html.escape(source["title"])}, {html.escape(source["who"])}: '
        f'<a href="{book(source["section"])}">setting and what it leaves open</a>'
        for source in sources
        if source["id"] in named
    )
    lines += [
        '<h2 id="published-title">The source\'s figures beside ours</h2>',
        f'<p class="howto">{of}. '
        "The dots are medians of the full runs, with 95 % intervals; "
        '<a href="../research/atlas.html#how-to-read-a-picture">how to read a picture</a>.'
        "</p>",
        '<div class="rows">',
    ]
    for row in entry.rows:
        lines += [
            f'<div class="row"><h3>{html.escape(row.title)}</h3>',
            row.picture(),
            f'<p class="verdict">{verdict(row)} · {row.runs()} · '
            f'<a href="{book(row.fields["details"])}">table and conditions</a></p></div>',
        ]
    return "\n".join([*lines, "</div>", reduced, "</section>"])


# Opens the editor of a page, and runs the scenario once its text is checked.
PLAY = """<script>
if (self !== top) document.documentElement.classList.add("framed");
addEventListener("load", function () {
  var open = document.querySelector(".topbar button.main");
  if (!open) return;
  // A link with a scenario has opened it already.
  if (open.getAttribute("aria-expanded") !== "true") open.click();
  var look = setInterval(function () {
    var run = document.querySelector(".in-report .studio-bar button.main");
    var said = document.querySelector(".in-report .status");
    if (!run || run.disabled || !said || !said.textContent) return;
    clearInterval(look);
    run.click();
  }, 60);
});
</script>"""


def around(whole, inner, assets, here, head=""):
    """Returns a report with the site around it. `inner` is what stands in its header."""
    if '<div id="app"></div>' not in whole:
        raise SiteError("the command has no report page inside: see `make build`")
    whole = share(whole, assets, "../")
    style = '<link rel="stylesheet" href="../assets/beside.css">'
    whole = whole.replace("</head>", f"{THEME}\n{style}\n{head}</head>", 1)
    slot = f'<template id="bentpipe-beside">{inner}</template>'
    bars = bar("../", here)
    return whole.replace('<div id="app"></div>', f'{bars}\n{slot}\n<div id="app"></div>', 1)


def report(entry, sources, whole, assets):
    """Returns the page of an entry, of whose report the text is `whole`."""
    return around(whole, beside(entry, sources), assets, "Gallery")


def play(whole, assets):
    """Returns a page that runs its scenario at once, for blocks of the book."""
    return around(whole, "", assets, "Tutorial", PLAY)


def card(entry, source=None):
    """An entry as the index shows it, with the rows that are of one source."""
    rows = [row for row in entry.rows if row.source == source]
    if rows:
        picture = rows[0].picture()
        what = f'<p class="ofwhat">{html.escape(rows[0].title)}</p>' if len(rows) > 1 else ""
        said = verdict(rows[0])
        if len(rows) > 1:
            marks = " ".join(
                f'<span title="{html.escape(row.title)}: {row.verdict}">'
                f"{MARKS[row.verdict]}</span>"
                for row in rows
            )
            said += f" · all {len(rows)} rows: {marks}"
    else:
        picture, at = own_picture(entry)
        what = f'<p class="ofwhat">Medians{", " + text(at) if at else ""}</p>' if picture else ""
        said = "limits of its source are in the report" if entry.limits else "no published figure"
    opening = re.split(r"(?<=[.!?])\s", entry.description.replace("\n", " "))[0]
    first = "" if rows else f"<p>{text(opening)}</p>"
    kinds = sorted({row.verdict for row in rows}, key=HARDEST.index)
    return (
        f'<article class="card" data-verdicts="{html.escape("; ".join(kinds))}">'
        f'<h3><a href="{entry.name}.html">{html.escape(entry.title)}</a></h3>'
        f'{first}{what}{picture}<p class="verdicts">{said}</p></article>'
    )


def counts(entries):
    """How many rows of sources have which verdict, with other settings left out."""
    rows = {row.id: row for entry in entries.values() for row in entry.rows if not row.other}
    return {
        kind: sum(row.verdict == kind for row in rows.values())
        for kind in MARKS
        if any(row.verdict == kind for row in rows.values())
    }


def hardest(entry, source):
    """The place of the hardest verdict on an entry's rows of a source."""
    return min(HARDEST.index(row.verdict) for row in entry.rows if row.source == source)


def index(entries, sources, editable):
    """Returns the page that leads to all entries. In editable reports, readers can run them."""
    run = " <em>Change and run</em> in a report lets you change it." if editable else ""
    body = [
        f'<header class="intro" data-verdicts="{html.escape("; ".join(HARDEST))}">',
        "<h1>Gallery of published results</h1>",
        "<p>Each page is a report of a scenario that a publication describes, with the source's "
        "figures beside ours. A verdict is computed from the figures: nothing here is written "
        "by hand.</p>",
        "<p>In a picture, the upright mark is the published figure, with a band of 10 % around it, "
        "and a fainter one of a factor of 1.5; the dot is our median. A verdict is on the worst "
        "figure: <em>direction only</em> if ours have the source's order, but one is further away "
        "than that; bounds and orders are <em>as claimed</em>, or not.</p>",
        f"<p>The pages run reduced forms, {REPEAT} run of each case, and say what is left out; the "
        f"pictures show the full results.{run} "
        '<a href="../research/atlas.html">All results on one page</a>.</p></header>',
    ]
    for source in sources:
        own = [one for one in entries.values()
               if any(row.source == source["id"] for row in one.rows)]
        # Those that are not reproduced come first.
        own.sort(key=lambda one: (hardest(one, source["id"]), one.rows[0].at))
        body += [
            f'<section class="source"><h2>{html.escape(source["title"])}</h2>',
            f'<p>{html.escape(source["who"])} · '
            f'<a href="{book(source["section"])}">setting</a></p>',
            '<div class="entries">', *[card(entry, source["id"]) for entry in own],
            "</div></section>",
        ]
    rest = [entry for entry in entries.values() if not entry.rows]
    body += [
        '<section class="source"><h2>Further studies</h2>',
        "<p>What sources leave open, and questions that they raise.</p>",
        '<div class="entries">', *[card(entry) for entry in rest], "</div></section>",
    ]
    return page("../", "Gallery – Bentpipe", "gallery", "Gallery", "\n".join(body))
