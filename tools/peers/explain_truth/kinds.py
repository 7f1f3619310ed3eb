"""The kinds of planted causes. Each draws a path and what is transferred over it, with the time of
each part by arithmetic."""

from dataclasses import dataclass
from typing import Callable

from tools.peers.explain_truth.draw import (
    INITIAL_WINDOW, QUIC_GO_WINDOW, SEGMENT, Path, Work, lossy_rate, slow_start, windowed)

# What a sender's losses cost it, by its window or by how it notices them.
AFTER_LOSS = ["congestion_window_s", "loss_detection_s", "timeout_s", "lost_packets_s"]
# Time from the start of the emulator to that of a transfer over a path that changes: capture
# programs and servers have started by then.
BEGIN = 4.0


@dataclass
class Kind:
    """`needs` are features of the client and of the server, `pairs` the kinds of programs."""

    name: str
    label: list
    detail: str
    draw: Callable
    client: set = frozenset()
    server: set = frozenset()
    tcp: bool = True
    quic: bool = True
    # Programs that do not show this cause, and why.
    without: frozenset = frozenset()


def parts(path, work, **more):
    """The parts that every transfer has, and others."""
    trips = 1 + (0 if not work.tls else 2 if work.tls == "1.2" else 1)
    return {
        "serialisation_s": path.seconds(work.bytes()),
        "handshake_s": trips * path.rtt,
        "request_s": work.count / work.parallel * path.rtt,
        "slow_start_s": slow_start(path, work.bytes()),
    } | more


def clean(draw):
    path = Path(draw.rate(2, 8), draw.between(0.02, 0.06))
    work = Work(draw.bytes(path.rate, draw.between(5, 8)), upload=draw.may_upload(), tls=draw.tls())
    if work.upload:
        path.back, path.back_queue = path.rate, "200 ms"
    return path, work, {"rate_mbps": path.rate}, parts(path, work)


def slow(draw):
    path = Path(draw.rate(20, 45), draw.between(0.5, 0.65), queue="1 BDP")
    work = Work(int(path.bdp() * draw.between(0.25, 0.5)), tls=draw.tls())
    first = QUIC_GO_WINDOW if draw.quic else INITIAL_WINDOW
    return path, work, {}, parts(path, work, slow_start_s=slow_start(path, work.size, first))


def receive_window(draw):
    path = Path(draw.rate(15, 30), draw.between(0.15, 0.4))
    window = int(path.bdp() * draw.between(0.08, 0.25))
    work = Work(int(window / path.rtt * draw.between(6, 9)), receive_buffer=window)
    return path, work, {"window": window}, parts(
        path, work, flow_control_s=windowed(path, work.size, window), slow_start_s=0)


def send_buffer(draw):
    path = Path(draw.rate(15, 30), draw.between(0.15, 0.4))
    buffer = int(path.bdp() * draw.between(0.05, 0.12))
    # The kernel doubles it for its own structures; about so much is in flight.
    work = Work(int(2 * buffer / path.rtt * draw.between(6, 9)), send_buffer=buffer)
    return path, work, {"send_buffer": 2 * buffer}, parts(
        path, work, flow_control_s=windowed(path, work.size, 2 * buffer), slow_start_s=0)


def stream_window(draw):
    path = Path(draw.rate(8, 20), draw.between(0.15, 0.4))
    window = int(path.bdp() * draw.between(0.1, 0.25))
    work = Work(int(window / path.rtt * draw.between(6, 9)), stream_window=window)
    return path, work, {"window": window}, parts(
        path, work, flow_control_s=windowed(path, work.size, window), slow_start_s=0)


def connection_window(draw):
    path = Path(draw.rate(8, 20), draw.between(0.15, 0.4))
    window = int(path.bdp() * draw.between(0.1, 0.25))
    work = Work(int(window / path.rtt * draw.between(6, 9) / 3), count=3, parallel=3,
                stream_window=8 * window, connection_window=window)
    return path, work, {"window": window}, parts(
        path, work, flow_control_s=windowed(path, work.bytes(), window), slow_start_s=0)


def server_thinks(draw):
    path = Path(draw.rate(8, 20), draw.between(0.04, 0.1))
    work = Work(int(draw.between(50e3, 300e3)), think=round(draw.between(2.5, 6), 2))
    return path, work, {"pause_s": work.think}, parts(path, work, application_s=work.think)


def client_late(draw):
    path = Path(draw.rate(8, 20), draw.between(0.04, 0.08))
    # curl counts requests a minute.
    pause = 60 / draw.choice([60, 48, 40, 30])
    work = Work(int(draw.between(30e3, 100e3)), count=draw.whole(4, 6), pause=pause, tls=draw.tls())
    return path, work, {"pause_s": pause * (work.count - 1)}, parts(
        path, work, application_s=pause * (work.count - 1))


def paced(draw):
    path = Path(draw.rate(8, 20), draw.between(0.04, 0.12))
    pace = int(path.rate * 1e6 / 8 * draw.between(0.08, 0.2))
    work = Work(int(pace * draw.between(5, 8)), pace=pace)
    return path, work, {"bytes_per_s": pace}, parts(
        path, work, application_s=work.size / pace - path.seconds(work.size))


def sequential(draw):
    path = Path(draw.rate(8, 40), draw.between(0.5, 0.65))
    work = Work(int(draw.between(3e3, 13e3)), count=draw.whole(8, 12), tls=draw.tls())
    return path, work, {"requests": work.count}, parts(path, work, slow_start_s=0)


def random_loss(draw):
    path = Path(draw.rate(20, 40), draw.between(0.12, 0.25), queue="1 BDP")
    loss = draw.between(0.01, 0.022)
    path.forward = f", loss = {loss:.5f}"
    rate = lossy_rate(path, loss)
    # More than what a lucky slow start sends.
    work = Work(max(1_200_000, int(rate * draw.between(6, 9))))
    # Its slow start ends with the first losses.
    return path, work, {"loss": loss}, parts(
        path, work, slow_start_s=2 * path.rtt,
        congestion_window_s=work.size / rate - path.seconds(work.size))


def small_queue(draw):
    path = Path(draw.rate(20, 40), draw.between(0.12, 0.25))
    packets = draw.whole(3, 6)
    path.queue = f"{packets} packets"
    # Reno's slow start overflows it early, and a packet for each RTT is far from the BDP.
    window = 2 * packets * SEGMENT
    rounds = draw.between(7, 10) / path.rtt
    size = int(rounds * window)
    work = Work(size, congestion="reno")
    return path, work, {"queue_packets": packets}, parts(
        path, work, slow_start_s=3 * path.rtt,
        congestion_window_s=rounds * path.rtt - path.seconds(size))


def policer(draw):
    path = Path(draw.rate(20, 40), draw.between(0.1, 0.2), queue="1 BDP")
    policed = path.rate * draw.between(0.1, 0.2)
    burst = draw.between(20, 50)
    path.forward = f', policer = {{ rate = "{policed:.3f} Mbps", burst = "{burst:.0f} kB" }}'
    seconds = draw.between(5, 7)
    work = Work(int(policed * 1e6 / 8 * 0.7 * seconds))
    return path, work, {"policed_mbps": policed, "burst_kb": burst}, parts(
        path, work, slow_start_s=2 * path.rtt,
        congestion_window_s=seconds - path.seconds(work.size))


def outage(draw):
    path = Path(draw.rate(5, 10), draw.between(0.04, 0.1), queue="500 ms")
    start, length = draw.between(0.8, 1.4), draw.between(4, 6)
    steps = [(0, path.rate), (BEGIN + start, 0), (BEGIN + start + length, path.rate)]
    path.forward_rate = "{ schedule = [%s] }" % ", ".join(
        f'{{ at = "{at:.3f} s", rate = "{rate * 1000:.0f} kbps" }}' for at, rate in steps)
    work = Work(draw.bytes(path.rate, draw.between(2, 2.8)), begin=BEGIN)
    return path, work, {"outage_s": length}, parts(path, work, outage_s=length)


def blocked(periods):
    """Everything is lost in these times."""
    times = ", ".join(f'{{ from = "{start:.3f} s", to = "{end:.3f} s" }}' for start, end in periods)
    return f', loss = {{ model = "bernoulli", ratio = 1, active = [{times}] }}'


def blockage(draw):
    path = Path(draw.rate(5, 10), draw.between(0.04, 0.1), queue="500 ms")
    start, length = BEGIN + draw.between(0.8, 1.4), draw.between(4, 6)
    path.forward = path.back_keys = blocked([(start, start + length)])
    work = Work(draw.bytes(path.rate, draw.between(2, 2.8)), begin=BEGIN)
    return path, work, {"outage_s": length}, parts(path, work, outage_s=length)


def handover(draw):
    path = Path(draw.rate(8, 15), draw.between(0.03, 0.05), queue="300 ms")
    length = draw.between(1.5, 2.2)
    starts = [BEGIN + 0.8, BEGIN + 0.8 + length + 3.5]
    half = path.rtt * 500
    steps = [(0, half), (starts[0], 2 * half), (starts[1], half)]
    path.forward_delay = "{ schedule = [%s] }" % ", ".join(
        f'{{ at = "{at:.3f} s", delay = "{delay:.2f} ms" }}' for at, delay in steps)
    path.forward = path.back_keys = blocked([(start, start + length) for start in starts])
    work = Work(draw.bytes(path.rate, 1.6), begin=BEGIN)
    # The first one holds the transfer back for certain.
    return path, work, {"outage_s": length}, parts(path, work, outage_s=length + 0.6)


def reordering(draw):
    path = Path(draw.rate(20, 30), draw.between(0.12, 0.2))
    jitter = path.rtt * 200
    path.forward_delay = (f'{{ base = "{path.rtt * 500:.2f} ms", jitter = "{jitter:.2f} ms", '
                          'distribution = "uniform", keep_order = false }')
    # A loss that is none, over and over, leaves a window of a few packets.
    window = 3 * SEGMENT
    work = Work(int(window / path.rtt * draw.between(6, 8)), sysctl={
        "net.ipv4.tcp_recovery": "0", "net.ipv4.tcp_reordering": "3",
        "net.ipv4.tcp_max_reordering": "3", "net.ipv4.tcp_dsack": "0",
        "net.ipv4.tcp_timestamps": "0"})
    return path, work, {"jitter_ms": jitter}, parts(
        path, work, slow_start_s=0, congestion_window_s=windowed(path, work.size, window))


def thin_return(draw):
    path = Path(draw.rate(15, 30), draw.between(0.06, 0.12))
    path.back = draw.between(0.02, 0.045)
    # An acknowledgement of 52 bytes for each two packets.
    rate = path.back * 1e6 / (52 * 8) * 2 * SEGMENT
    work = Work(int(rate * draw.between(6, 9)))
    return path, work, {"return_kbps": path.back * 1000}, parts(
        path, work, handshake_s=path.rtt + 0.03, return_link_s=work.size / rate -
        path.seconds(work.size), slow_start_s=slow_start(path, work.size))


def held_acks(draw):
    path = Path(draw.rate(6, 9), draw.between(0.03, 0.05))
    delay = round(draw.between(0.3, 0.5), 3)
    work = Work(int(draw.between(200e3, 350e3)), ack_delay=delay)
    rounds, sent = 0, QUIC_GO_WINDOW
    while sent < work.size:
        rounds, sent = rounds + 1, sent + QUIC_GO_WINDOW * 2 ** (rounds + 1)
    return path, work, {"held_acks_s": delay}, parts(path, work, held_acks_s=rounds * delay)


def on_demand(draw):
    path = Path(draw.rate(8, 20), draw.between(0.25, 0.32), back=2.0)
    path.back_keys = ', capacity_allocation = { rbdc = "2 Mbps" }'
    work = Work(int(draw.between(3e3, 12e3)), count=draw.whole(5, 7))
    # A request of capacity takes half a second, and its turn comes once a second.
    wait = 0.9
    return path, work, {"wait_s": wait * (work.count + 1)}, parts(
        path, work, slow_start_s=0, capacity_s=wait * (work.count + 1))


def frames(draw):
    # What arrives during a frame has to fit.
    path = Path(draw.rate(8, 20), draw.between(0.05, 0.09), queue="2 s")
    frame = draw.between(0.4, 0.7)
    path.forward = f', frame = "{frame * 1000:.0f} ms"'
    work = Work(int(draw.between(400e3, 700e3)))
    # Each window waits for the end of a frame, until one fills a frame.
    window, sent, rounds = QUIC_GO_WINDOW if draw.quic else INITIAL_WINDOW, 0, 0
    while sent < work.size and path.seconds(window) < frame:
        rounds, sent, window = rounds + 1, sent + window, 2 * window
    return path, work, {"frame_s": frame}, parts(
        path, work, slow_start_s=rounds * path.rtt, capacity_s=rounds * (frame - path.rtt))


def competing(draw):
    path = Path(draw.rate(6, 10), draw.between(0.03, 0.06))
    share = draw.between(0.65, 0.75)
    work = Work(draw.bytes(path.rate * (1 - share), draw.between(6, 8)),
                competitor=path.rate * share)
    return path, work, {"other_mbps": work.competitor}, parts(
        path, work, other_flows_s=work.size * 8 / (path.rate * (1 - share) * 1e6) -
        path.seconds(work.size))


def lost_handshake(draw):
    path = Path(draw.rate(8, 20), draw.between(0.04, 0.08))
    # SYN-ACKs; or three flights of a QUIC server, of four packets each at most.
    lost = 10 if draw.quic else draw.whole(3, 4)
    path.files["first.txt"] = "1\n" * lost + "0\n" * 200_000
    path.forward = ', loss = { model = "trace", file = "first.txt" }'
    work = Work(int(draw.between(5e3, 13e3)))
    return path, work, {"lost": lost}, parts(path, work, timeout_s=1.0)


def long_handshake(draw):
    path = Path(draw.rate(8, 20), draw.between(0.55, 0.65))
    work = Work(int(draw.between(1e3, 9e3)), tls=draw.choice(["1.2", "1.3"]))
    return path, work, {"round_trips": 3 if work.tls == "1.2" else 2}, parts(
        path, work, slow_start_s=0)


def slow_reader(draw):
    path = Path(draw.rate(15, 30), draw.between(0.04, 0.08))
    rate = int(path.rate * 1e6 / 8 * draw.between(0.05, 0.12))
    size = int(rate * draw.between(6, 9))
    room = {"stream_window": draw.choice([65536, 262144])} if draw.quic else {
        "receive_buffer": 65536}
    work = Work(size, read_rate=rate, **room)
    return path, work, {"bytes_per_s": rate}, parts(
        path, work, flow_control_s=work.size / rate - path.seconds(work.size), slow_start_s=0)


KINDS = [
    Kind("clean", ["serialisation_s"], "", clean),
    # picoquic's start is quicker than a window that doubles each RTT.
    Kind("slow-start", ["slow_start_s"], "", slow, without=frozenset({"picoquic"})),
    Kind("receive-window", ["flow_control_s"], "receive window", receive_window,
         client={"receive-buffer"}, quic=False),
    Kind("send-buffer", ["flow_control_s"], "send buffer", send_buffer, server={"send-buffer"},
         quic=False),
    Kind("stream-window", ["flow_control_s"], "stream", stream_window, client={"window"},
         tcp=False),
    Kind("connection-window", ["flow_control_s"], "connection", connection_window,
         client={"window"}, tcp=False),
    Kind("server-thinks", ["application_s"], "server", server_thinks, server={"think"}),
    Kind("client-late", ["application_s"], "client", client_late, client={"pause"},
         server={"several"}),
    Kind("paced-source", ["application_s"], "server", paced, server={"pace"}),
    Kind("sequential-requests", ["request_s"], "", sequential, client={"several"},
         server={"several"}),
    Kind("random-loss", AFTER_LOSS, "channel", random_loss, without=frozenset({"picoquic"})),
    Kind("small-queue", AFTER_LOSS, "queue", small_queue, quic=False),
    Kind("policer", AFTER_LOSS, "policer", policer, without=frozenset({"picoquic"})),
    Kind("outage", ["outage_s"], "", outage),
    Kind("blockage", ["outage_s", "timeout_s"], "", blockage),
    Kind("handover", ["outage_s", "timeout_s"], "", handover),
    # TCP finds out by time stamps and duplicate SACKs, which are off; quic-go, Bentpipe and
    # picoquic find out that a loss was none.
    Kind("reordering", [*AFTER_LOSS, "duplicates_s", "slow_start_s"], "", reordering,
         without=frozenset({"quic-go", "bentpipe", "picoquic"})),
    Kind("thin-return", ["return_link_s"], "", thin_return, client={"acks"}),
    Kind("held-acks", ["held_acks_s"], "", held_acks, client={"ack-delay"}, tcp=False),
    Kind("on-demand", ["capacity_s", "return_link_s"], "", on_demand, client={"several"},
         server={"several"}),
    Kind("frames", ["capacity_s"], "", frames),
    Kind("competing", ["other_flows_s"], "", competing, quic=False),
    # Several packets lost in a row over more than a round trip are an outage, too.
    # Chromium opens another connection meanwhile, and the first one of iperf3 has no data.
    Kind("lost-handshake", ["timeout_s", "outage_s"], "", lost_handshake,
         without=frozenset({"chromium", "chromium-quic", "iperf3"})),
    Kind("long-handshake", ["handshake_s"], "", long_handshake, client={"tls"}, server={"tls"},
         quic=False),
    Kind("slow-reader", ["flow_control_s", "application_s"], "reader", slow_reader,
         client={"read-rate"}),
]
