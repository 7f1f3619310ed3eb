"""Tests of how explanations are compared with the truth, on documents made here."""

import json
import unittest

from tools.peers.explain_truth import draw, make, predict, reading, remedy, score, verify
from tools.peers.explain_truth.kinds import KINDS
from tools.testing import folder


def record(label, **more):
    return {"id": "000-case", "kind": "kind", "label": label, "detail": "", "client": "curl",
            "measured_s": 5.0, "work": {"size": 1_000_000, "count": 1}} | more


def document(budget, causes, text="took 5 s", size=1_000_000, seconds=5.0):
    told = {"variant": "recorded", "time_budget": budget, "causes": causes, "text": text,
            "completion_s": seconds}
    return {"bytes": size, "transfers": [told, told | {"variant": "bentpipe", "causes": ["x_s"]}]}


def case(kind):
    return make.draw_case(1, 0, next(one for one in KINDS if one.name == kind))


class Verdicts(unittest.TestCase):
    def test_the_first_cause_counts_however_long_the_needed_parts_are(self):
        told = document({"serialisation_s": 4.0, "timeout_s": 1.0}, ["timeout_s"])
        self.assertEqual(score.judge(record(["timeout_s"]), told), ("right", "timeout_s"))
        self.assertEqual(score.judge(record(["outage_s"]), told), ("wrong", "timeout_s"))

    def test_for_a_needed_part_the_largest_counts(self):
        told = document({"serialisation_s": 4.0, "timeout_s": 1.0}, ["timeout_s"])
        self.assertEqual(score.judge(record(["serialisation_s"]), told)[0], "right")
        self.assertEqual(score.judge(record(["request_s"]), told)[0], "wrong")

    def test_unknown_and_refused(self):
        told = document({"unattributed_s": 4.0}, ["unattributed_s"])
        self.assertEqual(score.judge(record(["outage_s"]), told)[0], "unknown")
        self.assertEqual(score.judge(record(["outage_s"]), None), ("refused", None))

    def test_bytes_and_duration(self):
        same = document({}, [])
        self.assertEqual(score.sizes(record([]), same), [])
        self.assertEqual(len(score.sizes(record([]), document({}, [], size=2_000_000))), 1)
        self.assertEqual(len(score.sizes(record([]), document({}, [], seconds=7.0))), 1)

    def test_details_are_compared_if_the_cause_is_right(self):
        truth = record(["timeout_s"], detail="channel")
        told = document({}, ["timeout_s"]) | {"direction": "download"}
        lost = {"packets": 4, "at_a_full_queue": 1}
        self.assertTrue(score.detail(truth, told | {"losses": lost}))
        self.assertFalse(score.detail(truth | {"detail": "queue"}, told | {"losses": lost}))
        self.assertIsNone(score.detail(truth | {"label": ["outage_s"]}, told | {"losses": lost}))
        pauses = told | {"pauses": {"sender_s": 3.0, "receiver_s": 1.0}}
        self.assertTrue(score.detail(truth | {"detail": "server"}, pauses))
        self.assertFalse(score.detail(truth | {"detail": "client"}, pauses))
        limit = {"limit": "the client's receive window of 66 kB", "bytes": 66_000}
        self.assertTrue(score.detail(truth | {"detail": "receive window"},
                                     told | {"flow_control": limit}))
        self.assertFalse(score.detail(truth | {"detail": "stream"}, told | {"flow_control": limit}))
        reader = truth | {"detail": "reader"}
        self.assertFalse(score.detail(reader, told | {"flow_control": limit}))
        limit["limit"] = "the client reads too slowly, at 1.5 Mbps: ..."
        self.assertTrue(score.detail(reader, told | {"flow_control": limit}))
        self.assertEqual(score.window({"size": {"window": 33_000}}, {"flow_control": limit}), 2)

    def test_the_summary_counts_and_lists_what_is_missed(self):
        row = {"kind": "clean", "form": "qlog, client", "program": "curl", "detail": None,
               "window": None, "differs": [], "seconds": 0.1, "label": ["timeout_s"], "error": "",
               "text": "took"}
        rows = [row | {"file": "a", "verdict": "right", "named": "timeout_s"},
                row | {"file": "b", "verdict": "wrong", "named": "outage_s"}]
        text = score.summary(rows)
        self.assertIn("2 explanations: 1 right (50 %), 1 wrong (50 %)", text)
        self.assertIn("| clean | 2 | 1 | 1 |  |  |", text)
        self.assertIn("b: wrong: outage_s, planted timeout_s", text)
        self.assertNotIn("a: right", text)


class Predictions(unittest.TestCase):
    def test_the_true_time_is_inside_or_not(self):
        row = predict.compare(record([]), {"low_s": 2.0, "high_s": 3.0}, 2.5)
        self.assertTrue(row["inside"])
        self.assertEqual(row["width"], 1.5)
        self.assertFalse(predict.compare(record([]), {"low_s": 2.0, "high_s": 3.0}, 3.1)["inside"])
        self.assertIsNone(predict.compare(record([]), None, 3.1)["inside"])

    def test_the_summary_counts_ranges_and_their_width(self):
        rows = [predict.compare(record([]), {"low_s": 2.0, "high_s": high}, 3.5) | {"file": "f"}
                for high in (3.0, 4.0)] + [predict.compare(record([]), None, 1)]
        text = predict.summary(rows)
        self.assertIn("3 files, 2 with a prediction: the true time is inside in 1 (50 %)", text)
        self.assertIn("1.5 wide in 1 (50 %)", text)
        self.assertIn("000-case/f: 2.00 to 3.00 s, true 3.50 s", text)

    def test_a_path_that_changes_begins_with_the_transfer(self):
        text = '{ at = "0.000 s", rate = "1 Mbps" }, { at = "5.250 s", rate = "0 bps" }'
        self.assertIn('at = "1.250 s"', predict.shifted(text, 4.0))
        self.assertIn('at = "0.000 s"', predict.shifted(text, 4.0))

    def test_the_true_path_replaces_that_of_the_file(self):
        scenario = 'name = "a"\n[path]\nrtt = "1 s"\n[workload]\ndownload = "1 MB"\n'
        found = predict.with_path(scenario, draw.Path(8.0, 0.5).toml())
        self.assertIn('delay = "250.00 ms"', found)
        self.assertNotIn('rtt = "1 s"', found)
        self.assertTrue(found.endswith('[workload]\ndownload = "1 MB"\n'))


class Remedies(unittest.TestCase):
    def test_quantities(self):
        self.assertEqual(remedy.size("7 MB"), 7_000_000)
        self.assertEqual(remedy.size(65536), 65536)
        self.assertEqual(remedy.quantity("500 kbps", remedy.RATES), 0.5)
        self.assertIsNone(remedy.size("much"))

    def test_a_window_is_that_of_the_remedy(self):
        told = {"cause": "flow_control_s", "value": "7 MB", "saves_s": 3.0}
        before = case("receive-window")
        after = remedy.mended(before, told)
        self.assertEqual(after.work.receive_buffer, 7_000_000)
        self.assertNotEqual(before.work.receive_buffer, 7_000_000)
        self.assertEqual(remedy.mended(case("send-buffer"), told).work.send_buffer, 3_500_000)
        told |= {"setting": "the largest receive buffer (`net.ipv4.tcp_rmem`, SO_RCVBUF)"}
        self.assertEqual(remedy.mended(before, told).work.receive_buffer, 3_500_000)

    def test_losses_and_pauses_go_away(self):
        after = remedy.mended(case("random-loss"), {"cause": "congestion_window_s"})
        self.assertNotIn("loss", after.path.toml())
        if not case("random-loss").quic:
            after = remedy.mended(case("random-loss"),
                                  {"cause": "congestion_window_s", "value": "BBR"})
            self.assertEqual(after.work.congestion, "bbr")
        after = remedy.mended(case("server-thinks"), {"cause": "application_s"})
        self.assertEqual(after.work.think, 0)

    def test_a_remedy_of_another_cause_is_none(self):
        self.assertIsNone(remedy.mended(case("server-thinks"), {"cause": "timeout_s"}))
        self.assertIsNone(remedy.proposed(case("server-thinks"), {"remedies": None}))

    def test_the_saving_is_compared(self):
        told = {"saves_s": 2.0, "setting": "x", "value": 1}
        self.assertTrue(remedy.compare(record([]), told, {"measured_s": 3.2})["within"])
        self.assertFalse(remedy.compare(record([]), told, {"measured_s": 4.0})["within"])
        self.assertFalse(remedy.compare(record([]), told, {"measured_s": 5.5})["within"])

    def test_what_is_saved_at_most_is_a_bound(self):
        def row(most, measured):
            told = {"saves_s": None, "saves_up_to_s": most, "setting": "x", "value": ""}
            return remedy.compare(record([]), told, {"measured_s": measured})
        self.assertTrue(row(3.0, 4.0)["within"])
        self.assertFalse(row(1.5, 3.0)["within"])
        self.assertFalse(row(1.5, 6.0)["within"])
        text = remedy.summary([row(3.0, 4.0) | {"file": "f"}, row(1.5, 3.0) | {"file": "g"}])
        self.assertIn("2 remedies of 1 cases: 1 (50 %) save no more", text)
        self.assertIn("said up to 1.50 s, saved 2.00 s", text)

    def test_a_saving_stands_before_a_bound(self):
        made = case("on-demand")
        bound = {"cause": "capacity_s", "saves_s": None, "saves_up_to_s": 4.0}
        told = bound | {"saves_s": 3.0, "saves_up_to_s": None}
        self.assertEqual(remedy.proposed(made, {"remedies": [bound, told]}), told)
        self.assertEqual(remedy.proposed(made, {"remedies": [bound]}), bound)


class Removals(unittest.TestCase):
    def test_most_kinds_can_be_made_without_their_cause(self):
        without = {kind.name for kind in KINDS if not verify.removed(case(kind.name))}
        self.assertLessEqual(without, {"clean", "sequential-requests", "slow-start",
                                       "long-handshake"})

    def test_what_is_saved_is_compared_with_the_other_parts(self):
        made = case("server-thinks")
        made.parts = {"application_s": 4.0, "handshake_s": 1.0}
        before = {"measured_s": 6.0}
        self.assertTrue(verify.compare(made, before, {"measured_s": 2.0})["dominates"])
        self.assertFalse(verify.compare(made, before, {"measured_s": 5.5})["dominates"])


class Reading(unittest.TestCase):
    def test_a_drawing_has_different_kinds_and_follows_its_seed(self):
        where = folder(self)
        records = []
        for number, kind in enumerate(KINDS[:6]):
            made = make.draw_case(1, number, kind).record()
            files = [{"path": "client.pcap", "end": "client", "form": "capture"}]
            records.append(made | {"status": "complete", "measured_s": 9.0, "files": files})
        records[5]["status"] = "failed: 1"
        (where / "truth.json").write_text(json.dumps(records))
        found = reading.drawn(where, 1, 5)
        self.assertEqual(len({made.kind for made, _, _ in found}), 5)
        self.assertEqual(found, reading.drawn(where, 1, 5))
        self.assertNotEqual(found, reading.drawn(where, 2, 5))
        self.assertIn("of 9.00 s", reading.answer(*found[0][:2]))


if __name__ == "__main__":
    unittest.main()
