"""Tests of the tables that follow from a schema."""

import unittest

from tools.book import tables

SCHEMA = {
    "properties": {
        "seed": {"type": "integer", "minimum": 0, "default": 1, "description": "Seed | of all."},
        "path": {"$ref": "#/$defs/Path"},
        "loss": {"anyOf": [{"$ref": "#/$defs/Loss"}, {"type": "null"}]},
    },
    "required": ["path"],
    "$defs": {
        "Path": {"type": "object", "properties": {
            "rtt": {"$ref": "#/$defs/Span", "description": "Round\ntrip of [`all`] links."},
            "names": {"type": ["array", "null"], "items": {"type": "string"}}}},
        "Loss": {"oneOf": [{"const": "none"}, {"const": "random"}]},
        "Span": {"type": "string"},
    },
}


class Keys(unittest.TestCase):
    def rows(self, *sections, anchors=()):
        return tables.keys_table(sections, SCHEMA, anchors).splitlines()[2:]

    def test_a_row_has_type_default_and_meaning(self):
        self.assertEqual(self.rows("."), [
            "| `seed` | 0 or more | `1` | Seed \\| of all. |",
            "| `path` | table | required |  |",
            '| `loss` | `"none"`, `"random"` |  |  |',
        ])

    def test_types_have_names_and_descriptions_one_line_without_links(self):
        self.assertEqual(self.rows("path"), [
            "| `rtt` | span |  | Round trip of `all` links. |",
            "| `names` | list of texts |  |  |",
        ])

    def test_prefixes_and_omitted_keys(self):
        self.assertEqual(self.rows("p.=path", "-p.names"),
                         ["| `p.rtt` | span |  | Round trip of `all` links. |"])
        self.assertEqual(len(self.rows(".", "path", "-path.*")), 3)

    def test_a_table_links_to_its_heading(self):
        found = self.rows(".", anchors={"path"})
        self.assertEqual(found[1], "| `path` | [table](#path) | required |  |")

    def test_an_unknown_section_is_refused(self):
        with self.assertRaises((tables.WrongMarker, KeyError)):
            self.rows("path.nowhere.at")


class Values(unittest.TestCase):
    SCHEMA = {
        "properties": {"queue": {"properties": {
            "aqm": {"$ref": "#/$defs/Aqm", "description": "Discipline."},
            "limit": {"type": "string"}}}},
        "$defs": {"Aqm": {"oneOf": [{"const": "none", "description": "No\naqm | at all."},
                                    {"const": "red"}]}},
    }

    def test_a_row_for_each_value_with_its_meaning(self):
        rows = tables.values_table(["queue.aqm"], self.SCHEMA, ()).splitlines()[2:]
        self.assertEqual(rows, ['| `"none"` | No aqm \\| at all. |', '| `"red"` |  |'])

    def test_a_key_without_listed_values_is_refused(self):
        for key in ("queue.limit", "queue.nothing", "queue"):
            with self.assertRaises(tables.WrongMarker):
                tables.values_table([key], self.SCHEMA, ())


class Metrics(unittest.TestCase):
    def test_metrics_of_layers_share_a_row_and_other_scopes_have_none(self):
        metrics = [
            {"scope": "flow", "name": "reverse_bytes.quic", "about": "Bytes  back."},
            {"scope": "flow", "name": "reverse_bytes.tcp", "about": "Bytes back."},
            {"scope": "link", "name": "drops", "about": "Drops."},
        ]
        rows = tables.metrics_table(["flow"], {"x-metrics": metrics}, ()).splitlines()
        self.assertEqual(rows[2:], ["| `reverse_bytes.LAYER` | Bytes back. |"])


class Merged(unittest.TestCase):
    """A table whose rows a person wrote."""

    FULL = "| key | meaning |\n|---|---|\n| `a` | A. |\n| `b` | B. |\n"

    def test_rows_stay_as_they_are_missing_ones_come_and_unknown_ones_go(self):
        present = "| key | meaning |\n|---|---|\n| `a` | Ours. |\n| `gone` | Old. |\n"
        self.assertEqual(tables.merged(present, self.FULL),
                         "| key | meaning |\n|---|---|\n| `a` | Ours. |\n| `b` | B. |\n")

    def test_a_row_for_several_keys_counts_for_each(self):
        present = "| key | meaning |\n|---|---|\n| `a`, `b` | Both. |\n"
        self.assertEqual(tables.merged(present, self.FULL), present)
