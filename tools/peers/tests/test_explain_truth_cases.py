"""Tests of how cases of known truth are drawn, and of the arithmetic behind their labels."""

import collections
import json
import tomllib
import unittest

from tools.peers.explain_truth import draw, make, programs
from tools.peers.explain_truth.kinds import KINDS
from tools.testing import folder


class Cases(unittest.TestCase):
    def test_a_seed_gives_the_same_cases_and_another_gives_others(self):
        first, again, other = (make.draw_cases(seed, 30) for seed in (7, 7, 8))
        self.assertEqual(first, again)
        self.assertNotEqual([case.path for case in first], [case.path for case in other])

    def test_kinds_have_equal_numbers(self):
        self.assertGreaterEqual(len(KINDS), 20)
        count = collections.Counter(case.kind for case in make.draw_cases(3, 2 * len(KINDS)))
        self.assertEqual(count, {kind.name: 2 for kind in KINDS})

    def test_each_label_takes_more_than_any_other_part_by_arithmetic(self):
        for case in make.draw_cases(4, 10 * len(KINDS)):
            cause = max(case.parts.get(name, 0) for name in case.label)
            others = [value for name, value in case.parts.items() if name not in case.label]
            self.assertGreaterEqual(cause, draw.DOMINANT * max(others), case.id)

    def test_scenarios_are_toml_and_programs_can_do_what_their_kind_needs(self):
        kinds = {kind.name: kind for kind in KINDS}
        clients = {program.name: program for program in programs.CLIENTS}
        servers = {program.name: program for program in programs.SERVERS}
        for case in make.draw_cases(5, 4 * len(KINDS)):
            path = tomllib.loads(case.path.toml())["path"]
            self.assertEqual(set(path) & {"forward", "return"}, {"forward", "return"})
            self.assertLessEqual(kinds[case.kind].client, clients[case.client].features)
            self.assertLessEqual(kinds[case.kind].server, servers[case.server].features)
            self.assertTrue(programs.fit(clients[case.client], servers[case.server]))

    def test_a_kind_without_programs_is_left_out(self):
        missing = {"aioquic", "quic-go", "bentpipe", "ngtcp2", "picoquic"}
        cases = make.draw_cases(5, len(KINDS), lambda name: name not in missing)
        self.assertFalse(any(case.quic for case in cases))
        without = {kind.name for kind in KINDS} - {case.kind for case in cases}
        self.assertEqual(without, {"stream-window", "connection-window", "held-acks"})

    def test_a_case_comes_back_from_its_record(self):
        for case in make.draw_cases(6, len(KINDS)):
            self.assertEqual(draw.case_of(json.loads(json.dumps(case.record()))), case)


class Files(unittest.TestCase):
    def case(self, kind, client):
        found = next(one for one in KINDS if one.name == kind)
        drawn = (make.draw_case(seed, 0, found) for seed in range(200))
        return next(case for case in drawn if case.client == client)

    def recorded(self, case, *names):
        where = folder(self)
        for name in ("client-qlog", "server-qlog"):
            (where / name).mkdir()
        for name in names:
            (where / name).write_text(name)
        return {(file["path"], file["end"], file["form"]) for file in make.files(case, where)}

    def test_an_end_has_its_capture_and_its_largest_qlog(self):
        self.assertEqual(
            self.recorded(self.case("clean", "quic-go"), "client.pcapng", "server.pcapng",
                          "server-qlog/short", "server-qlog/longer", "net-log.json"),
            {("client.pcapng", "client", "capture"), ("server.pcapng", "server", "capture"),
             ("server-qlog/longer", "server", "qlog")})

    def test_a_browser_has_a_net_log(self):
        found = self.recorded(self.case("clean", "chromium-quic"), "client.pcapng", "net-log.json")
        self.assertIn(("net-log.json", "client", "NetLog"), found)

    def test_programs_without_a_setting_get_their_buffer_from_the_kernel(self):
        case = self.case("receive-window", "curl")
        self.assertTrue(make.sysctl(case)["net.ipv4.tcp_rmem"].endswith(
            f" {2 * case.work.receive_buffer}"))
        self.assertEqual(make.sysctl(self.case("receive-window", "python")), make.OPEN)

    def test_captures_are_of_both_ends_unless_the_emulator_makes_them(self):
        case = self.case("clean", "curl")
        for capture, programs_of_both in (("emulator", set()), ("tcpdump", {"tcpdump"}),
                                          ("dumpcap", {"dumpcap"})):
            case.capture = capture
            made = make.captures(case, folder(self))
            self.assertEqual({words[0] for words in made.values()}, programs_of_both)


class Arithmetic(unittest.TestCase):
    path = draw.Path(rate=8.0, rtt=1.0)

    def test_slow_start_leaves_the_link_idle_until_the_window_fills_it(self):
        self.assertEqual(self.path.bdp(), 1e6)
        # Windows of 250 and 500 kB take a quarter and half of each RTT; 1 MB fills it.
        idle = draw.slow_start(self.path, 10_000_000, window=250_000)
        busy = self.path.seconds(750_000)
        self.assertAlmostEqual(idle, 2 - busy)
        self.assertEqual(draw.slow_start(self.path, 250_000, window=250_000), 0)

    def test_a_window_limits_to_itself_each_rtt(self):
        idle = draw.windowed(self.path, 1_000_000, 100_000)
        self.assertAlmostEqual(idle, 10 - self.path.seconds(1_000_000))
        self.assertEqual(draw.windowed(self.path, 1_000_000, 10_000_000), 0)

    def test_loss_slows_down_and_never_speeds_up(self):
        rates = [draw.lossy_rate(self.path, loss) for loss in (1e-9, 1e-3, 1e-2)]
        self.assertEqual(rates[0], 1e6)
        self.assertEqual(rates, sorted(rates, reverse=True))

    def test_what_was_measured_must_leave_the_cause_the_most(self):
        case = make.draw_case(1, 0, next(kind for kind in KINDS if kind.name == "server-thinks"))
        case.parts = {"application_s": 4.0, "handshake_s": 1.0, "request_s": 1.0}
        self.assertTrue(make.dominated(case, 6.0))
        self.assertFalse(make.dominated(case, 2.5))

    def test_a_browser_that_does_not_say_what_it_transferred_has_failed(self):
        kind = next(kind for kind in KINDS if kind.name == "clean")
        cases = (make.draw_case(seed, 0, kind) for seed in range(400))
        case = next(case for case in cases if case.client == "chromium-quic")
        case.parts = {"serialisation_s": 5.0, "handshake_s": 0.1}
        for said, status in (({"completion_s": 6.0}, "complete"),
                             ({}, "failed: nothing was transferred")):
            where = folder(self)
            (where / "result.json").write_text(json.dumps(
                {"status": 0, "wall_s": 7.0, "late_start_s": 0, "said": said}))
            self.assertEqual(make.outcome(case, where)["status"], status)


if __name__ == "__main__":
    unittest.main()
