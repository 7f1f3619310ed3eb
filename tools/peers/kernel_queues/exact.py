"""FIFO and head-drop: the first packet that is lost, and the delay of a full queue.

HTB lets a burst of B packets pass before it holds anything back, and a transmitter one. At an
offered rate of λ and a rate of µ the first loss is later by (B − 1) / (1 − µ/λ) packets, which is
added to what the simulator says.
"""

import statistics

from tools.peers.kernel_queues import ends, simulated

PAYLOAD = 1400
COUNTED = PAYLOAD + ends.HEADERS + ends.ETHERNET
# Mbps of payload, Mbps of the link, packets in its queue.
CASES = {"up": (200, 70, 4000), "down": (700, 300, 1500)}
KINDS = {"pfifo": "drop-tail", "pfifo_head_drop": "head-drop"}
# Bytes of HTB's burst, and how many packets its first loss may be off.
BURSTS = ((15_000, 10), (COUNTED, 1))
# How late the sender may be until the queue is full, in nanoseconds.
LATE = 100_000


def expected(own, rate, offered, burst):
    """The first loss with a burst of `burst` bytes, of which the simulator says `own` without."""
    return own + (burst / COUNTED - 1) / (1 - rate * PAYLOAD / (offered * COUNTED))


def kernel(kind, offered, rate, queue, burst, judged):
    """The first packet that is lost, from 1, and the delay of a full queue in ms."""
    commands = ends.below_htb(f"{kind} limit {queue}", rate, burst)
    flows = [(PAYLOAD, offered)]
    found = ends.measured(commands, flows, ends.SECOND, late=LATE, judged=judged)
    count = len(ends.schedule(flows, ends.SECOND))
    arrived = {number for number, *_ in found}
    first = next(number for number in range(count) if number not in arrived)
    # Those that were sent to a full queue, and left while more came.
    full = range(first + queue + 100, count - queue - 100)
    delays = [(at - due) / 1e6 for number, due, at in found if number in full]
    return first + 1, statistics.median(delays)


def own(bentpipe, kind, offered, rate, queue):
    """The same of the simulator."""
    keys = f'{{ limit = "{queue} packets", aqm = "{KINDS[kind]}" }}'
    run = simulated.Run(bentpipe, rate, keys, [(PAYLOAD, offered)], ends.SECOND)
    gap = PAYLOAD * 8e-6 / offered
    overflow = run.points("dropped_queue")[0][0]
    first = round(overflow / gap) + 1
    size = PAYLOAD + ends.HEADERS
    waiting = max(run.points("queue")[1]) / size
    if kind == "pfifo":
        return first, waiting * COUNTED * 8e-3 / rate
    # The packet that comes to a full queue makes the oldest one go, and who joins it waits until
    # as many have come as it holds.
    return first - queue, gap * 1e3 * waiting


def lines(bentpipe):
    """Yields what each case gives, and whether it is near enough."""
    for kind in KINDS:
        for name, (offered, rate, queue) in CASES.items():
            first_own, delay_own = own(bentpipe, kind, offered, rate, queue)
            for burst, near in BURSTS:
                should = expected(first_own, rate, offered, burst)
                case = (kind, offered, rate, queue, burst, first_own + queue + 100)
                (first, delay), good = ends.compared(
                    lambda: kernel(*case), lambda found: abs(found[0] - should) <= near
                )
                yield (
                    f"{kind}, {name}, burst {burst} B: first lost {first} of the kernel,"
                    f" {first_own} simulated, {should:.1f} with the burst (within {near}:"
                    f" {'yes' if good else 'no'}); delay {delay:.1f} ms, {delay_own:.1f} ms"
                ), good
