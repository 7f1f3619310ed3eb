"""The table of times, and of what front takes of the time of the others."""

import math
import statistics

# A later visit may take this much of the first.
ALLOWED = 1.02


def interval(values, level=0.95):
    """Returns the bounds of the median by order statistics, of at least this level if there are
    enough values: six for 95 %. Otherwise the smallest and the largest value."""
    ordered, count = sorted(values), len(values)
    outside, place = 0.0, 0
    while place < count // 2:
        outside += math.comb(count, place) / 2**count
        if 1 - 2 * outside < level:
            break
        place += 1
    place = max(place - 1, 0)
    return ordered[place], ordered[count - 1 - place]


def groups(rows):
    """Returns path, size, client and visit, each with the seconds of each server by run."""
    found = {}
    for row in rows:
        key = (row["path"], row["size"], row["client"], row["visit"])
        times = found.setdefault(key, {}).setdefault(row["server"], {})
        times[row["run"]] = row["seconds"]
    return found


def shown(values, digits=2):
    low, high = interval(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}..{high:.{digits}f})"


def ratios(own, other):
    """Returns front's time over another's, for each run that both have."""
    return [own[run] / other[run] for run in own if run in other]


def text(rows):
    lines = [["path", "size", "client", "visit", "server", "runs", "seconds", "front takes"]]
    for (path, size, client, visit), servers in groups(rows).items():
        for server, times in servers.items():
            paired = ratios(servers.get("front", {}), times) if server != "front" else []
            lines.append([path, f"{size:g} MB", client, str(visit), server, str(len(times)),
                          shown(list(times.values())), shown(paired) if paired else ""])
    for (path, size, client, visit), ratio in later(rows).items():
        mark = "" if ratio <= ALLOWED else "  SLOWER"
        lines.append([path, f"{size:g} MB", client, str(visit), "front", "",
                      f"{ratio:.3f} of its first visit{mark}", ""])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                     .rstrip() for line in lines)


def samples(rows):
    """Returns the seconds of each server by path, size, client and visit, for atlas/measured."""
    return {
        (server, (("path", path), ("size", f"{size:g} MB"), ("client", client),
                  ("order", "first" if visit == 1 else "later")), "completion_s"):
            list(times.values())
        for (path, size, client, visit), servers in groups(rows).items() if visit <= 2
        for server, times in servers.items()
    }


def later(rows):
    """Returns the median of each later visit to front over that of the first."""
    found = groups(rows)
    ratio = {}
    for (path, size, client, visit), servers in found.items():
        first = found.get((path, size, client, 1), {}).get("front")
        if visit > 1 and first and servers.get("front"):
            ratio[path, size, client, visit] = (
                statistics.median(servers["front"].values()) / statistics.median(first.values()))
    return ratio


def slower(rows):
    """Returns the later visits that took longer than allowed."""
    return [place for place, ratio in later(rows).items() if ratio > ALLOWED]
