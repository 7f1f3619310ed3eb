"""Packets of a capture. What no key protects is parsed here; tshark decrypts the rest."""

import subprocess
from dataclasses import dataclass

PORT = 443
INITIAL, ZERO_RTT, HANDSHAKE, RETRY, SHORT, NEGOTIATION = range(6)
TSHARK = ["tshark", "-d", f"udp.port=={PORT},quic", "--disable-protocol", "http3"]


@dataclass
class Packet:
    """A QUIC packet; several may share a datagram."""

    kind: int
    size: int
    version: int = 0
    scid: bytes = b""
    dcid: bytes = b""
    token: bytes = b""


@dataclass
class Datagram:
    at: float
    source: tuple
    destination: tuple
    ecn: int
    size: int
    packets: list

    @property
    def from_client(self):
        return self.destination[1] == PORT

    def first(self, kind):
        return next((packet for packet in self.packets if packet.kind == kind), None)


class Trace:
    """The datagrams of a capture, in order."""

    def __init__(self, file, keys):
        self.file, self.keys = str(file), [str(key) for key in keys]
        fields = ["frame.time_relative", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport",
                  "udp.dstport", "ip.dsfield.ecn", "ipv6.tclass.ecn", "udp.payload"]
        self.datagrams = []
        for row in self.decrypted(f"udp.port=={PORT} && !icmp && !icmpv6", *fields, decrypt=False):
            at, v4, v6, to4, to6, source, destination, ecn, ecn6, payload = row
            payload = bytes.fromhex(payload.replace(":", ""))
            self.datagrams.append(Datagram(
                float(at), (v4 or v6, int(source)), (to4 or to6, int(destination)),
                int(ecn or ecn6 or 0, 0), len(payload), packets(payload)))

    def decrypted(self, display_filter, *fields, decrypt=True):
        """Returns the fields of the datagrams that pass a filter, as texts; several values of a
        field are separated by commas."""
        command = [*TSHARK, "-r", self.file, "-Y", display_filter, "-T", "fields",
                   "-E", "separator=|"]
        for key in self.keys if decrypt else []:
            command += ["-o", f"tls.keylog_file:{key}"]
        for name in fields:
            command += ["-e", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 and not done.stdout:
            raise RuntimeError(f"tshark: {done.stderr.strip()}")
        return [line.split("|") for line in done.stdout.splitlines()]

    def long(self, kind, from_client):
        """Returns the packets of a type with long header."""
        return [packet for datagram in self.datagrams if datagram.from_client == from_client
                for packet in datagram.packets if packet.kind == kind]


def packets(data):
    """Splits a datagram (RFC 9000 §17, RFC 8999)."""
    found, at = [], 0
    try:
        while at < len(data):
            first = data[at]
            if not first & 0x80:
                if first & 0x40:
                    found.append(Packet(SHORT, len(data) - at))
                break
            version = int.from_bytes(data[at + 1:at + 5], "big")
            cursor = at + 5
            dcid, cursor = counted(data, cursor)
            scid, cursor = counted(data, cursor)
            kind = (first >> 4) & 3
            if version == 0:
                found.append(Packet(NEGOTIATION, len(data) - at, 0, scid, dcid))
                break
            token = b""
            if kind == RETRY:
                found.append(Packet(RETRY, len(data) - at, version, scid, dcid, data[cursor:-16]))
                break
            if kind == INITIAL:
                length, cursor = integer(data, cursor)
                token, cursor = data[cursor:cursor + length], cursor + length
            length, cursor = integer(data, cursor)
            end = cursor + length
            found.append(Packet(kind, end - at, version, scid, dcid, token))
            at = end
    except IndexError:
        pass
    return found


def counted(data, at):
    end = at + 1 + data[at]
    return data[at + 1:end], end


def integer(data, at):
    """A variable-length integer (RFC 9000 §16)."""
    end = at + (1 << (data[at] >> 6))
    value = int.from_bytes(data[at:end], "big") & ((1 << (8 * (end - at) - 2)) - 1)
    return value, end
