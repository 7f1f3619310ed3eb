"""Tests of figures and tables by id: those that moved, that are unknown, that no page shows."""

import json
import unittest

from tools.book import atlas, figures
from tools.book.tables import WrongMarker
from tools.testing import folder


def row(scenario, variant, median, metric="completion_s"):
    """A row of committed results."""
    place = {"variant": variant, "point": {}, "flow": "main", "visit": 1, "scenario": scenario}
    return {**place, "metric": metric, "median": median, "several": False, "published": None}


class Results(unittest.TestCase):
    """Committed results of two scenarios, and a file of definitions."""

    def setUp(self):
        atlas.LOADED["model"] = [row("model", "a", 10.0), row("model", "b", 20.0)]
        atlas.LOADED["real"] = [row("real", "a", 11.0), row("real", "b", 19.0)]
        self.addCleanup(atlas.LOADED.clear)
        self.file = folder(self) / "figures.toml"

    def define(self, **definitions):
        """Writes the file of definitions."""
        figures.definitions.cache_clear()
        lines = (f"{name} = {json.dumps(what)}\n" for name, what in definitions.items())
        self.file.write_text("".join(lines))

    def renewed(self, text):
        return figures.renewed(text, self.file)


class Figures(Results):
    """Figures of sentences."""

    def test_a_figure_that_moved_is_renewed_and_named_with_its_line(self):
        self.define(**{"real-a": "real; variant = a; completion_s 1"})
        text, [moved], wrong = self.renewed("Two lines.\nIt takes 11.2<!-- fig real-a --> s.\n")
        self.assertIn("line 2: `11.2` is 11.0 now (real-a)", moved)
        self.assertEqual(text, "Two lines.\nIt takes 11.0<!-- fig real-a --> s.\n")
        self.assertEqual(self.renewed(text), (text, [], []))
        self.assertEqual(wrong, [])

    def test_an_id_without_a_figure_gets_one(self):
        self.define(**{"real-a": "real; variant = a; completion_s 1"})
        text, moved, _ = self.renewed("(<!-- fig real-a --> s)")
        self.assertEqual(text, "(11.0<!-- fig real-a --> s)")
        self.assertEqual(len(moved), 1)

    def test_a_figure_is_all_of_the_number_and_its_sign(self):
        both = "real, model; scenario = real; variant = b; completion_s 0 exceeds scenario=model"
        self.define(diff=both)
        for before in ("3", "+3", "-3.25", "30"):
            self.assertEqual(self.renewed(f"by {before}<!-- fig diff -->")[0],
                             "by -5<!-- fig diff -->")
        self.assertEqual(self.renewed("8-3<!-- fig diff -->")[0], "8--5<!-- fig diff -->")

    def test_code_shows_the_notation(self):
        self.define()
        text = "`8.00<!-- fig ID -->`\n```\n8.00<!-- fig ID -->\n```\n"
        self.assertEqual(self.renewed(text), (text, [], []))
        self.assertEqual(figures.named(text), set())

    def test_an_unknown_id_and_a_missing_result_are_refused(self):
        self.define(gone="real; variant = c; completion_s 1", nothing="real; variant = a; rtt_ms")
        for name in ("other", "gone", "nothing"):
            text, moved, [wrong] = self.renewed(f"\n1.0<!-- fig {name} -->")
            self.assertEqual((text, moved), (f"\n1.0<!-- fig {name} -->", []))
            self.assertIn(f"line 2: figure `{name}`", wrong)

    def test_definitions_that_no_page_shows_or_that_are_not_sorted_are_refused(self):
        self.define(a="", b="", c="")
        self.assertEqual(list(figures.faults({"a", "b", "c"}, self.file)), [])
        [fault] = figures.faults({"a", "c"}, self.file)
        self.assertIn("no page shows `b`", fault)
        self.define(a="", c="", b="")
        [fault] = figures.faults({"a", "b", "c"}, self.file)
        self.assertIn("`b` stands behind `c`", fault)

    def test_a_figure_compares_two_scenarios(self):
        both = "real, model; scenario = real; variant = {}; completion_s 0 exceeds scenario=model"
        self.assertEqual(figures.figure(both.format("a")), "+10")
        self.assertEqual(figures.figure(both.format("b")), "-5")

    def test_cells_between_two_bounds_are_counted(self):
        count = "real, model; scenario = real; count completion_s exceeds scenario=model from {}"
        self.assertEqual(figures.figure(count.format("-6 to 11")), "2")
        self.assertEqual(figures.figure(count.format("-4 to 11")), "1")
        self.assertEqual(figures.figure(count.format("-4 to 9")), "0")


class Tables(Results):
    """Tables of results."""

    FIELDS = {
        "results": ["model", "real"], "columns": ["scenario"], "cells": ["completion_s 0"],
        "heads": ["slow start"], "names": {"a": "`a`", "real": "kernel"},
    }

    def test_a_table_has_a_row_for_each_value_in_words(self):
        self.assertEqual(
            atlas.table(self.FIELDS).split("\n"),
            ["| slow start | model | kernel |", "|---|---|---|", "| `a` | 10 | 11 |",
             "| b | 20 | 19 |"],
        )

    def test_only_chooses_rows_and_their_order(self):
        table = atlas.table({**self.FIELDS, "only": {"variant": ["b", "a"]}})
        self.assertEqual(table.split("\n")[2:], ["| b | 20 | 19 |", "| `a` | 10 | 11 |"])
        table = atlas.table({**self.FIELDS, "only": {"variant": ["b"]}, "transpose": True})
        self.assertEqual(table.split("\n")[2:], ["| model | 20 |", "| kernel | 19 |"])

    def test_a_format_joins_cells(self):
        cells = ["completion_s 0", "completion_s 1"]
        fields = {"results": ["real"], "cells": cells, "format": "{} s, {}"}
        self.assertEqual(atlas.table(fields).split("\n")[2], "| a | 11 s, 11.0 |")

    def test_unknown_and_missing_keys_are_refused(self):
        with self.assertRaisesRegex(WrongMarker, "colums"):
            atlas.table({**self.FIELDS, "colums": ["flow"]})
        with self.assertRaisesRegex(WrongMarker, "cells"):
            atlas.table({"results": ["real"]})

    def test_a_table_that_fits_no_screen_is_refused(self):
        long = {**self.FIELDS, "names": {"a": 95 * "a"}}
        with self.assertRaisesRegex(WrongMarker, "2 lines of 109 characters"):
            atlas.table(long)
        atlas.LOADED["many"] = [row("many", f"v{number}", 1.0) for number in range(26)]
        with self.assertRaisesRegex(WrongMarker, "26 lines"):
            atlas.table({"results": ["many"], "cells": ["completion_s"]})

    def test_expectations_that_are_not_met_are_listed(self):
        self.addCleanup(setattr, atlas, "ATLAS", atlas.ATLAS)
        atlas.ATLAS = folder(self)
        (atlas.ATLAS / "safety").mkdir()
        for name, passed in (("good", [True]), ("bad", [True, False])):
            document = {"expectations": [{"passed": one} for one in passed]}
            (atlas.ATLAS / "safety" / f"{name}.json").write_text(json.dumps(document))
        table = atlas.unmet("safety")
        self.assertIn("| `scenarios/safety/bad.toml` | 1 of 2 |", table)
        self.assertNotIn("good", table)
        self.assertIn("| all | 1 of 3 |", table)
