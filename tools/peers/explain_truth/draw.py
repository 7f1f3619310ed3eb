"""What a case is made of, and the arithmetic by which its planted cause takes most of the time."""

import dataclasses
import math
from dataclasses import dataclass, field

# Payload of a full packet, and the first windows of senders: RFC 6928, and 32 packets of quic-go.
SEGMENT = 1448
INITIAL_WINDOW = 10 * SEGMENT
QUIC_GO_WINDOW = 32 * 1252
# A planted cause takes at least this many times what any other part takes.
DOMINANT = 1.3


@dataclass
class Path:
    """A path of one hop. The rates are in Mbps, `rtt` is in seconds."""

    rate: float
    rtt: float
    back: float = 5.0
    queue: str = "200 ms"
    back_queue: str = "1 MB"
    # Keys of TOML instead of a constant rate or delay, and more keys.
    forward_rate: str = ""
    forward_delay: str = ""
    forward: str = ""
    back_keys: str = ""
    # Files of the scenario, by name.
    files: dict = field(default_factory=dict)

    def toml(self):
        half = f'"{self.rtt * 500:.2f} ms"'
        rate = self.forward_rate or f'"{self.rate:.3f} Mbps"'
        delay = self.forward_delay or half
        return (
            'name = "case"\n[path]\n'
            f'forward = {{ rate = {rate}, delay = {delay}, '
            f'queue = "{self.queue}"{self.forward} }}\n'
            f'return = {{ rate = "{self.back * 1000:.0f} kbps", delay = {half}, '
            f'queue = "{self.back_queue}"{self.back_keys} }}\n')

    def seconds(self, size):
        """The time that this many bytes take on the forward link, with headers."""
        return size * 1.036 * 8 / (self.rate * 1e6)

    def bdp(self):
        return self.rate * 1e6 / 8 * self.rtt


@dataclass
class Work:
    """What the programs transfer, and what holds them back. Sizes are in bytes, times in
    seconds."""

    size: int
    count: int = 1
    parallel: int = 1
    pause: float = 0
    upload: bool = False
    tls: str = ""
    think: float = 0
    pace: int = 0
    receive_buffer: int = 0
    send_buffer: int = 0
    stream_window: int = 0
    connection_window: int = 0
    ack_delay: float = 0
    read_rate: int = 0
    # Mbps of UDP beside it.
    competitor: float = 0
    # The transfer begins this long after the emulator, on paths that change at given times.
    begin: float = 0
    # Of the kernel's TCP: its controller, its initial window, and other parameters.
    congestion: str = "cubic"
    # Segments; 0: the kernel's.
    initial_window: int = 0
    sysctl: dict = field(default_factory=dict)

    def bytes(self):
        return self.size * self.count


@dataclass
class Case:
    """A transfer to make, with what is known of it before it runs."""

    id: str
    kind: str
    seed: int
    client: str
    server: str
    quic: bool
    keys: bool
    capture: str
    path: Path
    work: Work
    # The parts of the time budget of which the first cause must be one.
    label: list
    # What the cause is in more detail, such as "receive window", and its size with its unit.
    detail: str
    size: dict
    # Seconds by part, from arithmetic.
    parts: dict

    def record(self):
        return dataclasses.asdict(self) | {"scenario": self.path.toml()}


def case_of(record):
    """Returns the case of a record."""
    names = {one.name for one in dataclasses.fields(Case)}
    kept = {name: value for name, value in record.items() if name in names}
    return Case(**kept | {"path": Path(**record["path"]), "work": Work(**record["work"])})


def slow_start(path, size, window=INITIAL_WINDOW):
    """The time that the link is idle until a window that doubles each RTT fills it, or until all
    is sent."""
    idle, sent = 0.0, 0
    while window < path.bdp():
        sent += window
        if sent >= size:
            break
        idle += path.rtt - path.seconds(window)
        window *= 2
    return max(idle, 0.0)


def windowed(path, size, window):
    """The time that the link is idle while a window of this many bytes limits the sender."""
    return max(0.0, size * path.rtt / window - path.seconds(size))


def lossy_rate(path, loss):
    """Bytes a second of CUBIC with this loss ratio: RFC 9438 §5.1, and its Reno-friendly region."""
    cubic = 1.054 * (0.4 * path.rtt ** 3 / loss ** 3) ** 0.25
    reno = math.sqrt(1.5 / loss)
    return min(max(cubic, reno) * SEGMENT / path.rtt, path.rate * 1e6 / 8)


def dominates(label, parts):
    """Whether one of the parts of the label takes more than any other, by arithmetic."""
    cause = max((parts.get(name, 0) for name in label), default=0)
    others = [value for name, value in parts.items() if name not in label]
    return cause >= DOMINANT * max(others, default=0)
