"""Where pages are published: the book and research/ are two books side by side.

Used by crosslinks and by the site.
"""

import os
import re

# Folders of pages in the repository, and where the pages are published.
BOOKS = {"docs/src": "book", "research": "research"}


def book(path):
    """The book of a file of the repository, as its folder and its place; `None` outside of both."""
    return next((one for one in BOOKS.items() if path.startswith(one[0] + "/")), None)


def place(path):
    """Where a file of a book is published."""
    folder, name = book(path)
    built = name + path.removeprefix(folder)
    return re.sub(r"\.md$", ".html", re.sub(r"/README\.md$", "/index.html", built))


def link(target, page, here=None):
    """The link `target` of the page `page`, as it leads from there to where it is published.

    `here` is the place of a published page that quotes the link, by default that of `page`.
    """
    name, mark, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), name))
    return os.path.relpath(place(path), os.path.dirname(here or place(page))) + mark + anchor


def crosslinks(text, page):
    """`text` of a page with those links changed that lead from one book to the other."""

    def changed(match):
        name = match[1].partition("#")[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), name))
        crosses = ":" not in name and book(path) not in (None, book(page))
        return f"]({link(match[1], page)})" if crosses else match[0]

    return re.sub(r"\]\(([^)\s]+)\)", changed, text)
