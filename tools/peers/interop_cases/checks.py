"""What the runner checks beside the files, for each test case.

Each check takes a `Run`, and returns what is wrong, or None.
"""

from .trace import HANDSHAKE, INITIAL, RETRY, SHORT, ZERO_RTT

CHACHA20 = 0x1303


def handshakes(run, expected):
    """Counts connections by the server's connection IDs in Initial packets."""
    found = len({packet.scid for packet in run.server.long(INITIAL, False)})
    return None if found == expected else f"{found} handshakes instead of {expected}"


def version_1(run):
    versions = {packet.version for packet in run.server.long(INITIAL, False)}
    return None if versions == {1} else f"versions {sorted(map(hex, versions))} instead of 1"


def version_2(run):
    versions = {packet.version for packet in run.server.long(INITIAL, False)}
    return None if 0x6B3343CF in versions else f"versions {sorted(map(hex, versions))}, not 2"


def no_retry(run):
    return "a Retry" if run.client.long(RETRY, False) else None


def two_client_hellos(run):
    """The RTT is longer than the client's first timeout, so it sends its first flight again."""
    before = 0
    for datagram in run.client.datagrams:
        if not datagram.from_client:
            break
        before += datagram.first(INITIAL) is not None
    return None if before >= 2 else f"{before} Initial packets before the server's first"


def only_chacha20(run):
    offered = set()
    for (suites,) in run.client.decrypted("tls.handshake.type==1", "tls.handshake.ciphersuite"):
        offered |= {int(suite, 0) for suite in suites.split(",") if suite}
    return None if offered == {CHACHA20} else f"suites {sorted(map(hex, offered))}"


def stream_limit(run):
    limits = [int(value) for (values,) in
              run.client.decrypted("tls.handshake.type==8",
                                   "tls.quic.parameter.initial_max_streams_bidi")
              for value in values.split(",") if value]
    if not limits:
        return "the server's transport parameters were not found"
    return None if max(limits) <= 1000 else f"a stream limit of {max(limits)}, allowed: 1000"


def retry(run):
    tokens = [packet.token for packet in run.client.long(RETRY, False)]
    if not tokens:
        return "no Retry"
    if not all(tokens):
        return "a Retry without a token"
    used = [packet.token in tokens for packet in run.client.long(INITIAL, True) if packet.token]
    return None if used and all(used) else "no Initial packet has the token of the Retry"


def no_second_certificate(run):
    rows = run.client.decrypted("udp.srcport==443 && tls.handshake.type==11", "udp.dstport")
    ports = [port for (port,) in rows]
    order = []
    for datagram in run.client.datagrams:
        if datagram.from_client and datagram.source[1] not in order:
            order.append(datagram.source[1])
    if not ports or len(order) != 2:
        return f"certificates to ports {ports}, connections from {order}"
    return None if {int(port) for port in ports} == {order[0]} else "a certificate was sent again"


def early_data(run):
    early = sum(packet.size for packet in run.client.long(ZERO_RTT, True))
    # Without the headers, as the runner counts: the first byte, a connection ID, a packet number.
    head = 2 + len(run.client.long(INITIAL, False)[-1].scid)
    late = sum(packet.size - head for packet in run.client.long(SHORT, True))
    if early == 0:
        return "no early data"
    # The runner's bound: half of the names.
    return None if late <= 40 * 250 // 2 else f"{late} bytes in the client's 1-RTT packets"


def key_update(run):
    for name, filter_ in (("client", "udp.dstport==443"), ("server", "udp.srcport==443")):
        rows = run.client.decrypted(f"{filter_} && quic.key_phase==1", "frame.number")
        if not rows:
            return f"no packet of the {name} has key phase 1"
    return None


def ecn(run):
    for name, trace, from_client in (("client", run.client, True), ("server", run.server, False)):
        marks = {datagram.ecn for datagram in trace.datagrams
                 if datagram.from_client == from_client}
        if not marks <= {1, 2} or not marks:
            return f"packets of the {name} have ECN code points {sorted(marks)}"
        end = "udp.dstport==443" if from_client else "udp.srcport==443"
        if not trace.decrypted(f"{end} && quic.ack.ect0_count", "frame.number"):
            return f"no ACK frame of the {name} counts marks"
    return None


def amplification(run):
    rows = run.server.decrypted("udp.srcport==443 && quic.crypto.offset && "
                                "quic.long.packet_type==2", "quic.crypto.offset",
                                "quic.crypto.length")
    ends = [int(offset) + int(length) for offsets, lengths in rows
            for offset, length in zip(offsets.split(","), lengths.split(","))]
    if not ends or max(ends) < 7500:
        return f"the server's handshake has {max(ends, default=0)} bytes, expected: 7500 or more"
    received = sent = 0
    for datagram in run.server.datagrams:
        if datagram.from_client and datagram.first(HANDSHAKE):
            return None
        if datagram.from_client:
            received += datagram.size
        else:
            sent += datagram.size
            # As the runner, which lets a datagram pass that begins below three times.
            if sent > 4 * received:
                return f"the server sent {sent} bytes, and had received {received}"
    return "the client sent no Handshake packet"


def only_ipv6(run):
    v4 = [datagram for datagram in run.server.datagrams if "." in datagram.source[0]]
    return f"{len(v4)} datagrams over IPv4" if v4 else None


def paths_validated(run):
    """The first packet of the server on each new path has a PATH_CHALLENGE, and the client
    responds to all.

    tshark before 4.5 does not decrypt packets with some new connection IDs. Of those only the size
    is known (RFC 9000 §8.2.1), and there must be as many responses."""
    seen, current, challenges, hidden = [], None, set(), 0
    rows = run.server.decrypted("udp.srcport==443 && quic", "ip.dst", "udp.dstport",
                                "quic.path_challenge.data", "quic.frame_type", "udp.length")
    for address, port, data, frames, length in rows:
        path = (address, port)
        if current is None:
            current = path
            seen.append(path)
        elif path != current and path not in seen:
            current = path
            seen.append(path)
            if data:
                challenges |= set(data.split(","))
            elif frames or int(length) - 8 < 1200:
                return f"the first packet to the new path {path} has no PATH_CHALLENGE"
            else:
                hidden += 1
    if len(seen) < 2:
        return "there was only one path"
    responses = set()
    for (data,) in run.client.decrypted("udp.dstport==443 && quic.path_response.data",
                                        "quic.path_response.data"):
        responses |= set(data.split(","))
    missing = challenges - responses
    if missing or len(responses) < len(challenges) + hidden:
        return f"{len(challenges) + hidden} challenges, {len(responses)} responses"
    return None


def several_addresses(run):
    addresses = {datagram.destination[0] for datagram in run.server.datagrams
                 if not datagram.from_client}
    return None if len(addresses) > 1 else "there was only one address"
