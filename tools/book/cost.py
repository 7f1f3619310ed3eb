"""The plot of cost per packet against the number of flows, from research/performance.md."""

import math
import pathlib
import re

from tools.book.picture import OURS, standalone, text

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "research/performance.md"
PICTURE = ROOT / "research/images/cost-per-packet.svg"
WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 46, 400, 22, 254
# A row of the table: `| 10,000, TCP | 6,298,949 | 2.88 | …`.
ROW = re.compile(r"^\| ([\d,]+), ([A-Z]+)[^|]*\| [\d,]+ \| ([\d.]+) \|", re.MULTILINE)
DASHES = {"TCP": "", "QUIC": ' stroke-dasharray="5 3"'}


def points():
    """By transport: pairs of number of flows and microseconds of a packet."""
    found = {}
    for flows, transport, cost in ROW.findall(PAGE.read_text()):
        found.setdefault(transport, []).append((int(flows.replace(",", "")), float(cost)))
    return found


def place(value, low, high, start, end):
    """The position of `value` on a logarithmic axis from `low` at `start` to `high` at `end`."""
    return round(start + math.log(value / low) / math.log(high / low) * (end - start), 1)


def picture(found):
    """Returns the SVG."""
    most = max(flows for series in found.values() for flows, _ in series)
    costs = [cost for series in found.values() for _, cost in series]
    low, high = min(costs) / 1.6, max(costs) * 1.6
    x = lambda flows: place(flows, 1, most, LEFT, RIGHT)
    y = lambda cost: place(cost, low, high, BOTTOM, TOP)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
    faint = ' fill-opacity="0.75"'
    parts = [text(LEFT, BOTTOM + 36, "flows over one path, logarithmic")]
    parts.append(text(6, 14, "µs per data packet, logarithmic"))
    for flows in (10**decade for decade in range(math.floor(math.log10(most)) + 1)):
        at = f'x1="{x(flows)}" y1="{TOP + 6}" x2="{x(flows)}" y2="{BOTTOM}"'
        parts.append(f'<line {at} stroke="currentColor" stroke-opacity="0.12"/>')
        parts.append(text(x(flows), BOTTOM + 16, f"{flows:,}", "middle", faint))
    for cost in (cost for cost in ticks if low <= cost <= high):
        at = f'x1="{LEFT}" y1="{y(cost)}" x2="{RIGHT}" y2="{y(cost)}"'
        parts.append(f'<line {at} stroke="currentColor" stroke-opacity="0.18"/>')
        parts.append(text(LEFT - 6, y(cost) + 4, f"{cost:g}", "end", faint))
    for transport, series in found.items():
        line = " ".join(f"{x(flows)},{y(cost)}" for flows, cost in series)
        stroke = f'fill="none" stroke="{OURS}" stroke-width="1.8"{DASHES.get(transport, "")}'
        parts.append(f'<polyline points="{line}" {stroke}/>')
        for flows, cost in series:
            parts.append(f'<circle cx="{x(flows)}" cy="{y(cost)}" r="3.2" fill="{OURS}"/>')
        flows, cost = series[-1]
        parts.append(text(x(flows) + 8, y(cost) + 4, transport, "start", f' fill="{OURS}"'))
    about = "; ".join(
        f"{transport}: " + ", ".join(f"{cost:g} µs with {flows:,} flows" for flows, cost in series)
        for transport, series in found.items()
    )
    title = "Cost per data packet against the number of flows"
    return standalone((WIDTH, HEIGHT), title, about, parts)


def check(write):
    """Compares the picture with the table; returns what differs."""
    should = picture(points())
    if PICTURE.exists() and PICTURE.read_text() == should:
        return []
    if write:
        PICTURE.write_text(should)
        return []
    return [f"{PICTURE.relative_to(ROOT)}: differs from the table (--write corrects it)"]
