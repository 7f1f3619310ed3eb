"""Names that the repository defines, by regular expressions over its files; used by names."""

import functools
import re
import subprocess

# Where sentences stand, and what is made from them; a name that only stands there is not defined.
SENTENCES = re.compile(
    r"\.md$|^docs/|^research/|\.snap$|/foreign\.toml$|/retired-words\.txt$|^tools/book/tests/"
    r"|-lock\.json$|\.csv$|^atlas/rows\.toml$"
)
RUST = re.compile(r"\b(?:fn|struct|enum|trait|const|static|mod|type|union|macro_rules!) (\w+)")
TRIED = re.compile(r"/(?:tests|examples|benches)/|/tests?\.rs$")
# Fields and arguments; what stands at the beginning of a line of an enum.
FIELD = re.compile(r"(\w+): ")
VARIANT = re.compile(r"^ +([A-Z]\w*)[,({ =\n]", re.MULTILINE)
OTHERS = re.compile(r"\b(?:def|class|function|interface|const|import|from) (\w+)")
STRING = re.compile(r'"([^"\n]*)"')
COMMENT = re.compile(r"^ *//.*", re.MULTILINE)
HASH_COMMENT = re.compile(r"^ *#(?!!).*", re.MULTILINE)
ITEM = re.compile(r"(\w+)::(\w+)")
USE = re.compile(r"\buse ([^;]*);")
PUBLIC_USE = re.compile(r"\bpub use ([^;]*);")
WORD = re.compile(r"[\w.+-]+")


def words_of(texts):
    """Every word of some texts."""
    return {word for text in texts for word in re.findall(r"\w+", text)}


class Index:
    """The files of a repository, and the names that they define."""

    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root,
                                capture_output=True, text=True)
        self.files = [name for name in listed.stdout.splitlines() if (root / name).is_file()]
        self.sources = [n for n in self.files if not SENTENCES.search(n)]

    @functools.cached_property
    def paths(self):
        """Every file and folder, and each end of its path, as `queue/config.rs`."""
        found = set()
        for name in self.files:
            parts = name.split("/")
            for end in range(1, len(parts) + 1):
                for start in range(end):
                    found.add("/".join(parts[start:end]))
        return found

    @functools.cached_property
    def stems(self):
        """Names of files without what is behind the first dot."""
        return {name.rpartition("/")[2].partition(".")[0] for name in self.files}

    @functools.lru_cache
    def text(self, name):
        """A source without comments of code, which tell of other things."""
        try:
            text = (self.root / name).read_text()
        except UnicodeDecodeError:
            return ""
        if name.endswith((".rs", ".ts")):
            return COMMENT.sub("", text)
        if name.endswith((".py", ".toml", ".sh")) or "." not in name.rpartition("/")[2]:
            return HASH_COMMENT.sub("", text)
        return text

    @functools.cached_property
    def rust(self):
        """What stands behind `::` of a name in Rust: items of modules and types, by that name."""
        found = {}
        for name in (n for n in self.sources if n.endswith(".rs")):
            text = self.text(name)
            parts = name.removesuffix(".rs").split("/")
            module = parts[-2] if parts[-1] in ("mod", "lib", "main") else parts[-1]
            module = parts[1] if module == "src" else module
            own = set(RUST.findall(text)) | words_of(PUBLIC_USE.findall(text))
            for key in (module, f"bentpipe_{module}"):
                found.setdefault(key.replace("-", "_"), set()).update(own)
            types = re.findall(r"\b(?:struct|enum|trait|union)\s+(\w+)", text)
            types += re.findall(r"\bimpl(?:<[^{]*?>)?\s+(?:[\w:<>', ]+\s+for\s+)?(\w+)", text)
            members = own | set(FIELD.findall(text)) | set(VARIANT.findall(text))
            for one in types:
                found.setdefault(one, set()).update(members)
            for one, member in ITEM.findall(text):
                found.setdefault(one, set()).add(member)
        return found

    @functools.cached_property
    def names(self):
        """Every name that code defines or a string spells out, and every word of data."""
        found = set()
        for name in self.sources:
            text = self.text(name)
            if not name.endswith((".rs", ".ts")):
                found.update(WORD.findall(text))
                continue
            if TRIED.search(name):
                # Of tests and examples only what they are called; the rest is theirs alone.
                found.update(RUST.findall(text), re.findall(r"BENTPIPE_\w+", text))
                continue
            found.update(*(one.findall(text) for one in (RUST, FIELD, OTHERS)))
            found.update(WORD.findall(" ".join(STRING.findall(text))))
            if name.endswith(".rs"):
                found.update(VARIANT.findall(text), words_of(USE.findall(text)))
                found.update(re.findall(r"\b\w+!", text))
                found.update(word for pair in ITEM.findall(text) for word in pair)
            else:
                found.update(re.findall(r"[`']([\w.-]+)[`']", text))
        # A sentence ends with a dot, and a name does not.
        return found | {word.strip(".+-") for word in found}
