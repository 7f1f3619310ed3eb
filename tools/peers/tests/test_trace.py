"""Tests of the parser of QUIC packets in captures."""

import unittest

from tools.peers.interop_cases import trace

DCID, SCID = b"\x01\x02\x03\x04", b"\x0a\x0b"


def head(first, version=1):
    """The head of a long header with both connection IDs."""
    ids = bytes([len(DCID)]) + DCID + bytes([len(SCID)]) + SCID
    return bytes([first]) + version.to_bytes(4, "big") + ids


class Packets(unittest.TestCase):
    def test_integers_of_all_lengths(self):
        # The examples of RFC 9000, appendix A.1.
        for text, value in (("c2197c5eff14e88c", 151288809941952652), ("9d7f3e7d", 494878333),
                            ("7bbd", 15293), ("25", 37), ("4025", 37)):
            data = bytes.fromhex(text)
            self.assertEqual(trace.integer(data, 0), (value, len(data)))

    def test_packets_that_share_a_datagram(self):
        initial = head(0xC0) + b"\x03abc" + b"\x05" + bytes(5)
        handshake = head(0xE0) + b"\x40\x04" + bytes(4)
        short = b"\x40" + bytes(20)
        found = trace.packets(initial + handshake + short)
        self.assertEqual([one.kind for one in found], [trace.INITIAL, trace.HANDSHAKE, trace.SHORT])
        self.assertEqual([one.size for one in found], [len(initial), len(handshake), 21])
        self.assertEqual((found[0].token, found[0].dcid, found[0].scid), (b"abc", DCID, SCID))
        self.assertEqual(found[0].version, 1)

    def test_a_retry_has_its_token_without_the_tag(self):
        [found] = trace.packets(head(0xF0) + b"token" + bytes(16))
        self.assertEqual((found.kind, found.token), (trace.RETRY, b"token"))

    def test_version_negotiation_ends_the_datagram(self):
        [found] = trace.packets(head(0x80, version=0) + bytes(8))
        self.assertEqual(found.kind, trace.NEGOTIATION)

    def test_padding_and_cut_packets_end_it_too(self):
        self.assertEqual(trace.packets(b"\x00" * 30), [])
        self.assertEqual(trace.packets(head(0xC0)[:7]), [])
