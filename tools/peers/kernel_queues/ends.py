"""Two network namespaces with a link between them, and the programs at its ends."""

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

# Two at once do not meet.
NEAR, FAR = (f"bentpipe-{end}-{os.getpid()}" for end in ("near", "far"))
SENDER, RECEIVER = "10.99.0.1", "10.99.0.2"
# Bytes that Ethernet adds to a packet, which the kernel's queues count.
ETHERNET = 14
# Of IPv4 and UDP.
HEADERS = 28
SECOND = 10**9
# A sender whose next packet is further away sleeps until then, in nanoseconds.
SLEEPS = 100_000
TRIES = 40


# Times that a comparison is made until it agrees: whatever else the machine does for a while makes
# two queues differ, and none agree.
ROUNDS = 3


class Late(Exception):
    """The sender could not keep to its times."""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def namespaces():
    """Two namespaces with a link between them."""
    try:
        for name in (NEAR, FAR):
            ip("netns", "add", name)
        ip("link", "add", "near", "netns", NEAR, "type", "veth", "peer", "far", "netns", FAR)
        for name, link, address in ((NEAR, "near", SENDER), (FAR, "far", RECEIVER)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
        yield
    finally:
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def tc(*commands):
    """Replaces all queues of the sender's end; returns what the first refused command says."""
    start = ["tc", "-n", NEAR]
    subprocess.run([*start, "qdisc", "del", "dev", "near", "root"], capture_output=True)
    for words in commands:
        done = subprocess.run([*start, *words.split()], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
    return None


def below_htb(queue, rate, burst):
    """The commands of tc for the discipline `queue` below HTB of `rate` Mbps."""
    return (
        "qdisc add dev near root handle 1: htb default 10",
        f"class add dev near parent 1: classid 1:10 htb rate {rate}mbit burst {burst} "
        f"cburst {burst} quantum 1514",
        f"qdisc add dev near parent 1:10 handle 20: {queue}",
    )


def schedule(flows, duration):
    """The time in nanoseconds, the flow and the payload of each packet, in order of time."""
    packets = []
    for flow, (payload, mbps) in enumerate(flows):
        gap = payload * 8e3 / mbps
        packets += [(int(number * gap), flow, payload) for number in range(int(duration / gap))]
    return sorted(packets)


def send(plan):
    """Sends what `plan` has; returns how many of the first `judged` packets were too late, and
    the latest."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    sockets = []
    for code_point in plan["dscp"]:
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        out.setsockopt(socket.SOL_SOCKET, 32, 1 << 28)  # SO_SNDBUFFORCE
        out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code_point << 2)
        out.connect((RECEIVER, 9))
        sockets.append(out)
    late, latest, fill = 0, 0, bytes(1500)
    start = time.time_ns() + 20_000_000
    for number, (after, flow, payload) in enumerate(schedule(plan["flows"], plan["duration"])):
        due = start + after
        while (now := time.time_ns()) < due:
            # Whoever never sleeps loses 50 ms of each second to the kernel's limit for real time.
            if due - now > SLEEPS:
                time.sleep((due - now - SLEEPS) / SECOND)
        if number < plan["judged"]:
            late += now - due > plan["late"]
            latest = max(latest, now - due)
        sockets[flow].send(struct.pack("<IQ", number, due) + fill[: payload - 12])
    return late, latest


def receive(count):
    """Returns the number, planned send time and arrival of each packet, until none comes."""
    into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.setsockopt(socket.SOL_SOCKET, 33, 1 << 29)  # SO_RCVBUFFORCE
    into.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    into.bind((RECEIVER, 9))
    print("ready", flush=True)
    found = []
    while len(found) < count and select.select([into], [], [], 5 if not found else 1.5)[0]:
        data, ancillary, *_ = into.recvmsg(16, 64)
        seconds, nanos = struct.unpack("qq", ancillary[0][2][:16])
        number, due = struct.unpack("<IQ", data[:12])
        found.append((number, due, seconds * SECOND + nanos))
    return found


def compared(measure, agrees):
    """The first result of `measure` that `agrees`, or the last one, and whether it does."""
    for _ in range(ROUNDS):
        found = measure()
        if agrees(found):
            return found, True
    return found, False


def child(name, kind, value):
    """The command line of this program as one of its ends, in a namespace."""
    return ["ip", "netns", "exec", name, sys.executable, sys.argv[0], kind, json.dumps(value)]


def be_an_end(kind, value):
    """What a child does."""
    print(json.dumps(send(json.loads(value)) if kind == "send" else receive(json.loads(value))))


def measured(commands, flows, duration, *, late, allowed=0, judged=sys.maxsize, dscp=None):
    """Sends flows (payload in bytes, Mbps of payload) through the queue that `commands` make.

    Returns the arrivals as `receive` does. Of the first `judged` packets, at most `allowed` may be
    sent more than `late` nanoseconds late; otherwise it is tried again.
    """
    plan = {"flows": flows, "duration": duration, "judged": judged, "late": late}
    plan["dscp"] = dscp or [0] * len(flows)
    for _ in range(TRIES):
        if problem := tc(*commands):
            raise RuntimeError(problem)
        receiver = child(FAR, "receive", len(schedule(flows, duration)))
        with subprocess.Popen(receiver, stdout=subprocess.PIPE, text=True) as end:
            end.stdout.readline()
            sent = subprocess.run(child(NEAR, "send", plan), capture_output=True, text=True)
            count, latest = json.loads(sent.stdout)
            found = json.loads(end.stdout.read())
        if count <= allowed:
            return found
        print(f"  the sender was late by {latest / 1e6:.1f} ms: again", file=sys.stderr)
    raise Late
