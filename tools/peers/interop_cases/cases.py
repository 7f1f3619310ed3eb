"""The test cases of the QUIC interop runner (quic-interop-runner, testcases_quic.py, of 2026-11):
what each endpoint is told, the files, the path, and what is checked afterwards."""

from dataclasses import dataclass, field

from . import checks

KB, MB = 1 << 10, 1 << 20


@dataclass
class Case:
    """One test case. The path is the runner's: 15 ms and 10 Mbps each way, 25 packets of queue."""

    name: str
    about: str
    # Sizes of the files.
    files: list = field(default_factory=lambda: [1 * KB])
    # What `TESTCASE` is at each end, if it is not the name.
    client: str = ""
    server: str = ""
    host: str = "server4"
    delay_ms: int = 15
    # What happens between the path and the server: see relay.py.
    relay: dict = field(default_factory=dict)
    chain: int = 1
    handshakes: int = 1
    checks: list = field(default_factory=list)
    timeout: int = 60
    # The rate of the transfer is measured.
    measured: bool = False
    cross_traffic: bool = False
    name_length: int = 10

    def test_case(self, role):
        return getattr(self, role) or self.name


def with_loss(kind, percent):
    """Loss or corruption of some percent of the packets of each direction, at most three in a
    row."""
    return {kind: percent / 100, "burst": 3}


TRANSFER = {"client": "transfer", "server": "transfer"}
REBIND = {"rebind": [1.0, 5.0]}

CASES = [
    Case("handshake", "a handshake and a small file", checks=[checks.no_retry]),
    Case("transfer", "three files at the same time", [2 * MB, 3 * MB, 5 * MB]),
    Case("longrtt", "a handshake over 1.5 s of RTT", client="handshake", server="handshake",
         delay_ms=750, checks=[checks.two_client_hellos]),
    Case("chacha20", "only ChaCha20-Poly1305 is offered", [3 * MB], checks=[checks.only_chacha20]),
    Case("multiplexing", "1,999 files over one connection", [32] * 1999, **TRANSFER,
         checks=[checks.stream_limit], timeout=120),
    Case("retry", "the server asks for the address first", [10 * KB], checks=[checks.retry]),
    Case("resumption", "a second connection resumes the session", [5 * KB, 10 * KB], handshakes=2,
         checks=[checks.no_second_certificate]),
    Case("zerortt", "the requests of the second connection are early data", [32] * 40, handshakes=2,
         name_length=250, checks=[checks.early_data]),
    Case("http3", "three files over HTTP/3", [5 * KB, 10 * KB, 500 * KB]),
    Case("blackhole", "the path loses everything for 2 s in 7", [10 * MB], **TRANSFER,
         relay={"blackhole": [5.0, 2.0]}),
    Case("keyupdate", "the keys change early", [3 * MB], server="transfer",
         checks=[checks.key_update]),
    Case("ecn", "both ends mark packets, and report marks", [100 * KB], client="handshake",
         server="handshake", checks=[checks.ecn]),
    Case("amplificationlimit", "a long certificate chain, and lost packets of the client", [5 * KB],
         **TRANSFER, chain=9, relay={"drop_to_server": [2, 3, 4, 5, 6, 7]},
         checks=[checks.amplification]),
    Case("handshakeloss", "50 handshakes at 30 % loss", [1 * KB] * 50, client="multiconnect",
         server="multiconnect", handshakes=50, relay=with_loss("loss", 30), timeout=300),
    Case("transferloss", "2 % loss", [2 * MB], **TRANSFER, relay=with_loss("loss", 2)),
    Case("handshakecorruption", "50 handshakes at 30 % corruption", [1 * KB] * 50,
         client="multiconnect", server="multiconnect", handshakes=50,
         relay=with_loss("corruption", 30), timeout=300),
    Case("transfercorruption", "2 % corruption", [2 * MB], **TRANSFER,
         relay=with_loss("corruption", 2)),
    Case("ipv6", "the same over IPv6", [5 * KB, 10 * KB], **TRANSFER, host="server6",
         checks=[checks.only_ipv6]),
    Case("v2", "QUIC version 2", checks=[checks.version_2]),
    Case("rebind-port", "the client's port changes after 1 s, then each 5 s", [10 * MB], **TRANSFER,
         relay=REBIND, checks=[checks.paths_validated]),
    Case("rebind-addr", "its address changes too", [10 * MB], **TRANSFER,
         relay=REBIND | {"rebind_address": True},
         checks=[checks.paths_validated, checks.several_addresses]),
    Case("connectionmigration", "the client moves to the server's preferred address", [2 * MB],
         client="transfer", host="server46", checks=[checks.paths_validated]),
    Case("goodput", "10 MB over 10 Mbps", [10 * MB], **TRANSFER, measured=True),
    Case("crosstraffic", "25 MB beside a TCP connection (CUBIC)", [25 * MB], **TRANSFER,
         measured=True, cross_traffic=True, timeout=180),
]
