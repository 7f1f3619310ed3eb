"""The first page of the site; used by build."""

import base64
import html
import json
import re
import zlib

from tools.book.rows import MARKS
from tools.site.frame import page

# What the variants of docs/site/landing.toml are called.
TITLES = {
    "standard": "Standard slow start",
    "first": "Bentpipe, first visit",
    "again": "Bentpipe, next visit",
}
# How the command comes onto a machine, in a line.
INSTALL = (
    "git clone https://github.com/bentpipe/bentpipe &amp;&amp; cd bentpipe &amp;&amp; make install"
)
ELEMENT = r'<script type="[^"]*" id="{}">(.*?)</script>'
# Series that the picture is drawn from.
SERIES = ("sent", "acked", "received")


def element(report, name):
    """The text of an element with data of a report."""
    return re.search(ELEMENT.format(name), report, re.DOTALL)[1]


def data(report):
    """The data of a report as the picture needs it: the series of packets and deliveries only."""
    document = json.loads(element(report, "bentpipe-report"))
    blob = zlib.decompress(base64.b64decode(element(report, "bentpipe-traces")))
    kept = bytearray()
    for trace in document["traces"]:
        trace["links"] = []
        for flow in trace["flows"]:
            flow["series"] = {name: flow["series"][name] for name in SERIES}
            for series in flow["series"].values():
                # Times and values: see `studio/src/data/blob.ts`.
                part = blob[series["offset"] : series["offset"] + 12 * series["n"]]
                series["offset"] = len(kept)
                kept += part + bytes(-len(part) % 8)
    text = json.dumps(document, ensure_ascii=False).replace("</", "<\\/")
    packed = base64.b64encode(zlib.compress(kept, 9)).decode()
    return (
        f'<script type="application/json" id="bentpipe-report">{text}</script>\n'
        f'<script type="text/plain" id="bentpipe-traces">{packed}</script>'
    )


def times(report):
    """Completion times of the variants, for readers without scripts."""
    runs = json.loads(element(report, "bentpipe-report"))["runs"]
    return {run["variant"]: run["flows"][-1]["completion_s"] for run in runs}


def tally(counts):
    """The verdicts and how often there is each."""
    cells = "".join(
        f"<div><dt>{MARKS[kind]} {kind}</dt><dd>{count}</dd></div>"
        for kind, count in counts.items()
    )
    return f'<dl class="tally">{cells}</dl>'


def home(report, scenario, counts, editable):
    """Returns the page. `report` is that of `scenario`, a text of TOML."""
    change = '<a href="play/landing.html">Change it and run it here</a>' if editable else ""
    tutorial = '<a{} href="book/tutorial/first-scenario.html">Start the tutorial</a>'
    begin = (
        '<a class="main" href="play/landing.html">Run it in your browser</a>' + tutorial.format("")
        if editable
        else tutorial.format(' class="main"')
    )
    lanes = "".join(
        f'<li class="done"><span class="swatch"></span><span class="name">{TITLES[name]}</span>'
        f'<span class="track"></span><span class="time">{time:.2f} s</span></li>'
        for name, time in times(report).items()
    )
    titles = html.escape(json.dumps(TITLES), quote=True)
    shown = "\n".join(line for line in scenario.splitlines() if not line.startswith("#")).strip()
    rows = sum(counts.values())
    body = f"""
<div class="opening">
<div><h1>See how QUIC and TCP behave over satellite paths, and why.</h1>
<p class="actions">{begin}
<a href="gallery/index.html">{rows} published results</a></p></div>
<div><p>Bentpipe is a laboratory for transports on long paths. Describe a path, the traffic and what
to compare in a short file; it runs real protocol stacks under a virtual clock, packet by packet,
and answers with statistics, causes and a report that opens anywhere.</p>
<pre class="install" tabindex="0"><code>{INSTALL}</code></pre></div>
</div>
<figure class="card race"><div id="race" data-titles="{titles}">
<div class="under"><ol class="lanes">{lanes}</ol></div></div>
<figcaption>10 MB over a geostationary access of 50 Mbps, in real time: three runs of
<code>docs/site/landing.toml</code>. Rings are the handshake and the request, dots are data, small
dots acknowledgements; what waits to be sent is beside the server.</figcaption></figure>

<section><h2>What it is for</h2><div class="tiles">
<article class="card"><img src="book/images/report.png" alt="A report: completion times of two
variants, and the time series of one run" loading="lazy"><h3>Compare</h3><p>Congestion controllers
from NewReno to BBRv3, slow-start algorithms, Careful Resume, ACK policies, proxies: with repeats,
confidence intervals, and an account of where the time went.
<a href="book/guides/report.html">Read a report</a></p></article>
<article class="card"><img src="book/images/globe.png" alt="A constellation on the globe, with the
route of a flow" loading="lazy"><h3>Move the satellites</h3><p>Paths over GEO accesses with capacity
on demand and rain, and packet by packet through constellations in low orbits, with handovers and
inter-satellite links. <a href="book/concepts/leo.html">Low orbits</a></p></article>
<article class="card"><img src="book/images/studio.png" alt="The studio: a scenario's text, its path
and its results" loading="lazy"><h3>Change and see</h3><p>The studio answers while you type or move
a slider, and runs the same scenarios as the command line, Python and the real clock.
<a href="book/guides/studio.html">The studio</a></p></article>
</div></section>

<section><h2>Checked against what others published</h2>
<p>{rows} results of papers, drafts and talks, each beside ours. The verdicts are computed from the
figures, and those that fail stay.</p>
{tally(counts)}
<p class="actions"><a href="gallery/index.html">Gallery</a>
<a href="book/validation/validation.html">Validation</a>
<a href="book/introduction.html#limits">Limits</a></p></section>

<section><h2>One file is the experiment</h2><div class="two">
<pre class="card" tabindex="0"><code>{html.escape(shown)}</code></pre>
<div class="card"><p>That is all of the picture above. <code>bentpipe run</code> prints a table,
says what made one variant faster than the other, and writes a report and machine-readable results.
The same scenario, seed and version give the same bytes.</p>
<pre tabindex="0"><code>$ git clone https://github.com/bentpipe/bentpipe
$ cd bentpipe &amp;&amp; make demo
$ target/debug/bentpipe run docs/site/landing.toml</code></pre>
<p class="actions">{change}
<a href="book/tutorial/first-scenario.html">Tutorial</a>
<a href="book/reference/scenarios.html">All keys</a>
<a href="book/guides/python.html">From Python</a></p></div>
</div></section>"""
    return page("", "Bentpipe: transports over satellite paths", "home", "", body, data(report))
