//! Reconnaissance: whether this is the path that was saved (RFC 9959 §3.2).

use super::layer::Resume;
use super::notes::Refusal;
use super::tally::Tally;
use super::{Phase, Saved, Trigger};
use crate::controller::{Ack, Packet};
use bentpipe_units::{Span, Time};

/// What reconnaissance has found so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Recon {
    /// Packets sent before the first acknowledgement: normally the initial window.
    initial: Tally,
    /// The latest round trip, once there is one.
    pub(super) rtt: Option<Span>,
    /// The smallest of the phase.
    min_rtt: Option<Span>,
    /// The round under way, and when it began.
    round: Option<(u64, Time)>,
}

impl Recon {
    pub(super) fn sent(&mut self, number: u64) {
        self.initial.sent(number);
    }

    pub(super) fn acked(&mut self, ack: &Ack<'_>) {
        self.initial.close(ack.next_number);
        self.initial.acked(ack.packets, ack.next_number);
        self.rtt = Some(ack.rtt);
        self.min_rtt = Some(self.min_rtt.map_or(ack.rtt, |min| min.min(ack.rtt)));
        if ack.round_start {
            self.round = Some((ack.round, ack.now));
        }
    }

    /// Packets were lost: whether that is congestion to a controller of this tolerance.
    pub(super) fn lost(&mut self, packets: &[Packet], tolerance: f64) -> bool {
        self.initial.lost(packets);
        tolerance == 0.0 || self.initial.is_congested(tolerance)
    }

    /// The round that begins at `now`: an initial window is acknowledged by several acknowledgements, of which the first begins
    /// the round and the last settles it. An eighth of a round trip between them loses no round.
    pub(super) fn beginning_round(&self, now: Time) -> Option<u64> {
        let (round, began) = self.round?;
        (now.since(began) <= self.rtt? / 8).then_some(round)
    }
}

/// When the question of a jump comes up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occasion {
    pub(super) now: Time,
    /// More would be sent than the window admits.
    pub(super) limited: bool,
    /// The round that begins, where one does.
    pub(super) round: Option<u64>,
}

impl Resume {
    /// Picks up what the keeper has noted, and leaves Careful Resume where the set must not be used.
    pub(super) fn reconsider(&mut self, now: Time) {
        let (saved, refusal) = self.notes.offered();
        self.saved = saved;
        if let Some(refusal) = refusal {
            let trigger = (refusal == Refusal::EndpointMismatch).then_some(Trigger::PathChanged);
            self.go(now, Phase::Normal, trigger);
            return;
        }
        let Some(saved) = saved else { return };
        if saved.is_expired(now) {
            self.notes.refuse(Refusal::Expired);
            self.go(now, Phase::Normal, None);
        } else if self.recon.min_rtt.is_some_and(|min| self.limits.is_too_short(min, &saved)) {
            // It can only become shorter: no need to wait for the jump.
            self.go(now, Phase::Normal, Some(Trigger::RttNotValidated));
        }
    }

    /// Jumps if the path is confirmed and there is a use for it.
    pub(super) fn consider(&mut self, occasion: Occasion) {
        self.reconsider(occasion.now);
        let (Some(saved), Some(rtt)) = (self.saved, self.recon.rtt) else { return };
        if self.phase != Phase::Reconnaissance || !occasion.limited || !self.recon.initial.is_settled() {
            return;
        }
        if self.limits.is_too_long(rtt, &saved) {
            self.go(occasion.now, Phase::Normal, Some(Trigger::RttNotValidated));
        } else if self.controller.rate_based().is_some() {
            if let Some(round) = occasion.round {
                self.begin_probe(occasion.now, round, &saved);
            }
        } else {
            self.begin_jump(occasion.now, rtt, &saved);
        }
    }

    /// Congestion before the jump: the controller answers it, and there will be none.
    pub(super) fn abandon(&mut self, now: Time, trigger: Trigger) {
        if self.phase == Phase::Reconnaissance {
            self.go(now, Phase::Normal, Some(trigger));
        }
    }

    fn begin_jump(&mut self, now: Time, rtt: Span, saved: &Saved) {
        let jump = self.limits.jump(saved);
        if jump <= self.controller.window() {
            // The controller has come this far by itself.
            self.go(now, Phase::Normal, None);
            return;
        }
        self.start_flight(rtt);
        self.jump = jump;
        self.go(now, Phase::Unvalidated, Some(Trigger::CongestionWindowLimited));
    }

    /// What both kinds of controllers need at the jump.
    pub(super) fn start_flight(&mut self, rtt: Span) {
        self.notes.set_jumped();
        self.flight = Tally::from(self.next_number);
        self.pipesize = self.flight_size;
        self.rtt = rtt;
    }
}
