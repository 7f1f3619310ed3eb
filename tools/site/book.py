"""The book as a part of the site, with the decisions as chapters; used by build."""

import json
import pathlib
import re
import shutil
import subprocess

from tools.site.frame import BOOK_THEME, THEME, bar
from tools.site.runs import SiteError

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "decisions"
HEAD = f"""{THEME}
{BOOK_THEME}
<script src="{{{{ path_to_root }}}}../assets/site.js"></script>
"""


# Marks the entry of the bar that a page of the book belongs to.
HERE = (
    "<script>(function(){var p=decodeURI(location.pathname),n=/\\/tutorial\\//.test(p)?"
    '"Tutorial":/\\/validation\\//.test(p)?"Validation":/\\/decisions\\//.test(p)?"Decisions":'
    '"Book";document.querySelectorAll(".site-bar nav a").forEach(function(a){'
    'if(a.textContent===n)a.setAttribute("aria-current","page")})})()</script>'
)


def decisions(source):
    """Copies the decisions to the book's pages; returns their lines of the summary."""
    target = source / "decisions"
    target.mkdir()
    lines = ["", "# Decisions", "", "- [Decisions](decisions/index.md)"]
    for path in sorted(DECISIONS.glob("*.md")):
        text = path.read_text()
        # Within the book, decisions link to its pages as neighbours do.
        text = text.replace("](../src/", "](../").replace("](README.md", "](index.md")
        name = "index.md" if path.name == "README.md" else path.name
        (target / name).write_text(text)
        if name != "index.md":
            title = re.match(r"# (.+)", text)
            if not title:
                raise SiteError(f"docs/decisions/{path.name} has no title")
            lines.append(f"  - [{title[1]}](decisions/{name})")
    return lines


def stage(place, runnable):
    """Writes the book's sources as the site needs them to `place`; returns their directory.

    `runnable` are names of blocks that pages exist for.
    """
    shutil.rmtree(place, ignore_errors=True)
    work = place / "docs"
    shutil.copytree(ROOT / "docs" / "src", work / "src")
    # Pages include files of these.
    (place / "examples").symlink_to(ROOT / "examples")
    summary = work / "src" / "SUMMARY.md"
    summary.write_text(summary.read_text() + "\n".join([*decisions(work / "src"), ""]))
    named = "Design decisions, with what was considered and measured, are in `docs/decisions/`."
    introduction = work / "src" / "introduction.md"
    linked = named.replace("`docs/decisions/`", "[Decisions](decisions/index.md)")
    introduction.write_text(introduction.read_text().replace(named, linked))
    theme = work / "theme"
    theme.mkdir()
    named = f"<script>var bentpipeBlocks = {json.dumps(runnable)}</script>\n"
    (theme / "head.hbs").write_text(named + HEAD)
    (theme / "header.hbs").write_text(bar("{{ path_to_root }}../") + HERE)
    parts = [
        ROOT / "studio/src/style/colours.css", ROOT / "studio/src/site/bar.css",
        ROOT / "docs/atlas.css", ROOT / "docs/site/book.css",
    ]
    (work / "site.css").write_text("\n".join(part.read_text() for part in parts))
    settings = (ROOT / "docs" / "book.toml").read_text()
    # A host's page for addresses that do not exist would need to know where the site stands.
    own = 'additional-css = ["site.css"]\ninput-404 = ""\ntheme = "theme"'
    settings = settings.replace('additional-css = ["atlas.css"]', own)
    settings = re.sub(r'build-dir = ".*"', 'build-dir = "book"', settings)
    (work / "book.toml").write_text(settings)
    return work


def build(mdbook, place, out, runnable):
    """Builds the book to `out`, from a copy of its sources in `place`."""
    done = subprocess.run([mdbook, "build", stage(place, runnable), "--dest-dir", out], text=True,
                          capture_output=True)
    said = done.stdout + done.stderr
    if done.returncode or re.search(r"\b(WARN|ERROR)\b", said):
        raise SiteError(f"the book: {said[-3000:]}")
