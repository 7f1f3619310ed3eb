"""What each choice of a controller costs: results, picture, and the table of the command."""

import math
import pathlib
import tomllib

from tools.atlas import choices
from tools.atlas.text import text_of
from tools.book.picture import standalone, text

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/src/guides/which-controller.md"
PICTURE = ROOT / "docs/src/images/which-controller.svg"
# What `bentpipe controllers` says of them.
SOURCE = ROOT / "crates/cli/src/commands/controllers/measured.rs"
RESULTS = ROOT / "atlas/measured/choices.json"
STUDIES = ROOT / "scenarios/studies"
LEFT, TOP, CELL, ROW = 268, 46, 58, 22
# From none to the most that is told apart: times as slow as the fastest, and what others lose.
MOST_RATIO, LEAST_KEPT = 4.0, 0.25
TIME, OTHERS = (176, 62, 24), (24, 92, 150)
PATHS = {"geo-50-10": "GEO, 50 Mbps", "geo-dama": "GEO, capacity on demand",
         "leo": "LEO broadband", "terrestrial": "Terrestrial"}


def labels(name):
    """The name of a path in a few words."""
    scenario = STUDIES / f"regret-{name}.toml"
    if name in PATHS or not scenario.exists():
        return PATHS.get(name, name)
    title = tomllib.loads(scenario.read_text())["title"]
    return title.partition(": ")[2] or title


def values(rows, metric):
    """By path, then by variant: the mean of a metric; paths of all last."""
    found = {}
    for row in rows:
        if row["metric"] == metric:
            found.setdefault(row["point"]["path"], {})[row["variant"]] = row["mean"]
    return dict(sorted(found.items(), key=lambda one: one[0] == "all"))


def cell(x, y, share, colour, body):
    """A cell whose ground is stronger the larger `share` is, from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    mixed = ",".join(str(round(255 + (part - 255) * (0.04 + 0.96 * share))) for part in colour)
    size = f'x="{x}" y="{y}" width="{CELL - 2}" height="{ROW - 2}" rx="2"'
    ink = ' fill="#ffffff"' if share > 0.55 else ""
    ground = f'<rect {size} fill="rgb({mixed})"/>'
    return [ground, text(x + CELL / 2 - 1, y + ROW / 2 + 3, body, "middle", ink)]


def rows_of(found, variants, top, colour, shown):
    """The rows of one metric. `shown` returns the share of colour and the text of a value."""
    parts = []
    for at, (path, cells) in enumerate(found.items()):
        y = top + at * ROW + (4 if path == "all" else 0)
        bold = ' font-weight="600"' if path == "all" else ""
        name = "all, at mean" if path == "all" else labels(path)
        parts.append(text(LEFT - 8, y + ROW / 2 + 3, name, "end", bold))
        for column, variant in enumerate(variants):
            if variant in cells:
                share, body = shown(cells[variant])
                parts += cell(LEFT + column * CELL, y, share, colour, body)
    return parts


def picture(rows):
    """Returns the SVG."""
    times, kept = values(rows, "time_ratio"), values(rows, "others_kept")
    # The default, then the others from the fastest to the slowest.
    variants = sorted(times["all"], key=lambda one: (one != "default", times["all"][one]))
    slow = lambda ratio: (math.log(ratio) / math.log(MOST_RATIO),
                          f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}")
    lost = lambda share: ((1 - share) / (1 - LEAST_KEPT), f"{share:.2f}")
    below = TOP + len(times) * ROW + 46
    width, height = LEFT + len(variants) * CELL + 8, below + len(kept) * ROW + 14
    parts = [text(8, 16, "your own time, over that of the fastest choice (1 is the best)", "start",
                  ' font-weight="600"')]
    for column, variant in enumerate(variants):
        x = LEFT + column * CELL + CELL / 2 - 1
        parts += [text(x, top - 8, variant, "middle") for top in (TOP, below)]
    parts += rows_of(times, variants, TOP, TIME, slow)
    parts.append(text(8, below - 26, "what a plain flow keeps beside it (1 is as beside its own "
                      "kind)", "start", ' font-weight="600"'))
    parts += rows_of(kept, variants, below, OTHERS, lost)
    about = "; ".join(f"{v}: {times['all'][v]:.2f} times as long at mean" for v in variants)
    title = "What each choice of a controller costs, by path"
    return standalone((width, height), title, about, parts)


def source(rows):
    """The table of `bentpipe controllers`, as Rust. `cubic` is what `default` is."""
    metrics = ("time_ratio", "worst_ratio", "others_kept")
    found = {metric: values(rows, metric)["all"] for metric in metrics}
    lines = ["//! Written by `tools/book/check --write` from results in `atlas/`.", "",
             "use super::costs::Cost;", "", "/// What each choice of a controller costs.",
             "#[rustfmt::skip]", "pub const COSTS: &[Cost] = &["]
    for variant in sorted(found["time_ratio"]):
        if variant in found["others_kept"] and variant != "rfc":
            fields = ", ".join(f"{metric}: {found[metric][variant]:.4f}" for metric in metrics)
            name = "cubic" if variant == "default" else variant
            lines.append(f'    Cost {{ controller: "{name}", {fields} }},')
    return "\n".join([*lines, "];"]) + "\n"


def check(write):
    """Compares the results and the picture with the scenarios' results; returns what differs."""
    results = choices.results()
    rows = results["rows"]
    should = {RESULTS: text_of(results), PICTURE: picture(rows), SOURCE: source(rows)}
    different = [path for path, body in should.items()
                 if not path.exists() or path.read_text() != body]
    if write:
        for path in different:
            path.write_text(should[path])
        return []
    return [f"{path.relative_to(ROOT)}: differs from the results of its scenarios "
            "(--write corrects it)" for path in different]
