"""The table of loads."""

import statistics

# What is shown of a row, and in what unit.
FIGURES = {
    "requests/s": lambda row: row["requests"] / row["seconds"],
    "CPU us/request": lambda row: 1e6 * row["cpu_s"] / max(row["requests"], 1),
    "CPU s/GB": lambda row: 1e9 * row["cpu_s"] / max(row["bytes"], 1),
    "CPU us/connection": lambda row: 1e6 * row["connect_cpu_s"] / row["connections"],
    "kB/connection": lambda row: row["rss_kb"] / row["connections"],
    "p99 ms": lambda row: row["p99_ms"],
}


def groups(rows):
    """Returns file and connections, each with the rows of each server by round."""
    found = {}
    for row in rows:
        servers = found.setdefault((row["file"], row["connections"]), {})
        servers.setdefault(row["server"], {})[row["round"]] = row
    return found


def text(rows):
    lines = [["file", "connections", "server", *FIGURES, "failed"]]
    for (file, connections), servers in groups(rows).items():
        for server, by_round in servers.items():
            cells = []
            for figure in FIGURES.values():
                median = statistics.median(figure(row) for row in by_round.values())
                cells.append(f"{median:.1f}{multiple(figure, by_round, servers.get('front'))}")
            failed = sum(row["failed"] for row in by_round.values())
            lines.append([file, str(connections), server, *cells, str(failed)])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                     .rstrip() for line in lines)


def multiple(figure, by_round, front):
    """Returns the median of a figure over front's, round by round."""
    if not front or by_round is front:
        return ""
    ratios = [figure(row) / figure(front[number]) for number, row in by_round.items()
              if number in front and figure(front[number])]
    return f" ({statistics.median(ratios):.2f}x)" if ratios else ""
