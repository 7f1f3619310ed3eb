//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995):
//! keeps a few packets of its own in the bottleneck's queue.
//!
//! Once a round, diff = cwnd · (RTT − baseRTT) / baseRTT packets are taken to be waiting, RTT being the smallest round trip
//! of that round: a packet more below alpha, a packet less above beta. Slow start ends when more than gamma wait, with the
//! window that has none waiting and a packet more. As in Linux, slow start doubles each round trip (the paper's doubles each
//! other one), a round with fewer than three round-trip samples decides nothing and grows as Reno does, and losses and marks
//! halve the window.
//!
//! baseRTT is the smallest round trip of the path, forgotten when the path changes, or moved by what it has become longer by. Where a path becomes longer and nobody
//! says so, Vegas takes the difference for a queue and gives way until it is restarted.

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, PathChange, Setup};
use crate::newreno::NewReno;
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Span, Time};

/// Parameters of [`Vegas`].
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        default: 2.0,
        range: (0.0, 1000.0),
        unit: "packets",
        about: "fewest packets to keep waiting (Linux's default; paper §4.2)",
    },
    Parameter {
        name: "beta",
        default: 4.0,
        range: (0.0, 1000.0),
        unit: "packets",
        about: "most packets to keep waiting (Linux's default; paper §4.2)",
    },
    Parameter {
        name: "gamma",
        default: 1.0,
        range: (0.0, 1000.0),
        unit: "packets",
        about: "packets waiting at which slow start ends (Linux's default; paper §4.3)",
    },
    Parameter {
        name: "kept",
        default: 0.5,
        range: (0.1, 0.95),
        unit: "",
        about: "share of the window kept at a congestion event (RFC 9002 appendix B.1, kLossReductionFactor)",
    },
];

/// Round-trip samples that a round takes to be judged: two may both be of delayed acknowledgements.
const SAMPLES: u32 = 3;

/// The round trips of one round.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    min_rtt: Option<Span>,
    samples: u32,
    /// Whether the application was the limit at some time.
    app_limited: bool,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Vegas {
    /// Window, threshold, slow start and congestion events, which are NewReno's.
    reno: NewReno,
    alpha: f64,
    beta: f64,
    gamma: f64,
    base_rtt: Option<Span>,
    round: Round,
    /// When packets began to take this path: round trips of earlier ones are another's.
    path_since: Time,
}

impl Vegas {
    /// A controller at its initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        let alpha = values.get("alpha");
        Self {
            reno: NewReno::keeping(setup, values.get("kept")),
            alpha,
            // A band turned around would have the window go up and down at once.
            beta: values.get("beta").max(alpha),
            gamma: values.get("gamma"),
            base_rtt: None,
            round: Round::default(),
            path_since: setup.now,
        }
    }

    /// Judges the round that has ended (paper §4.2 and §4.3).
    fn judge(&mut self, round: Round, base_rtt: Span) {
        let (window, mtu) = (self.reno.window(), self.reno.mtu());
        let more = window + mtu;
        let Some(rtt) = round.min_rtt.filter(|_| round.samples >= SAMPLES) else {
            if !self.in_slow_start() && !round.app_limited {
                self.reno.set_window(more, None);
            }
            return;
        };
        let packets = window.get() as f64 / mtu.get().max(1) as f64;
        let base = base_rtt.as_secs_f64().max(1e-9);
        let waiting = packets * rtt.saturating_sub(base_rtt).as_secs_f64() / base;
        let less = window.saturating_sub(mtu);
        if self.in_slow_start() {
            if waiting > self.gamma {
                let empty = window.mul_f64(base / rtt.as_secs_f64().max(base)) + mtu;
                self.leave_slow_start(window.min(empty));
            }
        } else if waiting > self.beta {
            self.leave_slow_start(less);
        } else if waiting < self.alpha && !round.app_limited {
            self.reno.set_window(more, None);
        }
    }

    /// Goes to `window`, with a threshold that does not call for slow start from there.
    fn leave_slow_start(&mut self, window: Bytes) {
        let ssthresh = self.ssthresh().map_or(window, |ssthresh| ssthresh.min(window));
        self.reno.set_window(window, Some(ssthresh));
    }
}

impl Controller for Vegas {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.newest().sent_at < self.path_since {
            return;
        }
        let base_rtt = self.base_rtt.map_or(ack.rtt, |base| base.min(ack.rtt));
        self.base_rtt = Some(base_rtt);
        self.round.min_rtt = Some(self.round.min_rtt.map_or(ack.rtt, |min| min.min(ack.rtt)));
        self.round.samples += 1;
        self.round.app_limited |= ack.app_limited;
        // What was sent before a reduction tells of the queue that the reduction was for.
        let recovering = !ack.app_limited && !self.reno.may_grow(ack);
        if ack.round_start {
            let round = std::mem::take(&mut self.round);
            if !recovering {
                self.judge(round, base_rtt);
            }
        }
        if self.reno.may_grow(ack) {
            self.reno.slow_start(ack.bytes);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.reno.on_loss(loss);
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.reno.on_mark(mark);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.reno.on_spurious_loss(now);
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.base_rtt = change.shifted(self.base_rtt);
        self.path_since = change.since;
        self.round = Round::default();
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.reno.on_mtu(mtu);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.base_rtt = to.min_rtt.or(self.base_rtt);
        // The round's samples are of another window.
        self.round = Round::default();
        self.reno.adjust(to);
    }

    fn window(&self) -> Bytes {
        self.reno.window()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.reno.ssthresh()
    }

    fn in_slow_start(&self) -> bool {
        self.reno.in_slow_start()
    }

    fn phase(&self) -> &'static str {
        self.reno.phase()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MTU, Path, setup};

    const BASE: Span = Span::from_millis(100);

    /// A flow in congestion avoidance at fifty packets that has seen a round trip of 100 ms.
    fn vegas(path: &mut Path) -> Vegas {
        let mut vegas = Vegas::new(&setup(), &Values::defaults(PARAMETERS));
        let window = Bytes::new(50 * MTU.get());
        let min_rtt = Some(BASE);
        vegas.adjust(&Adjust { now: path.now, window, ssthresh: Some(window), rate: None, min_rtt, answered: 0 });
        // The first acknowledgement of all is a round of its own; it has too few samples to be judged and adds a packet.
        path.round(&mut vegas, |_| false);
        vegas
    }

    /// Packets by which the window moves over `rounds` rounds of round trips of `rtt_us`.
    fn moves(rtt_us: u64, rounds: u32) -> i64 {
        let mut path = Path::new(BASE);
        let mut vegas = vegas(&mut path);
        path.rtt = Span::from_micros(rtt_us);
        // This round ends the one before, whose round trips were the smallest.
        path.round(&mut vegas, |_| false);
        let before = vegas.window().get() as i64;
        for _ in 0..rounds {
            path.round(&mut vegas, |_| false);
        }
        (vegas.window().get() as i64 - before) / MTU.get() as i64
    }

    #[test]
    fn the_window_follows_the_number_of_packets_waiting() {
        // About fifty packets: one waits for each 2 ms of queue.
        assert_eq!(moves(102_000, 5), 5);
        assert_eq!(moves(106_000, 5), 0);
        assert_eq!(moves(112_000, 5), -5);
    }

    #[test]
    fn slow_start_ends_at_the_first_packet_waiting_with_what_the_path_holds() {
        let mut path = Path::new(BASE);
        let mut vegas = Vegas::new(&setup(), &Values::defaults(PARAMETERS));
        path.round(&mut vegas, |_| false);
        path.round(&mut vegas, |_| false);
        assert_eq!((vegas.window(), vegas.in_slow_start()), (Bytes::new(40_000), true));
        // Each round is judged at the next one's first acknowledgement.
        path.rtt = Span::from_millis(125);
        path.round(&mut vegas, |_| false);
        assert!(vegas.in_slow_start());
        path.round(&mut vegas, |_| false);
        // Eighty packets at 125 ms are 64 at 100 ms.
        assert_eq!((vegas.window(), vegas.in_slow_start()), (Bytes::new(65_000), false));
    }

    #[test]
    fn a_round_of_few_samples_grows_as_reno_does() {
        let mut path = Path::new(BASE);
        let mut vegas = vegas(&mut path);
        path.batch = 50;
        path.rtt = Span::from_millis(200);
        path.round(&mut vegas, |_| false);
        let before = vegas.window();
        path.round(&mut vegas, |_| false);
        assert_eq!(vegas.window(), before + MTU);
    }

    #[test]
    fn a_path_change_forgets_the_base_round_trip() {
        let mut path = Path::new(BASE);
        let mut vegas = vegas(&mut path);
        path.rtt = Span::from_millis(160);
        vegas.on_path_change(&PathChange::unknown(path.now));
        path.round(&mut vegas, |_| false);
        let before = vegas.window();
        path.round(&mut vegas, |_| false);
        assert_eq!(vegas.window(), before + MTU);
    }
}
