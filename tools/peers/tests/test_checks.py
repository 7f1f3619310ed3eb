"""Tests of what is checked in captures of the interop runner's cases."""

import types
import unittest

from tools.peers.interop_cases import checks
from tools.peers.interop_cases.trace import (
    HANDSHAKE, INITIAL, RETRY, SHORT, ZERO_RTT, Datagram, Packet, Trace,
)

CLIENT, SERVER = ("10.0.0.1", 5000), ("10.0.0.2", 443)


class Capture(Trace):
    """A trace of datagrams that a test made."""

    def __init__(self, *datagrams):
        self.datagrams = list(datagrams)


def sent(by_client, *packets, size=1200, ecn=0, client=CLIENT):
    ends = (client, SERVER) if by_client else (SERVER, client)
    return Datagram(0.0, *ends, ecn, size, list(packets))


def run(*datagrams):
    """A run with the same capture at both ends."""
    capture = Capture(*datagrams)
    return types.SimpleNamespace(client=capture, server=capture)


class Checks(unittest.TestCase):
    def test_handshakes_are_counted_by_connection_ids_of_the_server(self):
        twice = [sent(False, Packet(INITIAL, 9, 1, scid=scid)) for scid in (b"a", b"a", b"b")]
        self.assertIsNone(checks.handshakes(run(*twice), 2))
        self.assertEqual(checks.handshakes(run(*twice), 1), "2 handshakes instead of 1")

    def test_versions(self):
        one, two = (sent(False, Packet(INITIAL, 9, version)) for version in (1, 0x6B3343CF))
        self.assertIsNone(checks.version_1(run(one)))
        self.assertIn("instead of 1", checks.version_1(run(one, two)))
        self.assertIsNone(checks.version_2(run(one, two)))
        self.assertIn("not 2", checks.version_2(run(one)))

    def test_a_retry_has_a_token_and_the_client_returns_it(self):
        retry = sent(False, Packet(RETRY, 9, 1, token=b"t"))
        again = lambda token: sent(True, Packet(INITIAL, 9, 1, token=token))
        self.assertIsNone(checks.retry(run(retry, again(b"t"))))
        self.assertEqual(checks.retry(run(again(b"t"))), "no Retry")
        self.assertIn("no Initial packet", checks.retry(run(retry, again(b"other"))))
        self.assertIn("without a token", checks.retry(run(sent(False, Packet(RETRY, 9)))))

    def test_requests_are_in_early_data(self):
        reply = sent(False, Packet(INITIAL, 9, 1, scid=b"12345678"))
        early = sent(True, Packet(ZERO_RTT, 800, 1))
        late = lambda size: sent(True, Packet(SHORT, size))
        self.assertIsNone(checks.early_data(run(reply, early, late(5010))))
        self.assertIn("5001 bytes", checks.early_data(run(reply, early, late(5011))))
        self.assertEqual(checks.early_data(run(reply, late(10))), "no early data")

    def test_addresses(self):
        other = ("10.0.0.3", 5000)
        both = [sent(False, client=one) for one in (CLIENT, other)]
        self.assertIsNone(checks.several_addresses(run(*both)))
        self.assertIn("only one", checks.several_addresses(run(both[0])))
        self.assertIn("1 datagrams over IPv4", checks.only_ipv6(run(sent(True))))

    def test_a_server_sends_no_more_than_it_may_before_the_address_is_validated(self):
        capture = lambda *datagrams: types.SimpleNamespace(
            datagrams=list(datagrams), decrypted=lambda *_: [("0,4000", "4000,4000")])
        of = lambda *datagrams: types.SimpleNamespace(server=capture(*datagrams))
        hello, finished = sent(True), sent(True, Packet(HANDSHAKE, 9, 1))
        self.assertIsNone(checks.amplification(of(hello, sent(False, size=3600), finished)))
        self.assertIn("the server sent", checks.amplification(of(hello, sent(False, size=4801))))
        self.assertIn("no Handshake", checks.amplification(of(hello)))
