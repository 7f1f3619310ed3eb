"""Files that are made to break a reader, and thousands of damaged ones: `bentpipe explain` must not
crash, hang, or take memory without end."""

import concurrent.futures
import gzip
import json
import os
import random
import struct
import tempfile
from pathlib import Path

from tools.peers.explain_truth.command import explain
from tools.peers.explain_truth.make import truth

# Seconds and megabytes that a file may take, whatever is in it. Time is for a loaded machine.
SECONDS, MEMORY_MB = 10, 1024
# A panic of Rust ends the command so.
PANIC = 101
# Damaged files come from recorded ones of up to this size.
LARGEST = 3_000_000
PCAP = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")
RAW = 101


def pcap(packets, link=RAW, snaplen=65535, magic=0xA1B2C3D4):
    """A capture: `packets` are (seconds, bytes, length on the wire)."""
    parts = [PCAP.pack(magic, 2, 4, 0, 0, snaplen, link)]
    for at, data, length in packets:
        parts.append(RECORD.pack(int(at), int(at % 1 * 1e6), len(data), length) + data)
    return b"".join(parts)


def tcp(number, ports=(443, 50_000), flags=0x10, sequence=0, ack=0, payload=0, total=None):
    """An IPv4 packet of TCP; odd ones go back."""
    back = number % 2
    ends = [bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])]
    if back:
        ends.reverse()
        ports = ports[::-1]
    total = 40 + payload if total is None else total
    ip = struct.pack(">BBHHHBBH", 0x45, 0, total & 0xFFFF, number & 0xFFFF, 0, 64, 6, 0)
    head = struct.pack(">HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags,
                       0xFFFF, 0, 0)
    return ip + b"".join(ends) + head + bytes(payload)


def block(kind, body, length=None):
    """A block of pcapng; `length` is what it says of itself."""
    length = 12 + len(body) if length is None else length
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
QLOG = ('{"qlog_version":"0.3","qlog_format":"JSON","traces":[{"vantage_point":{"type":"server"},'
        '"events":[%s]}]}')
EVENT = ('{"time":%s,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT",'
         '"packet_number":%s},"raw":{"length":%s},"frames":[{"frame_type":"stream","stream_id":0,'
         '"offset":%s,"length":1200}]}}')


def events(values):
    return (QLOG % ",".join(EVENT % value for value in values)).encode()


def data_stream(count, step=1460, at=lambda number: number / 1000):
    """A connection that sends, without acknowledgements between."""
    return [(at(n), tcp(0, sequence=1 + n * step, payload=100), 1500) for n in range(count)]


# Each by its name; a function, as some are large.
FILES = {
    "empty": lambda: b"",
    "one-byte": lambda: b"\x0a",
    "zeros": lambda: bytes(20_000_000),
    "text": lambda: b"not a trace\n" * 100_000,
    "pcap-head-only": lambda: pcap([]),
    "pcap-packet-of-4-gb": lambda: pcap([]) + RECORD.pack(0, 0, 0xFFFFFFFF, 0xFFFFFFFF),
    "pcap-empty-packets": lambda: pcap([(n, b"", 0) for n in range(200_000)]),
    "pcap-times-go-back": lambda: pcap(data_stream(5_000, at=lambda n: 4e9 - n * 1e5)),
    "pcap-lengths-of-ip-too-large": lambda: pcap(
        [(n, tcp(n, total=65_535), 65_535) for n in range(5_000)]),
    "pcap-million-connections": lambda: pcap(
        [(n / 1e5, tcp(0, (n & 0xFFFF, n >> 8 & 0xFFFF), flags=2, sequence=n), 40)
         for n in range(300_000)]),
    "pcap-same-packet": lambda: pcap([(1, tcp(0, payload=1000), 1040)] * 100_000),
    "pcap-sequence-wraps": lambda: pcap(data_stream(100_000, step=0x7FFF_FFFF)),
    "pcap-acks-of-nothing": lambda: pcap(
        [(n / 1000, tcp(n, ack=n * 0x1234_5678, payload=n % 3), 60) for n in range(50_000)]),
    "pcap-unknown-link": lambda: pcap(data_stream(10), link=65_000),
    "pcapng-block-of-length-0": lambda: SECTION + block(6, bytes(32), 0),
    "pcapng-block-of-4-gb": lambda: SECTION + block(6, bytes(32), 0xFFFFFFFC),
    "pcapng-sections-only": lambda: SECTION * 200_000,
    "pcapng-interfaces-only": lambda: SECTION + block(1, struct.pack("<HHI", RAW, 0, 0)) * 300_000,
    "pcapng-packet-without-interface": lambda: SECTION + block(
        6, struct.pack("<IIIII", 7, 0, 0, 60, 60) + bytes(60)),
    "gzip-bomb": lambda: gzip.compress(bytes(1_000_000_000), 6),
    "gzip-cut": lambda: gzip.compress(os.urandom(1_000_000))[:500_000],
    "json-deep": lambda: b"[" * 2_000_000,
    "json-objects-deep": lambda: b'{"traces":' * 500_000,
    "qlog-times-that-are-no-times": lambda: events(
        [(time, 0, 1200, 0) for time in ("-1e308", "1e308", "0", "-0.0", "5e-324")]),
    "qlog-numbers-too-large": lambda: events(
        [(n, 2 ** 62 + n, 2 ** 63, 2 ** 64 - 1) for n in range(2_000)]),
    "qlog-sequence-without-records": lambda: b"\x1e" * 5_000_000,
}


def damage(data, draw):
    """A copy of a file with damage of a kind that is drawn."""
    data = bytearray(data)
    at, size = draw.randrange(len(data)), draw.randint(1, 2_000)
    match draw.randrange(7):
        case 0:
            for _ in range(draw.randint(1, 200)):
                data[draw.randrange(len(data))] = draw.randrange(256)
        case 1:
            del data[at:]
        case 2:
            del data[at:at + size]
        case 3:
            data[at:at] = data[at:at + size]
        case 4:
            data[at:at + 4] = draw.choice([b"\xff\xff\xff\xff", bytes(4), b"\x7f\xff\xff\xff"])
        case 5:
            other = draw.randrange(len(data))
            data[at:at + size], data[other:other + size] = \
                data[other:other + size], data[at:at + size]
        case 6:
            data[:] = data[draw.randint(0, 300):]
    return bytes(data)


def wrong(ended):
    """What is wrong with how the command ended, or None."""
    if ended.status is None or ended.seconds > SECONDS:
        return f"took {ended.seconds:.1f} s"
    if ended.status < 0:
        return f"ended by signal {-ended.status}"
    if ended.status == PANIC or "panicked" in ended.error:
        return f"panic: {ended.error.strip()[:300]}"
    if ended.memory_mb > MEMORY_MB:
        return f"took {ended.memory_mb:.0f} MB"
    if ended.status == 0:
        try:
            json.loads(ended.output, parse_constant=refuse)
        except ValueError as error:
            return f"no JSON: {error}"
    elif not ended.error.strip():
        return f"status {ended.status} without a word"
    return None


def refuse(constant):
    raise ValueError(constant)


def examine(bentpipe, name, data, keys=None):
    """Explains bytes. Returns a row."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(data)
        _, ended = explain(bentpipe, file, keys, limit=2 * SECONDS)
    return {"name": name, "wrong": wrong(ended), "explained": ended.status == 0,
            "seconds": ended.seconds, "memory_mb": ended.memory_mb}


def recorded_files(folder):
    """The recorded files that are damaged, with their keys."""
    found = []
    for case, record in truth(folder):
        for file in record["files"]:
            path = folder / case.id / file["path"]
            if 0 < path.stat().st_size <= LARGEST:
                keys = path.parent / "keys.txt"
                found.append((path, keys if file["form"] == "capture" else None))
    return found


def damaged(bentpipe, files, seed, number):
    draw = random.Random(f"{seed}/{number}")
    path, keys = draw.choice(files)
    data = damage(path.read_bytes(), draw)
    return examine(bentpipe, f"seed {seed}, number {number}: {path}", data, keys)


def hostile(options):
    rows = [examine(options.bentpipe, name, made()) for name, made in FILES.items()]
    if options.folder:
        files = recorded_files(options.folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows += pool.map(lambda number: damaged(options.bentpipe, files, options.seed, number),
                             range(options.count))
    print(json.dumps(rows, indent=1) if options.json else summary(rows))
    return int(any(row["wrong"] for row in rows))


def summary(rows):
    bad = [row for row in rows if row["wrong"]]
    longest = max(rows, key=lambda row: row["seconds"])
    largest = max(rows, key=lambda row: row["memory_mb"])
    lines = [f"{len(rows)} files, {sum(row['explained'] for row in rows)} explained, {len(bad)} "
             "with a fault",
             f"longest {longest['seconds']:.2f} s: {longest['name']}",
             f"most memory {largest['memory_mb']:.0f} MB: {largest['name']}"]
    return "\n".join(lines + [f"{row['name']}: {row['wrong']}" for row in bad])
