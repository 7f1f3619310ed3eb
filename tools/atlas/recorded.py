"""What measured files of paths say: RTTs, slots of 15 s, and a model of their levels."""

import bisect
import csv
import datetime
import gzip
import json
import math
import statistics

from tools.atlas.stats import quantile

SLOT = 15.0
# Seconds of a UTC minute at which Starlink reconfigures, modulo a slot.
PHASE = 12.0
# p5 and p95 of a normal distribution.
Z95 = 1.6449


def lines(path):
    """The lines of a text file, compressed or not."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as file:
        return file.read().splitlines()


def telemetry(path):
    """Times in UTC and RTTs in ms of a dish's telemetry, as starlink-grpc-tools writes it."""
    found = []
    for row in csv.reader(lines(path)[1:]):
        if row[2]:
            at = datetime.datetime.fromisoformat(row[0]).timestamp()
            found.append((at, float(row[2])))
    return found


def pings(path):
    """Times in UTC at which pings were sent, and their RTTs in ms; those lost are left out."""
    found = []
    for line in lines(path):
        answered, _, rtt = line.split("\t")
        if float(rtt) >= 0:
            found.append((float(answered) - float(rtt) / 1e3, float(rtt)))
    return found


def opportunities(path):
    """Milliseconds of a trace's delivery opportunities, each of 1500 bytes of IP."""
    return [int(line) for line in lines(path)]


def iperf3(path):
    """Intervals of a sender: end in s, bytes, packets repeated, window in segments, RTT in ms."""
    document = json.loads("\n".join(lines(path)))
    mss = document["start"]["tcp_mss_default"]
    streams = [interval["streams"][0] for interval in document["intervals"]]
    return mss, [
        (one["end"], one["bytes"], one["retransmits"], one["snd_cwnd"] / mss, one["rtt"] / 1e3)
        for one in streams
    ]


def slots(samples, phase=PHASE):
    """The values of each slot, by its number."""
    found = {}
    for at, value in samples:
        found.setdefault(math.floor((at - phase) / SLOT), []).append(value)
    return found


def quantiles(values, shares):
    """Quantiles of unsorted values."""
    ordered = sorted(values)
    return [quantile(ordered, share) for share in shares]


def levels(samples, phase=PHASE):
    """Fits `path.reconfiguration.rtt` to samples: the median RTT, spread, sigma and correlation.

    The distribution is the shifted lognormal with the p5, p50 and p95 of all samples; the
    correlation is that of neighbouring slots' medians, in the normal variable of that distribution.
    """
    low, median, high = quantiles([value for _, value in samples], (0.05, 0.5, 0.95))
    sigma = math.log(max((high - median) / (median - low), 1.01)) / Z95
    # Of a distribution that is nearly symmetric, the least RTT would be below zero.
    spread = min((median - low) / (1 - math.exp(-Z95 * sigma)), 0.9 * median)
    sigma = -math.log(1 - (median - low) / spread) / Z95
    least = median - spread
    medians = {
        number: statistics.median(values)
        for number, values in slots(samples, phase).items()
        if len(values) > 4
    }
    normal = {
        number: math.log(max(value - least, 0.01 * spread) / spread) / sigma
        for number, value in medians.items()
    }
    pairs = [(normal[one], normal[one + 1]) for one in normal if one + 1 in normal]
    correlation = statistics.correlation(*zip(*pairs)) if len(pairs) > 2 else 0.0
    return median, spread, sigma, min(max(correlation, 0.0), 0.95)


def rate(trace, begin, end):
    """Mbps between two milliseconds of a trace, the end left out."""
    return (bisect.bisect_left(trace, end) - bisect.bisect_left(trace, begin)) * 12 / (end - begin)


def rates(trace, begin, end, width):
    """Mbps of each whole bin of `width` ms between two milliseconds of a trace."""
    return [rate(trace, at, at + width) for at in range(begin, end - width + 1, width)]


def outages(trace):
    """Start and length in ms of the pauses that lie a multiple of 15 s from the longest one."""
    gaps = list(zip(trace, (b - a for a, b in zip(trace, trace[1:]))))
    longest = max(gaps, key=lambda gap: gap[1])[0]
    found = {}
    for at, length in gaps:
        number = round((at - longest) / (SLOT * 1e3))
        if abs(at - longest - number * SLOT * 1e3) < 200 and length > found.get(number, (0, 1))[1]:
            found[number] = (at, length)
    return [found[number] for number in sorted(found)]


def ramp(trace, gaps, ends):
    """Mean rate in each of ten times 100 ms after outages, over that from 2 s on to the next."""
    shares = []
    for (at, length), end in zip(gaps, ends):
        begin = at + length
        if end - begin > 4000:
            settled = rate(trace, begin + 2000, end)
            steps = range(begin, begin + 1000, 100)
            shares.append([rate(trace, at, at + 100) / settled for at in steps])
    return [statistics.fmean(column) for column in zip(*shares)]
