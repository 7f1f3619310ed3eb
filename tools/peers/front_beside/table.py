"""The table of what was asked and measured."""

MARKS = {True: "right", False: "WRONG", None: "-"}


def text(rows):
    """Returns the rows as lines of columns. `right` is None for what was not asked."""
    header = ["server", "client", "asked", "measured", ""]
    cells = [header] + [
        [row["server"], row["client"], row["asked"], row["measured"], MARKS[row["right"]]]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
             for line in cells]
    counts = [sum(row["right"] is value for row in rows) for value in (True, False, None)]
    return "\n".join(lines) + "\n{} right, {} wrong, {} not asked".format(*counts)
