//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995): keeps a few packets of its own in the bottleneck's queue.
//!
//! Once per round, Vegas estimates its queued packets as diff = cwnd · (RTT − baseRTT) / baseRTT,
//! where RTT is the smallest sample of the round. Below alpha it adds a packet, above beta it
//! removes one. Slow start ends if more than gamma packets are queued; the window then becomes the
//! one that empties the queue, plus one packet. As in Linux, slow start doubles every RTT (in the
//! paper, every other one), a round with fewer than three RTT samples has no effect other than
//! Reno's growth, and losses and ECN-CE halve the window.
//!
//! baseRTT is the minimum RTT of the path. After an announced path change it is discarded, or
//! shifted by the announced increase. If a path becomes longer without an announcement, Vegas takes
//! the difference for a queue and reduces its window until it is restarted.

use crate::algorithms::newreno::NewReno;
use crate::controller::{Ack, Controller, ControllerConfig, PathChange, Restart, forward_to};
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span, Time};

parameters! {
    /// Parameters of [`Vegas`].
    Parameters {
        alpha: 2.0, 0.0 => 1000.0, "packets",
            "fewest packets to keep queued (Linux's default; paper §4.2)";
        beta: 4.0, 0.0 => 1000.0, "packets",
            "most packets to keep queued (Linux's default; paper §4.2)";
        gamma: 1.0, 0.0 => 1000.0, "packets",
            "queued packets at which slow start ends (Linux's default; paper §4.3)";
        loss_beta: 0.5, 0.1 => 0.95, "",
            "fraction of the window that remains after a congestion event (RFC 9002 appendix B.1, \
             kLossReductionFactor)";
    }
}

/// RTT samples that a round needs: two may both include a delayed ACK.
const SAMPLES: u32 = 3;

/// RTT samples of one round.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    min_rtt: Option<Span>,
    samples: u32,
    /// True if the application limited the sender at some time.
    app_limited: bool,
}

/// The Vegas controller.
#[derive(Debug, Clone)]
pub struct Vegas {
    /// Window, threshold, slow start and congestion events.
    reno: NewReno,
    alpha: f64,
    beta: f64,
    gamma: f64,
    base_rtt: Option<Span>,
    round: Round,
    /// Time since which packets take this path: earlier RTT samples belong to another.
    path_since: Time,
}

impl Vegas {
    /// Creates a controller with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let alpha = parameters.alpha;
        Self {
            reno: NewReno::with_beta(config, parameters.loss_beta),
            alpha,
            // With an inverted range the window would move up and down at the same time.
            beta: parameters.beta.max(alpha),
            gamma: parameters.gamma,
            base_rtt: None,
            round: Round::default(),
            path_since: config.now,
        }
    }

    /// Adjusts the window at the end of a round (paper §4.2 and §4.3).
    fn end_round(&mut self, round: Round, base_rtt: Span) {
        let (window, mtu) = (self.reno.window(), self.reno.mtu());
        let more = window + mtu;
        let Some(rtt) = round.min_rtt.filter(|_| round.samples >= SAMPLES) else {
            if !self.reno.in_slow_start() && !round.app_limited {
                self.reno.set_window(more, None);
            }
            return;
        };
        let packets = window.get() as f64 / mtu.get().max(1) as f64;
        let base = base_rtt.as_secs_f64().max(1e-9);
        let waiting = packets * rtt.saturating_sub(base_rtt).as_secs_f64() / base;
        let less = window.saturating_sub(mtu);
        if self.reno.in_slow_start() {
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

    /// Sets the window, and a threshold that keeps slow start from resuming.
    fn leave_slow_start(&mut self, window: Bytes) {
        let ssthresh = self.reno.ssthresh().map_or(window, |ssthresh| ssthresh.min(window));
        self.reno.set_window(window, Some(ssthresh));
    }
}

impl Controller for Vegas {
    forward_to!(reno: on_loss, on_ecn_ce, on_spurious_loss, on_mtu_update, send_control);

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.newest().sent_at < self.path_since {
            return;
        }
        let base_rtt = self.base_rtt.map_or(ack.rtt, |base| base.min(ack.rtt));
        self.base_rtt = Some(base_rtt);
        self.round.min_rtt = Some(self.round.min_rtt.map_or(ack.rtt, |min| min.min(ack.rtt)));
        self.round.samples += 1;
        self.round.app_limited |= ack.app_limited;
        // Packets sent before a reduction met the queue that caused it.
        let recovering = !ack.app_limited && !self.reno.may_grow(ack);
        if ack.round_start {
            let round = std::mem::take(&mut self.round);
            if !recovering {
                self.end_round(round, base_rtt);
            }
        }
        if self.reno.may_grow(ack) {
            self.reno.slow_start(ack.bytes);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.base_rtt = change.shifted(self.base_rtt);
        self.path_since = change.since;
        self.round = Round::default();
    }

    fn restart(&mut self, to: &Restart) {
        self.base_rtt = to.min_rtt.or(self.base_rtt);
        // The samples of this round belong to another window.
        self.round = Round::default();
        self.reno.restart(to);
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MTU, Path, config};

    const BASE: Span = Span::from_millis(100);

    /// Returns a flow in congestion avoidance at fifty packets that has measured an RTT of 100 ms.
    fn vegas(path: &mut Path) -> Vegas {
        let mut vegas = Vegas::new(&config(), &Parameters::default());
        let window = Bytes::new(50 * MTU.get());
        let min_rtt = Some(BASE);
        vegas.restart(&Restart {
            now: path.now,
            window,
            ssthresh: Some(window),
            rate: None,
            min_rtt,
            recovery_start: 0,
        });
        // The very first ACK is a round of its own. It has too few samples for a decision and adds
        // a packet.
        path.round(&mut vegas, |_| false);
        vegas
    }

    /// Returns the packets by which the window moves over `rounds` rounds with an RTT of `rtt_us`.
    fn moves(rtt_us: u64, rounds: u32) -> i64 {
        let mut path = Path::new(BASE);
        let mut vegas = vegas(&mut path);
        path.rtt = Span::from_micros(rtt_us);
        // This round ends the one before, whose samples were the smallest.
        path.round(&mut vegas, |_| false);
        let before = vegas.send_control().cwnd.get() as i64;
        for _ in 0..rounds {
            path.round(&mut vegas, |_| false);
        }
        (vegas.send_control().cwnd.get() as i64 - before) / MTU.get() as i64
    }

    #[test]
    fn the_window_follows_the_number_of_queued_packets() {
        // About fifty packets: one is queued per 2 ms of queueing delay.
        assert_eq!(moves(102_000, 5), 5);
        assert_eq!(moves(106_000, 5), 0);
        assert_eq!(moves(112_000, 5), -5);
    }

    #[test]
    fn slow_start_ends_at_the_first_queued_packet_with_the_window_of_the_empty_path() {
        let mut path = Path::new(BASE);
        let mut vegas = Vegas::new(&config(), &Parameters::default());
        path.round(&mut vegas, |_| false);
        path.round(&mut vegas, |_| false);
        assert_eq!(
            (vegas.send_control().cwnd, vegas.send_control().in_slow_start),
            (Bytes::new(40_000), true)
        );
        // Each round is evaluated at the first ACK of the next one.
        path.rtt = Span::from_millis(125);
        path.round(&mut vegas, |_| false);
        assert!(vegas.send_control().in_slow_start);
        path.round(&mut vegas, |_| false);
        // Eighty packets at 125 ms are 64 at 100 ms.
        assert_eq!(
            (vegas.send_control().cwnd, vegas.send_control().in_slow_start),
            (Bytes::new(65_000), false)
        );
    }

    #[test]
    fn a_round_with_few_samples_grows_as_in_reno() {
        let mut path = Path::new(BASE);
        let mut vegas = vegas(&mut path);
        path.batch = 50;
        path.rtt = Span::from_millis(200);
        path.round(&mut vegas, |_| false);
        let before = vegas.send_control().cwnd;
        path.round(&mut vegas, |_| false);
        assert_eq!(vegas.send_control().cwnd, before + MTU);
    }

    #[test]
    fn a_path_change_discards_the_base_rtt() {
        let mut path = Path::new(BASE);
        let mut vegas = vegas(&mut path);
        path.rtt = Span::from_millis(160);
        vegas.on_path_change(&PathChange::unknown(path.now));
        path.round(&mut vegas, |_| false);
        let before = vegas.send_control().cwnd;
        path.round(&mut vegas, |_| false);
        assert_eq!(vegas.send_control().cwnd, before + MTU);
    }
}
