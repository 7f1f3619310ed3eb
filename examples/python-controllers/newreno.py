"""NewReno (RFC 9002 §7) as a controller in Python, beside the built-in one.

Both give the same numbers to the byte: ``python examples/python-controllers/newreno.py``.
"""

import bentpipe


@bentpipe.register_controller("python-newreno")
class NewReno(bentpipe.Controller):
    """Halves the window on loss, adds a packet per RTT."""

    def __init__(self, config: bentpipe.ControllerConfig) -> None:
        super().__init__(config)
        self.mtu = config.mtu
        self.cwnd: int = max(config.initial_cwnd, 2 * self.mtu)
        self.ssthresh: int | None = None
        # Losses and ECN-CE of packets with smaller numbers belong to the last reduction.
        self.recovery_start = 0
        # Bytes acknowledged in congestion avoidance that have not added up to a packet of growth.
        self.acknowledged = 0
        # Window and threshold before the last reduction, in case it proves spurious.
        self.before: tuple[int, int | None] | None = None

    def on_packets_acked(self, ack: bentpipe.Ack) -> None:
        if ack.app_limited or ack.newest < self.recovery_start:
            return
        left = ack.bytes
        if self.ssthresh is None:
            self.cwnd += left
            left = 0
        elif self.cwnd < self.ssthresh:
            growth = min(left, self.ssthresh - self.cwnd)
            self.cwnd += growth
            left -= growth
        packets, self.acknowledged = divmod(self.acknowledged + left, self.cwnd)
        self.cwnd += packets * self.mtu

    def on_packets_lost(self, loss: bentpipe.Loss) -> None:
        self.reduce(loss.newest, loss.next_number)
        if loss.persistent:
            self.cwnd = 2 * self.mtu
            self.before = None

    def on_ecn_ce(self, ecn_ce: bentpipe.EcnCe) -> None:
        self.reduce(ecn_ce.newest, ecn_ce.next_number)
        self.before = None

    def reduce(self, newest: int, next_number: int) -> None:
        """Halve the window, once for all congestion among packets sent before the reduction."""
        if newest < self.recovery_start:
            return
        self.recovery_start = next_number
        self.before = (self.cwnd, self.ssthresh)
        # Half a byte is rounded up, as the built-in controller does.
        self.cwnd = self.ssthresh = max((self.cwnd + 1) // 2, 2 * self.mtu)
        self.acknowledged = 0

    def on_spurious_loss(self, now_ns: int) -> None:
        if self.before is not None:
            window, self.ssthresh = self.before
            self.cwnd = max(self.cwnd, window)
            self.before = None

    def on_mtu_update(self, mtu: int) -> None:
        self.mtu = mtu
        self.cwnd = max(self.cwnd, 2 * mtu)

    def restart(self, to: bentpipe.Restart) -> None:
        self.cwnd = max(to.cwnd, 2 * self.mtu)
        if to.ssthresh is not None:
            self.ssthresh = to.ssthresh
        self.recovery_start = max(self.recovery_start, to.recovery_start)
        self.acknowledged = 0
        self.before = None


def main() -> None:
    """Compare both controllers on a geostationary path with random loss."""
    scenario = bentpipe.Scenario(
        name="newreno",
        repeat=5,
        path={"profile": "geo-50-10", "forward": {"loss": 0.001}},
        workload={"download": "5 MB"},
        defaults={"slow_start": "standard"},
        variants=[
            {"name": "built-in", "congestion": "newreno"},
            {"name": "python", "congestion": "python-newreno"},
        ],
    )
    results = scenario.run()
    for run in results.flows.rows():
        print(f"{run['variant']:8}  run {run['run']}  {run['completion_s']:.6f} s")


if __name__ == "__main__":
    main()
