"""Tables of the book that follow from the schemas of `bentpipe schema`; used by check."""

import json
import re
import subprocess

# Names of the schema's types in tables; those of other types follow from what they allow.
TYPES = {"Span": "span", "Bytes": "size", "Rate": "rate", "Ratio": "ratio", "Length": "length",
         "Decibels": "decibels", "Window2": "window", "DirectionPatch": "direction"}


class WrongMarker(Exception):
    """A marker that cannot be followed."""


def kind_of(schema, root):
    """A few words for the type of a property."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        return TYPES.get(name) or kind_of(root["$defs"][name], root)
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{json.dumps(v)}`" for v in schema.get("enum", [schema.get("const")]))
    several = schema.get("anyOf", schema.get("oneOf", []))
    if several := [one for one in several if one.get("type") != "null"]:
        separator = ", " if all("const" in one for one in several) else " or "
        return separator.join(dict.fromkeys(kind_of(one, root) for one in several))
    kind = schema.get("type", "any")
    kind = next(one for one in kind if one != "null") if isinstance(kind, list) else kind
    if kind == "array":
        inner = kind_of(schema["items"], root) if isinstance(schema.get("items"), dict) else "any"
        return "list of " + {"table": "tables", "text": "texts"}.get(inner, inner)
    if "minimum" in schema:
        most = f" to {schema['maximum']}" if "maximum" in schema else " or more"
        return f"{schema['minimum']}{most}"
    return {"object": "table", "string": "text"}.get(kind, kind)


def table_of(schema, root):
    """The first table that `schema` allows, through references and lists."""
    if "properties" in schema:
        return schema
    inner = [*schema.get("anyOf", []), *schema.get("oneOf", []), schema.get("items", {})]
    # A table of tables by name.
    inner += [schema.get("additionalProperties")]
    inner += [root["$defs"][schema["$ref"].rpartition("/")[2]]] if "$ref" in schema else []
    found = (table_of(one, root) for one in inner if one and one is not True)
    return next(filter(None, found), None)


def section(name, root):
    """The table that a dotted path of keys names; `.` is the top level."""
    found = root
    for key in name.split(".") if name != "." else []:
        found = table_of(found["properties"].get(key, {}), root)
        if not found:
            raise WrongMarker(f"the schema has no section `{name}`")
    return found


def keys_table(sections, root, anchors):
    """Rows for the keys of `sections`; a key whose name is among `anchors` links there."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    omitted = set()
    for name in (one[1:] for one in sections if one.startswith("-")):
        omitted |= set(section(name[:-2], root)["properties"]) if name.endswith(".*") else {name}
    for name in (one for one in sections if not one.startswith("-")):
        prefix, _, name = name.rpartition("=")
        table = section(name, root)
        for key, schema in table["properties"].items():
            if prefix + key in omitted:
                continue
            kind = kind_of(schema, root)
            headings = (f"{name}.{key}".lower().replace(".", ""), key)
            if slug := next((one for one in headings if one in anchors), None):
                kind = re.sub(r"\btables?\b", lambda match: f"[{match[0]}](#{slug})", kind, count=1)
            default = "required" if key in table.get("required", []) else ""
            if schema.get("default") not in (None, {}, []):
                default = f"`{json.dumps(schema['default'])}`"
            meaning = " ".join(schema.get("description", "").split())
            meaning = re.sub(r"\[(`[^`]*`)\]", r"\1", meaning)
            cells = (f"`{prefix}{key}`", kind, default, meaning)
            rows.append("".join(f"| {cell} ".replace(" |", " \\|") for cell in cells) + "|")
    return "\n".join(rows) + "\n"


def metrics_table(scopes, root, _):
    """Rows for the metrics of `scopes`; those of layers, and of streams of calls, share one row."""
    rows = {}
    for metric in (one for one in root["x-metrics"] if one["scope"] in scopes):
        name = re.sub(r"^(reverse_\w+)\..*", r"\1.LAYER", metric["name"])
        name = re.sub(r"^(audio|video)_(down|up)load\..*", "STREAM.METRIC", name)
        about = " ".join(metric["about"].split()).replace("|", "\\|")
        rows.setdefault(name, f"| `{name}` | {about} |")
    return "\n".join(["| metric | meaning |", "|---|---|", *rows.values()]) + "\n"


def clocks_table(_, root, __):
    """Rows for the workloads by the clocks that run them, which `x-clocks` says."""
    found = {}
    for key, schema in section("workload", root)["properties"].items():
        if cells := schema.get("x-clocks"):
            found.setdefault(tuple(cells), []).append(f"`{key}`")
    rows = ["| | virtual clock | real clock, QUIC | real clock, TCP |", "|---|---|---|---|"]
    rows += (f"| {', '.join(keys)} | " + " | ".join(cells) + " |" for cells, keys in found.items())
    return "\n".join(rows) + "\n"


def values_table(keys, root, _):
    """Rows for the values that the schema lists for `keys`, with what each does."""
    rows = ["| value | meaning |", "|---|---|"]
    for name in keys:
        parent, _, key = name.rpartition(".")
        found = section(parent or ".", root)["properties"].get(key, {})
        if "$ref" in found:
            found = root["$defs"][found["$ref"].rpartition("/")[2]]
        values = [one for one in found.get("oneOf", []) if "const" in one]
        if not values:
            raise WrongMarker(f"the schema lists no values of `{name}`")
        for value in values:
            about = " ".join(value.get("description", "").split()).replace("|", "\\|")
            rows.append(f"| `{json.dumps(value['const'])}` | {about} |")
    return "\n".join(rows) + "\n"


# Kinds of tables: the command that prints their schema, and what makes rows of it.
TABLES = {"keys": (["schema"], keys_table), "clocks": (["schema"], clocks_table),
          "values": (["schema"], values_table),
          "metrics": (["schema", "--results"], metrics_table)}


def generated(body, bentpipe, anchors):
    """The table that the marker `body` asks for, on a page with these anchors."""
    kind, *sections = body.split()
    if kind not in TABLES:
        raise WrongMarker(f"`{kind}` is no kind of table; kinds are {', '.join(TABLES)}")
    command, rows = TABLES[kind]
    root = json.loads(subprocess.run([bentpipe, *command], check=True, capture_output=True).stdout)
    return rows(sections, root, anchors)


def merged(present, full):
    """The rows of `present` whose keys are in `full`, and the rows of `full` that it lacks."""
    def keys(row):
        return set(re.findall(r"`([^`]+)`", row.split("|")[1])) if row.startswith("| `") else set()

    known = set().union(*map(keys, full.splitlines()))
    kept = [row for row in present.strip().splitlines() if keys(row) <= known]
    shown = set().union(*map(keys, kept))
    return "\n".join(kept + [row for row in full.splitlines() if keys(row) - shown]) + "\n"
