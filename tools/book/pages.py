"""The texts that readers meet, and their parts; used by check."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOOKS = ["docs/src", "research"]
# The site has them as chapters of the book.
DECISIONS = "docs/decisions"
SINGLE = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "studio/README.md"]
FOLDERS = [DECISIONS, *BOOKS]
FENCE = re.compile(r"^([ \t]*)(```+)([^\n]*)\n(.*?)^[ \t]*\2[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"\b\d{{1,2}} (?:{MONTHS}) 20\d\d\b|\b20\d\d-\d\d-\d\d\b")
SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")


def every(root=ROOT):
    """All pages, in a fixed order."""
    found = [root / name for name in SINGLE]
    for folder in FOLDERS:
        found += sorted((root / folder).glob("**/*.md"))
    return [page for page in found if page.exists()]


def blank(match):
    """Blank text of the same lines, so that the lines of what follows keep their numbers."""
    return "\n" * match[0].count("\n")


def prose(text):
    """`text` without fenced blocks, line by line as it was."""
    return FENCE.sub(blank, text)


def slugs(text):
    """Anchors of the headings of a page, as mdBook and GitHub make them."""
    found = {}
    for title in re.findall(r"^#+ (.+?)\s*$", prose(text), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    numbers = ((name, n) for name, last in found.items() for n in range(last + 1))
    return {f"{name}-{n}" if n else name for name, n in numbers}


def line_of(text, position):
    """The number of the line at `position`, from 1."""
    return text.count("\n", 0, position) + 1


def spans(text):
    """Yields the line and the text of each span in backticks, outside blocks and comments."""
    plain = COMMENT.sub(blank, prose(text))
    for match in SPAN.finditer(plain):
        yield line_of(plain, match.start()), match[2].strip()


def blocks(text):
    """Yields the first line, the language and the content of each fenced block."""
    for match in FENCE.finditer(text):
        indent = match[1]
        content = re.sub(rf"^{indent}", "", match[4], flags=re.MULTILINE) if indent else match[4]
        yield line_of(text, match.start()) + 1, match[3].strip(), content


def broken_links(page, text, root=ROOT):
    """Yields links of a page that lead nowhere, as files or as pages of the books."""
    def within(path, folders):
        return any(root / folder in path.parents for folder in folders)

    decision = within(page, [DECISIONS])
    published = [DECISIONS, *BOOKS] if decision else BOOKS
    plain = re.sub(r"`[^`\n]*`", "", prose(text))
    for target in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", plain):
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        if not other.exists():
            yield f"link to {target}: no such file"
        elif (decision or within(page, BOOKS)) and not within(other, published):
            yield f"link to {target}: the HTML has no such page; write the path in backticks"
        elif anchor and other.suffix == ".md" and anchor not in slugs(other.read_text()):
            yield f"link to {target}: no such heading"


def dates(page, text, root=ROOT):
    """Yields the dates in a page of the book, whose measurements belong to research/."""
    if root / BOOKS[0] in page.parents:
        for date in DATE.findall(re.sub(r"`[^`\n]*`", "", prose(text))):
            yield f"{date}: the book has no dates; what was measured when is research/"
