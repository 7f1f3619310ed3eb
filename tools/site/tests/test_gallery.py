"""Tests of the gallery."""

import unittest

from tools.atlas.digests import MEASURED
from tools.book import rows
from tools.site import runs


class Gallery(unittest.TestCase):
    """The gallery of the site as the repository is."""

    def test_every_row_of_the_atlas_is_in_it_or_is_a_measurement(self):
        _, entries = runs.entries()
        shown = {row.id for entry in entries.values() for row in entry.rows}
        _, _, published = rows.rows()
        measured = runs.ROOT / "atlas" / MEASURED
        for row in published:
            names = {figure.scenario for figure in row.figures}
            found = all((measured / f"{name}.json").exists() for name in names)
            self.assertNotEqual(row.id in shown, found, row.id)
