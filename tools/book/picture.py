"""Pictures of published rows: what a source publishes, and our median with its interval, as SVG."""

import html
import math

WIDTH = 360
FONT = 11
# Pixels from one figure to the next, and above the first.
STEP, TOP = 26, 24
# Columns of numbers at the right, and a letter of a label.
NUMBERS, LETTER = 108, 5.7
OURS = "var(--links, #0969da)"


def number(value):
    """`value` with three significant digits, as a page writes it."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    # 9.996 has become 10.00, with a digit too many.
    if digits and abs(float(text)) >= 10 ** (3 - digits):
        text = f"{value:.{digits - 1}f}"
    return text


def claimed(figure):
    """What the source says of a figure, in a few characters."""
    if figure.published is not None:
        return f"{figure.published:g}"
    low, high = figure.low, figure.high
    if low is not None and high is not None:
        return f"{low:g}–{high:g}"
    if high is not None:
        return f"≤ {high:g}"
    return f"≥ {low:g}" if low is not None else "–"


def steps(low, high, count=4):
    """Round values from `low` to `high`, about `count`."""
    raw = (high - low) / count
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]


def decades(low, high):
    """Powers of ten, and their twos and fives if there are few, from `low` to `high`."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if math.log10(high / low) > 2.2 else (1, 2, 5)
    values = [factor * 10**exponent for exponent in exponents for factor in factors]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


class Axis:
    """Positions of values: from zero, or logarithmic if they differ by more than six times."""

    def __init__(self, values, left, right, from_zero):
        self.left, self.right = left, right
        low, high = min(values), max(values)
        self.log = not from_zero and low > 0 and high / low > 6
        if self.log:
            self.low, self.high = low / 1.25, high * 1.25
            self.ticks = decades(self.low, self.high)
        else:
            self.low = min(0.0, low * 1.1)
            self.high = max(high * 1.06, self.low + 1e-9)
            self.ticks = steps(self.low, self.high)

    def at(self, value):
        """The position of `value`, kept inside the axis."""
        value = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return round(self.left + part * (self.right - self.left), 1)


def text(x, y, body, anchor="start", extra=""):
    """A text element."""
    place = f'x="{x}" y="{y}" text-anchor="{anchor}"'
    return f'<text {place}{extra}>{html.escape(body)}</text>'


def bar(axis, y, low, high, opacity):
    """A band of the height of a line."""
    a, b = axis.at(low), axis.at(high)
    size = f'x="{a}" y="{y - 8}" width="{round(max(b - a, 0.5), 1)}" height="16"'
    return f'<rect {size} fill="currentColor" fill-opacity="{opacity}"/>'


def tick(axis, y, value):
    """The mark of a published figure."""
    x = axis.at(value)
    line = f'x1="{x}" y1="{y - 8}" x2="{x}" y2="{y + 8}"'
    return f'<line {line} stroke="currentColor" stroke-width="2.5"/>'


def source_marks(axis, y, figure):
    """What the source says: a mark with its bands, or the range that it allows."""
    if figure.published is not None:
        value = figure.published
        ends = sorted([value / 1.5, value * 1.5])
        near = sorted([value / 1.1, value * 1.1])
        return [bar(axis, y, *ends, 0.1), bar(axis, y, *near, 0.16), tick(axis, y, value)]
    if figure.low is None and figure.high is None:
        return []
    low = axis.low if figure.low is None else figure.low
    high = axis.high if figure.high is None else figure.high
    limits = [value for value in (figure.low, figure.high) if value is not None]
    return [bar(axis, y, low, high, 0.16), *(tick(axis, y, value) for value in limits)]


def our_marks(axis, y, figure):
    """Our median, with its interval if there is one."""
    marks = []
    if figure.interval:
        a, b = (axis.at(value) for value in figure.interval)
        ends = "".join(f"M{x} {y - 4}V{y + 4}" for x in (a, b))
        marks.append(f'<path d="M{a} {y}H{b}{ends}" stroke="{OURS}" stroke-width="1.8"/>')
    x = axis.at(figure.ours)
    hollow = ' fill-opacity="0.25"' if figure.chosen else ""
    marks.append(f'<circle cx="{x}" cy="{y}" r="4.2" fill="{OURS}"{hollow} stroke="{OURS}"/>')
    return marks


def standalone(size, title, about, parts):
    """Returns an SVG that is an image: it takes no colours from its page, and has a ground."""
    width, height = size
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="{FONT}" fill="currentColor" '
        f'color="#1f2328">'
    )
    names = [f"<title>{html.escape(title)}</title>", f"<desc>{html.escape(about)}</desc>"]
    ground = '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>'
    return "\n".join([head, *names, ground, *parts, "</svg>"]) + "\n"


def picture(name, title, unit, figures, description):
    """Returns the SVG of a row. It takes its colours from the page."""
    left = 8 + max(min(LETTER * max(len(figure.label) for figure in figures), 118), 40)
    right = WIDTH - NUMBERS
    values = [value for figure in figures for value in figure.extent()]
    # A bound on one side is a band from or to the end of the axis.
    bounds = any((figure.low is None) != (figure.high is None) for figure in figures)
    axis = Axis(values, left, right, bounds)
    bottom = TOP + STEP * len(figures)
    height = bottom + 36
    parts = [
        text(WIDTH - 56, 12, "published", "end", ' fill-opacity="0.75"'),
        text(WIDTH - 2, 12, "ours", "end", f' fill="{OURS}"'),
    ]
    for value in axis.ticks:
        x = axis.at(value)
        line = f'x1="{x}" y1="{TOP - 4}" x2="{x}" y2="{bottom}"'
        parts.append(f'<line {line} stroke="currentColor" stroke-opacity="0.18"/>')
        parts.append(text(x, bottom + 14, f"{value:g}", "middle", ' fill-opacity="0.75"'))
    base = f'x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"'
    parts.append(f'<line {base} stroke="currentColor" stroke-opacity="0.6"/>')
    middle = round((left + right) / 2, 1)
    scale = f"{unit}, logarithmic" if axis.log else unit
    parts.append(text(middle, bottom + 30, scale, "middle"))
    for at, figure in enumerate(figures):
        y = TOP + STEP * at + STEP // 2 - 2
        parts.append(text(0, y + 4, figure.label))
        parts += source_marks(axis, y, figure) + our_marks(axis, y, figure)
        parts.append(text(WIDTH - 56, y + 4, claimed(figure), "end"))
        bold = ' font-weight="600"'
        parts.append(text(WIDTH - 2, y + 4, number(figure.ours), "end", f'{bold} fill="{OURS}"'))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" font-family="system-ui, sans-serif" '
        f'font-size="{FONT}" fill="currentColor">'
    )
    names = [
        f'<title id="{name}-title">{html.escape(title)}</title>',
        f'<desc id="{name}-desc">{html.escape(description)}</desc>',
    ]
    return "\n".join([head, *names, *parts, "</svg>"]) + "\n"
