"""Tests of the relay before the server: what it does to datagrams, and its capture."""

import struct
import unittest

from tools.peers.interop_cases import relay
from tools.testing import folder


class Directions(unittest.TestCase):
    def passed(self, orders, to_server=True, count=2000):
        direction = relay.Direction(orders, to_server, seed=1)
        return [direction.passed(bytes(range(100))) for _ in range(count)]

    def test_without_orders_all_pass(self):
        self.assertEqual(set(self.passed({})), {bytes(range(100))})

    def test_the_datagrams_to_the_server_that_are_named_are_dropped(self):
        orders = {"drop_to_server": [1, 3]}
        dropped = [number for number, data in enumerate(self.passed(orders), 1) if data is None]
        self.assertEqual(dropped, [1, 3])
        self.assertNotIn(None, self.passed(orders, to_server=False))

    def test_losses_have_their_rate_and_no_longer_bursts_than_ordered(self):
        found = self.passed({"loss": 0.3, "burst": 2})
        self.assertTrue(0.2 < found.count(None) / len(found) < 0.35)
        lost = "".join("x" if data is None else " " for data in found).split()
        self.assertEqual(max(map(len, lost)), 2)

    def test_corruption_changes_one_bit(self):
        damaged = [data for data in self.passed({"corruption": 0.5}) if data != bytes(range(100))]
        self.assertTrue(damaged)
        for data in damaged:
            bits = sum(bin(a ^ b).count("1") for a, b in zip(data, bytes(range(100))))
            self.assertEqual((len(data), bits), (100, 1))

    def test_equal_seeds_give_equal_losses(self):
        self.assertEqual(self.passed({"loss": 0.3}), self.passed({"loss": 0.3}))


class Captures(unittest.TestCase):
    def test_a_datagram_is_an_ip_packet_of_the_capture(self):
        file = folder(self) / "trace.pcap"
        capture = relay.Capture(file)
        capture.add(("10.0.0.1", 5000), ("10.0.0.2", 443), b"hello")
        capture.file.close()
        data = file.read_bytes()
        self.assertEqual(struct.unpack("<I", data[20:24])[0], relay.RAW_IP)
        self.assertEqual(struct.unpack("<II", data[32:40]), (33, 33))
        self.assertEqual(struct.unpack("!HH", data[60:64]), (5000, 443))
        self.assertEqual(data[68:], b"hello")
