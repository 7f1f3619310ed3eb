"""Tests of the change of picoquic's ticket store."""

import ipaddress
import unittest

from tools.testing import program

visits = program("bench/picoquic-visits")


def ticket(capacity, address="198.18.0.1"):
    """A ticket as picoquic keeps it, with its length."""
    packed = ipaddress.ip_address(address).packed
    names = b"".join(len(name).to_bytes(2) + name for name in (b"h3.test", b"h3"))
    numbers = bytes(72) + capacity.to_bytes(8)
    body = bytes(8) + names + bytes(4) + b"\x04\x0a\x00\x00\x01"
    body += bytes([len(packed)]) + packed + numbers + b"tls"
    return len(body).to_bytes(4, "little") + body


class Tickets(unittest.TestCase):
    def test_tickets_without_a_frame_go_and_the_others_get_the_other_address(self):
        with_address = ticket(1000, visits.OTHER)
        self.assertEqual(visits.rewritten(ticket(0) + ticket(1000), "address"), with_address)

    def test_the_capacity_grows_if_asked(self):
        self.assertEqual(visits.rewritten(ticket(1000), "address and capacity"),
                         ticket(16000, visits.OTHER))
