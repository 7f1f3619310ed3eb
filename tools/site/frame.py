"""What all pages of the site share: heads, the bar, and files that several pages load."""

import hashlib
import html
import re

# Sets the colours before anything is drawn, as `studio/src/page/theme.ts` does afterwards.
THEME = (
    '<script>(function(){var t;try{t=localStorage.getItem("bentpipe-theme")}catch(e){}'
    'document.documentElement.dataset.theme=t==="dark"||t!=="light"&&'
    'matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"})()</script>'
)
# The book chooses its colours by a key of its own.
BOOK_THEME = (
    '<script>try{localStorage.setItem("mdbook-theme",'
    'document.documentElement.dataset.theme==="dark"?"navy":"light")}catch(e){}</script>'
)
MARK = (
    '<svg width="26" height="18" viewBox="0 0 26 18" fill="none" stroke="currentColor" '
    'stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">'
    '<path d="M2 16 13 3 24 16"/><circle cx="13" cy="3" r="1.6" fill="currentColor"/></svg>'
)
# Name, page and how the bar's entries begin that it stands for.
PLACES = [
    ("Gallery", "gallery/index.html"),
    ("Tutorial", "book/tutorial/first-scenario.html"),
    ("Book", "book/index.html"),
    ("Validation", "book/validation/validation.html"),
    ("Research", "research/index.html"),
    ("Decisions", "book/decisions/index.html"),
]
# Scripts shorter than this stay in their page.
SHARED = 20_000


def bar(root, here=""):
    """Returns the bar of a page whose way to the site's root is `root`."""
    links = "".join(
        f'<a href="{root}{page}"{" aria-current=page" if name == here else ""}>{name}</a>'
        for name, page in PLACES
    )
    return (
        f'<header class="site-bar"><a class="site-name" href="{root}index.html">{MARK}Bentpipe</a>'
        f'<nav aria-label="Site">{links}</nav></header>'
    )


def page(root, title, kind, here, body, after=""):
    """Returns a page of the site."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
{THEME}
<link rel="stylesheet" href="{root}assets/site.css">
<script src="{root}assets/site.js" defer></script>
</head>
<body class="{kind}">
{bar(root, here)}
<main>
{body}
</main>
<footer>Bentpipe · MIT or Apache-2.0 · <a href="{root}book/index.html">book</a> ·
<a href="{root}book/validation/validation.html">what has been checked</a></footer>
{after}
</body>
</html>
"""


class Assets:
    """Files that several pages load, each named by its content."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def put(self, name, ending, text):
        """Writes a file if there is none like it; returns its name."""
        file = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.{ending}"
        path = self.directory / file
        if not path.exists():
            path.write_text(text)
        return file


INLINE = re.compile(r"<script(?P<kind> type=\"module\")?>(?P<code>.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
ENGINE = re.compile(
    r'(<script type="text/plain" id="bentpipe-engine"[^>]*>)(.*?)</script>', re.DOTALL
)
# Loads the engine when a reader first wants to change a scenario, before the page's own script
# hears of it. A classic script brings it, as a page on a disk can read no other file.
LOAD = """<script>addEventListener("bentpipe-edit", function load(event) {
  event.stopImmediatePropagation();
  removeEventListener("bentpipe-edit", load, true);
  event.detail.textContent = "Loading the simulator…";
  var script = document.createElement("script");
  script.src = "%s";
  script.onload = function () {
    document.dispatchEvent(new CustomEvent("bentpipe-edit", { detail: event.detail }));
  };
  script.onerror = function () { event.detail.textContent = "The simulator cannot be loaded."; };
  document.head.append(script);
}, true);</script>"""
POLICY = re.compile(r'<meta\s+http-equiv="Content-Security-Policy"\s+content="(.*?)"\s*/?>',
                    re.DOTALL)


def share(text, assets, root):
    """Moves the large scripts and styles of a report into files that all reports load.

    A report is one file that holds its page. Pages on a disk load classic scripts only, so that a
    module becomes a function of its own, deferred as modules are.
    """
    where = f"{root}assets/"

    def script(match):
        code = match["code"]
        if len(code) < SHARED:
            return match[0]
        if match["kind"]:
            name = assets.put("report", "js", f"(() => {{\n{code}\n}})();\n")
            return f'<script src="{where}{name}" defer></script>'
        name = "globe" if "globe.gl" in code[:300] else "loader"
        return f'<script src="{where}{assets.put(name, "js", code)}"></script>'

    def style(match):
        return f'<link rel="stylesheet" href="{where}{assets.put("report", "css", match[1])}">'

    def policy(match):
        allowed = match[1].replace("script-src", "script-src 'self' file:")
        allowed = allowed.replace("style-src", "style-src 'self' file:")
        return f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'

    def engine(match):
        packed = match[2]
        # Other control characters stay as they are: escaped, they would double its size.
        for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
            packed = packed.replace(plain, escaped)
        fill = f'document.getElementById("bentpipe-engine").textContent = "{packed}";\n'
        name = assets.put("engine", "js", fill)
        return f"{match[1]}</script>\n{LOAD % (where + name)}"

    text = ENGINE.sub(engine, text)
    return POLICY.sub(policy, STYLE.sub(style, INLINE.sub(script, text)))
