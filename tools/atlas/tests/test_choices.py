"""Tests of what each choice of a controller costs."""

import unittest

from tools.atlas import choices


class Choices(unittest.TestCase):
    """Times over that of the fastest choice, and what others keep."""

    def test_a_time_is_compared_with_the_fastest_of_its_size(self):
        found = choices.ratios({
            ("a", "2 MB"): 3.0, ("b", "2 MB"): 2.0, ("a", "10 MB"): 4.0, ("b", "10 MB"): 5.0,
        })
        self.assertEqual(found, {"a": [1.5, 1.0], "b": [1.0, 1.25]})

    def test_what_did_not_complete_counts_as_the_limit(self):
        found = choices.ratios({("a", "2 MB"): 3.0, ("b", "2 MB"): None})
        self.assertEqual(found["b"], [choices.LIMIT / 3.0])

    def test_the_limit_is_that_of_the_scenarios(self):
        folder = choices.ATLAS.parent / "scenarios/studies"
        minutes = f'time_limit = "{choices.LIMIT / 60:g} min"'
        for path in folder.glob("regret-*.toml"):
            self.assertIn(minutes, path.read_text(), path.name)

    def test_all_paths_but_those_apart_count_at_the_mean(self):
        rows = choices.results()["rows"]
        sizes = {
            row["point"]["path"]: row["n"]
            for row in rows
            if row["metric"] == "time_ratio" and row["variant"] == "default"
        }
        whole = sizes.pop("all")
        apart = [name.removeprefix("regret-") for name in choices.APART]
        self.assertEqual(whole, sum(n for name, n in sizes.items() if name not in apart))

    def test_beside_a_plain_endpoint_another_keeps_what_it_has(self):
        for row in choices.results()["rows"]:
            if row["metric"] == "others_kept" and row["variant"] == "rfc":
                self.assertEqual(row["mean"], 1.0)


if __name__ == "__main__":
    unittest.main()
