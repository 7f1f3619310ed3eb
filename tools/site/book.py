"""The book, with the decisions as chapters, and research/ as parts of the site; used by build."""

import json
import pathlib
import re
import shutil
import subprocess

from tools.book.places import BOOKS
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
    "<script>(function(){var p=decodeURI(location.pathname),"
    'n=/\\/research\\/(decisions\\/)?[^/]+$/.test(p)?"Research":'
    '/\\/tutorial\\//.test(p)?"Tutorial":'
    '/\\/validation\\//.test(p)?"Validation":/\\/decisions\\//.test(p)?"Decisions":"Book";'
    'document.querySelectorAll(".site-bar nav a").forEach(function(a){'
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
        text = text.replace("](../../research/", "](../../../research/")
        name = "index.md" if path.name == "README.md" else path.name
        (target / name).write_text(text)
        if name != "index.md":
            title = re.match(r"# (.+)", text)
            if not title:
                raise SiteError(f"docs/decisions/{path.name} has no title")
            lines.append(f"  - [{title[1]}](decisions/{name})")
    return lines


def pages(place):
    """Writes the pages of the book as the site needs them, with the decisions, to `place`."""
    shutil.copytree(ROOT / "docs" / "src", place)
    summary = place / "SUMMARY.md"
    summary.write_text(summary.read_text() + "\n".join([*decisions(place), ""]))
    named = "Design decisions, with what was considered and measured, are in `docs/decisions/`."
    introduction = place / "introduction.md"
    linked = named.replace("`docs/decisions/`", "[Decisions](decisions/index.md)")
    introduction.write_text(introduction.read_text().replace(named, linked))


def dress(work, settings, style, runnable):
    """Writes settings and theme of a book as the site needs them to `work`.

    `settings` and `style` are its own. `runnable` are names of blocks that pages exist for.
    """
    theme = work / "theme"
    theme.mkdir()
    named = f"<script>var bentpipeBlocks = {json.dumps(runnable)}</script>\n"
    (theme / "head.hbs").write_text(named + HEAD)
    (theme / "header.hbs").write_text(bar("{{ path_to_root }}../") + HERE)
    parts = [
        ROOT / "studio/src/style/colours.css", ROOT / "studio/src/site/bar.css", *style,
        ROOT / "docs/site/book.css",
    ]
    (work / "site.css").write_text("\n".join(part.read_text() for part in parts))
    text = re.sub(r'(additional-css|build-dir) = .*\n', "", settings.read_text())
    text = re.sub(r'^src = ".*"', 'src = "src"', text, flags=re.MULTILINE)
    # A host's page for addresses that do not exist would need to know where the site stands.
    own = '[output.html]\nadditional-css = ["site.css"]\ninput-404 = ""\ntheme = "theme"\n'
    (work / "book.toml").write_text(text.replace("[output.html]\n", own))


def stage(place, runnable):
    """Writes the book and research/ as the site needs them to `place`, in folders as here.

    `runnable` are names of blocks of the book that pages exist for.
    """
    shutil.rmtree(place, ignore_errors=True)
    pages(place / "docs/src")
    dress(place / "docs", ROOT / "docs/book.toml", [], runnable)
    shutil.copytree(ROOT / "research", place / "research/src",
                    ignore=shutil.ignore_patterns("*.toml", "*.css"))
    dress(place / "research", ROOT / "research/book.toml", [ROOT / "research/atlas.css"], [])
    # Pages include files of examples, and mdBook runs a tool.
    for folder in ("examples", "tools"):
        (place / folder).symlink_to(ROOT / folder)


def build(mdbook, place, out, runnable):
    """Builds the book and research/ side by side in `out`, from copies in `place`."""
    stage(place, runnable)
    for folder, name in BOOKS.items():
        work = place / folder.partition("/")[0]
        done = subprocess.run([mdbook, "build", work, "--dest-dir", out / name], text=True,
                              capture_output=True)
        said = done.stdout + done.stderr
        if done.returncode or re.search(r"\b(WARN|ERROR)\b", said):
            raise SiteError(f"the {name}: {said[-3000:]}")
