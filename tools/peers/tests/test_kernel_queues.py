"""Tests of the comparison of queues with the kernel's: what needs neither root nor a kernel."""

import tomllib
import unittest

from tools.peers.kernel_queues import ends, exact, simulated, twins


class Schedules(unittest.TestCase):
    def test_packets_of_all_flows_are_in_the_order_of_their_times(self):
        # 1000 B at 8 Mbps are a packet each millisecond, 100 B at 0.4 Mbps one every two.
        packets = ends.schedule([(1000, 8), (100, 0.4)], 4_000_000)
        self.assertEqual([flow for _, flow, _ in packets], [0, 1, 0, 0, 1, 0])
        self.assertEqual([at for at, flow, _ in packets if flow == 0],
                         [0, 1_000_000, 2_000_000, 3_000_000])

    def test_small_datagrams_come_at_all_phases(self):
        gap = twins.FLOWS[0][0] * 8e3 / twins.FLOWS[0][1]
        packets = ends.schedule(twins.FLOWS, twins.DURATION)
        phases = sorted(at % gap / gap for at, flow, _ in packets if flow == 1)
        steps = [later - sooner for sooner, later in zip(phases, phases[1:])]
        self.assertLess(max(steps), 5 / len(phases))


class Exact(unittest.TestCase):
    def test_a_burst_of_one_packet_moves_nothing(self):
        self.assertEqual(exact.expected(6060, 70, 200, exact.COUNTED), 6060)

    def test_a_longer_burst_moves_the_first_loss_by_what_comes_meanwhile(self):
        # Half of the offered rate passes, so that each packet of the burst is worth two.
        rate = 100 * exact.COUNTED / exact.PAYLOAD
        self.assertAlmostEqual(exact.expected(0, rate, 200, 11 * exact.COUNTED), 20)


class Twins(unittest.TestCase):
    def test_a_refusal_says_who_lacks_the_discipline(self):
        unknown = "Error: Specified qdisc kind is unknown."
        self.assertEqual(twins.missing(unknown, "fq_codel"), "kernel without sch_fq_codel")
        old = 'Unknown qdisc "dualpi2", hence option "limit" is unparsable'
        self.assertEqual(twins.missing(old, "dualpi2"), "tc does not know it")
        self.assertIsNone(twins.missing("What is \"limits\"?", "pie"))

    def test_the_quantile_is_a_value(self):
        values = list(range(1, 101))
        self.assertEqual((twins.quantile(values, 0.99), twins.quantile([7], 0.99)), (99, 7))

    def test_delays_of_a_queue_that_only_drains_do_not_count(self):
        end = twins.DURATION
        packets = [(0, 0, 1400), (0, 1, 100), (end // 2, 0, 1400), (end - 1, 0, 1400)]
        start = 5 * end
        dues = [start + after for after, _, _ in packets]
        found = [(0, dues[0], start + 1_000_000), (1, dues[1], start + 2_000_000),
                 (3, dues[3], dues[3] + 9_000_000)]
        (lost, delay, sent), small = twins.outcome(packets, found)
        self.assertAlmostEqual(lost, 1 / 3)
        self.assertEqual((delay, sent, small), (1.0, 3, (0.0, 2.0, 1)))

    def test_shares_and_delays_that_differ_are_told(self):
        self.assertTrue(twins.near((0.2, 102.0, 22_000), (0.205, 100.0)))
        self.assertFalse(twins.near((0.2, 106.0, 22_000), (0.2, 100.0)))
        self.assertFalse(twins.near((0.2, 100.0, 22_000), (0.22, 100.0)))
        # Two packets' time, and one of those that are never lost.
        self.assertTrue(twins.near((0.002, 1.5, 500), (0.0, 0.5)))

    def test_a_comparison_is_made_again_until_it_agrees(self):
        results = iter([1, 2, 3])
        self.assertEqual(ends.compared(lambda: next(results), lambda one: one == 2), (2, True))
        results = iter([1, 1, 3, 4])
        self.assertEqual(ends.compared(lambda: next(results), lambda one: one == 2), (3, False))

    def test_each_has_a_scenario_and_a_place_below_htb_or_above_all(self):
        for twin in twins.TWINS:
            queue = f'{{ aqm = "{twin.name}"' + (f", {twin.keys}" if twin.keys else "") + " }"
            text = simulated.scenario(20, queue, twins.FLOWS, twins.DURATION, twins.DSCP)
            scenario = tomllib.loads(text)
            self.assertEqual(scenario["path"]["forward"]["queue"]["aqm"], twin.name)
            self.assertEqual(len(scenario["flow"]), len(twins.FLOWS))
            self.assertIn(twin.kernel, twin.commands()[-1])


if __name__ == "__main__":
    unittest.main()
