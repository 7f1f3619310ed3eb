"""All disciplines that the kernel may have: which are there, and how they treat two flows.

Datagrams at 1.25 times the rate of a link, and a small one every 20 ms, pass the kernel's queue
and ours for ten seconds. Compared are, for each flow, the share that is lost (within three
standard errors) and the 99th percentile of the delay (within 5 %, or the time of two packets).
Small datagrams come at all phases between the others, as their gap is 44.618 of theirs.
"""

import collections
import dataclasses
import math

from tools.peers.kernel_queues import ends, simulated

# Mbps of the link, and payload and Mbps of the flows.
RATE = 20
FLOWS = [(1400, 25), (100, 25 / 14 / 44.618)]
DSCP = [0, 46]
DURATION = 10 * ends.SECOND
COUNTED = FLOWS[0][0] + ends.HEADERS + ends.ETHERNET
PACKET_MS = COUNTED * 8e-3 / RATE
# How late the sender may be, in nanoseconds, but for few packets: a hundredth of them is above the
# quantile that is compared.
LATE, FEW = 2_000_000, 0.005


@dataclasses.dataclass
class Twin:
    """A discipline of the simulator, and the kernel's with the same settings."""

    name: str
    keys: str
    kernel: str
    # True if it has a rate of its own, which is compared better than below HTB.
    shapes: bool = False

    def kind(self):
        """The kernel's name."""
        return self.kernel.split()[0]

    def commands(self):
        if self.shapes:
            return (f"qdisc add dev near root {self.kernel}",)
        return ends.below_htb(self.kernel, RATE, COUNTED)


TWINS = [
    Twin("drop-tail", 'limit = "500 packets"', "pfifo limit 500"),
    Twin("head-drop", 'limit = "500 packets"', "pfifo_head_drop limit 500"),
    Twin("codel", 'limit = "1000 packets"',
         "codel limit 1000 target 5ms interval 100ms noecn"),
    # The kernel's quantum counts Ethernet's header.
    Twin("fq-codel", 'limit = "1000 packets", ecn = false',
         "fq_codel limit 1000 flows 1024 target 5ms interval 100ms quantum 1514 noecn"),
    Twin("cake", "", f"cake bandwidth {RATE}mbit besteffort rtt 100ms raw", shapes=True),
    # alpha and beta are in sixteenths.
    Twin("pie", 'limit = "1000 packets"',
         "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn"),
    # In bytes; this burst makes tc choose a weight of 1/512. The kernel's has no gentle variant.
    Twin("red", 'limit = "1000 packets", weight = 0.001953125, gentle = false',
         f"red limit {1000 * COUNTED} min {5 * COUNTED} max {15 * COUNTED} avpkt {COUNTED}"
         f" burst 55 bandwidth {RATE}mbit probability 0.1"),
    # By the type of service: packets marked EF are in its first band.
    Twin("priority", 'limit = "1000 packets"', "prio bands 3"),
    Twin("dualpi2", 'limit = "1000 packets"', "dualpi2 limit 1000 target 15ms tupdate 16ms"),
]


def missing(problem, kind):
    """What a refusal of tc says about a discipline; None if it is about something else."""
    if "qdisc kind is unknown" in problem:
        return f"kernel without sch_{kind}"
    if "Unknown qdisc" in problem:
        return "tc does not know it"
    return None


def available():
    """The twins that this kernel has, and those that it has not, with the reason."""
    there, without = [], {}
    for twin in TWINS:
        problem = ends.tc(*twin.commands())
        if problem is None:
            there.append(twin)
        elif reason := missing(problem, twin.kind()):
            without[twin.name] = reason
        else:
            raise RuntimeError(f"{twin.kernel}: {problem}")
    return there, without


def quantile(values, share):
    """The smallest value that at least `share` of them do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def kernel(twin):
    """For each flow the share that the kernel lost, and the 99th percentile of the delay in ms."""
    packets = ends.schedule(FLOWS, DURATION)
    few = int(FEW * len(packets))
    found = ends.measured(
        twin.commands(), FLOWS, DURATION, late=LATE, allowed=few, dscp=DSCP
    )
    return outcome(packets, found)


def outcome(packets, found):
    """For each flow of the schedule `packets`, the share that did not arrive, the 99th percentile
    of the delay in ms, and the number sent.

    What arrives after the last packet was due passed a queue into which nothing came any more; the
    simulator does not count its delays either.
    """
    sent = collections.Counter(flow for _, flow, _ in packets)
    arrived = collections.Counter(packets[number][1] for number, *_ in found)
    delays = [[] for _ in FLOWS]
    for number, due, at in found:
        after, flow, _ = packets[number]
        if at - (due - after) <= DURATION:
            delays[flow].append((at - due) / 1e6)
    return [
        (1 - arrived[flow] / sent[flow], quantile(of, 0.99), sent[flow])
        for flow, of in enumerate(delays)
    ]


def own(bentpipe, twin):
    """The same of the simulator."""
    keys = f'aqm = "{twin.name}"' + (f", {twin.keys}" if twin.keys else "")
    run = simulated.Run(bentpipe, RATE, f"{{ {keys} }}", FLOWS, DURATION, DSCP)
    return [
        (one["packets_lost_queue"] / one["packets_sent"], one["delay_p99_ms"])
        for one in run.flows
    ]


def near(kernels, ours):
    """True if what the kernel and the simulator do to a flow is as good as equal."""
    (lost, delay, count), (other, other_delay) = kernels, ours
    mean = (lost + other) / 2
    error = math.sqrt(2 * mean * (1 - mean) / count)
    # A share that is next to nothing may differ by a packet.
    alike = abs(lost - other) <= max(3 * error, 1 / count)
    return alike and abs(delay - other_delay) <= max(0.05 * other_delay, 2 * PACKET_MS)


def lines(bentpipe, twins):
    """Yields how each twin treats each flow, and whether ours is near enough."""
    for twin in twins:
        ours = own(bentpipe, twin)
        theirs, _ = ends.compared(
            lambda: kernel(twin), lambda found: all(map(near, found, ours))
        )
        for one, other, flow in zip(theirs, ours, ("bulk", "small")):
            (lost, delay, _), (own_lost, own_delay), good = one, other, near(one, other)
            yield (
                f"{twin.name}, {flow} datagrams: {lost:.2%} lost of the kernel, {own_lost:.2%}"
                f" simulated; 99th percentile of the delay {delay:.1f} ms, {own_delay:.1f} ms:"
                f" {'alike' if good else 'different'}"
            ), good
