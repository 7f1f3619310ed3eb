"""Measured numbers that stand on two pages; used by check.

One page has the measurement, and another quotes it with the place behind it:

  4.08 s<!-- in research/serving.md -->

The number, with its unit, has to stand on that page, outside such quotes. What committed results
give is no such number: it has an id (tools/book/figures.py).
"""

import re

from tools.book.pages import ROOT, line_of

NUMBER = r"(?<![\w.,])([\d.,]+(?: (?:to|of) [\d.,]+)?(?: [^\W\d]+| %)?)"
QUOTE = re.compile(NUMBER + r"<!-- in (\S+) -->")
MARKER = re.compile(r"<!-- in (\S+) -->")


def stands(number, text):
    """Whether a page has `number` outside quotes of other pages, with its unit as it is."""
    own = QUOTE.sub("", text)
    # A table may name the unit in its head, and a sentence may go on with another number.
    return re.search(rf"(?<![\w.,]){re.escape(number)}(?!\w|[.,]\d)", own) is not None


def moved(text, root=ROOT):
    """Yields the line and the fault of each quote whose number is not on the page it names."""
    quotes = {match.end(): match for match in QUOTE.finditer(text)}
    for marker in MARKER.finditer(text):
        line, place = line_of(text, marker.start()), root / marker[1]
        quote = quotes.get(marker.end())
        if quote is None:
            yield line, f"no number stands before `{marker[0]}`"
        elif not place.is_file():
            yield line, f"`{marker[1]}` does not exist"
        elif not stands(quote[1], place.read_text()):
            yield line, f"`{quote[1]}` does not stand in `{marker[1]}`: read both again"
