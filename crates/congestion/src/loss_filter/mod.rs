//! A filter in front of a window-based controller that keeps losses by chance from it.
//!
//! A loss is by chance if no queue explains it. Two signs say so. It does not go away when the
//! window falls: after each reduction, packets sent well below the window that was reduced teach
//! the rate of such losses. And the RTTs at such losses rank like any others. A round trip whose
//! losses are no more than that rate explains reduces nothing, and the last reduction, which taught
//! the rate, is undone. A queue, policer or AQM that the sender itself overflows loses nothing
//! after a reduction, so that nothing is learnt there; one that others overflow loses in clumps.
//!
//! The controller's own slow start goes on after few losses, before anything can be learnt: a queue
//! that it overflows loses up to half of a round trip's packets.
//!
//! For alternatives and measurements, see `docs/decisions/0082-losses-by-chance.md`,
//! `0126-short-starts-after-few-losses.md` and `0139-short-jumps-after-chance-losses.md`.

mod delay;
mod own_start;
mod parameters;
mod rate;
#[cfg(test)]
mod tests;

pub use parameters::Parameters;

use crate::controller::{
    Ack, Controller, EcnCe, Loss, PathChange, Restart, SendControl, SentPacket, forward_to,
};
use bentpipe_units::{Bytes, Time};
use delay::Delay;
use own_start::OwnStart;
use rate::{Bursts, ChanceRate, LastRounds};

/// A filter to be put in front of a controller.
#[derive(Debug, Clone)]
pub enum LossFilter {
    /// Keeps losses by chance from it.
    Chance(Parameters),
}

impl LossFilter {
    /// Puts the filter in front of `controller`.
    pub fn before(self, controller: Box<dyn Controller>) -> Box<dyn Controller> {
        match self {
            Self::Chance(parameters) => Box::new(ChanceFilter::new(controller, &parameters)),
        }
    }
}

/// Phase of the controller while the rate of losses by chance is known.
const PHASE: &str = "losses by chance";

/// Round trips after which a reduction is no longer undone.
const UNDO_ROUNDS: u64 = 64;

/// A window to return to if the reductions since then prove to be by chance.
#[derive(Debug, Clone, Copy)]
struct Undo {
    window: Bytes,
    /// True if the first of the reductions ended slow start.
    slow_start: bool,
    /// Round trip of the last of them.
    round: u64,
}

/// The window before a reduction.
#[derive(Debug, Clone, Copy)]
struct Reduction {
    window: Bytes,
    /// Packets with smaller numbers were sent before it.
    next_number: u64,
}

/// A controller that does not learn of losses by chance.
#[derive(Debug)]
pub struct ChanceFilter {
    controller: Box<dyn Controller>,
    parameters: Parameters,
    delay: Delay,
    rate: ChanceRate,
    /// Bursts of all losses, and of those that teach.
    bursts: Bursts,
    calm_bursts: Bursts,
    last_rounds: LastRounds,
    reduction: Option<Reduction>,
    undo: Option<Undo>,
    start: OwnStart,
    round: u64,
    /// True once the path has marked packets: its queues speak by marks.
    marked: bool,
    /// The rate of losses by chance, as of the last loss or round trip.
    known: Option<f64>,
}

impl ChanceFilter {
    /// Puts the filter in front of `controller`, which must be window-based.
    pub fn new(controller: Box<dyn Controller>, parameters: &Parameters) -> Self {
        Self {
            controller,
            parameters: *parameters,
            delay: Delay::new(),
            rate: ChanceRate::default(),
            bursts: Bursts::default(),
            calm_bursts: Bursts::default(),
            last_rounds: LastRounds::default(),
            reduction: None,
            undo: None,
            start: OwnStart::Over,
            round: 0,
            marked: false,
            known: None,
        }
    }

    /// Forgets what was learnt about the path.
    fn forget(&mut self) {
        self.delay = Delay::new();
        self.rate = ChanceRate::default();
        self.reduction = None;
        self.undo = None;
        self.marked = false;
        self.known = None;
    }

    /// Returns a test for packets that were sent well below the window that was reduced.
    fn is_calm(&self) -> impl Fn(&&SentPacket) -> bool + use<> {
        let below = self.parameters.below;
        let calm = self.reduction.map(|from| (from.next_number, from.window.mul_f64(below)));
        move |packet| {
            calm.is_some_and(|(number, most)| packet.number >= number && packet.in_flight <= most)
        }
    }

    /// Returns the rate of losses by chance, if the path has taught one.
    fn chance(&self) -> Option<f64> {
        self.rate.get(&self.parameters).filter(|_| self.may_be_chance())
    }

    /// Returns false if the path marks packets instead of dropping them, or if RTTs at losses are
    /// larger than without.
    fn may_be_chance(&self) -> bool {
        !self.marked && !self.delay.is_higher_at_losses(&self.parameters)
    }

    /// Returns true if chance explains the losses of the last round trips; `queueing`: a queue
    /// stands now.
    fn is_by_chance(&self, queueing: bool) -> bool {
        let known = self.known.filter(|_| !queueing);
        if known.is_some_and(|rate| self.last_rounds.are_explained_by(rate)) {
            return true;
        }
        // Before anything is learnt: a path whose queue has held more than it holds now has not
        // lost a single packet there.
        self.may_be_chance()
            && self.last_rounds.losses() <= self.parameters.few
            && self.delay.has_room(&self.parameters)
    }

    /// Lets a slow start that few losses have reduced go on from there, if no queue stands.
    fn resume_start(&mut self, ack: &Ack<'_>) {
        let Some(next_number) = self.start.known_at(ack) else { return };
        self.start = OwnStart::Over;
        if self.may_be_chance() && !self.delay.is_queueing(&self.parameters) {
            self.start = OwnStart::Running { gave_way: None };
            let window = self.controller.send_control().cwnd;
            self.continue_from(ack.now, window, Bytes::MAX, next_number);
        }
    }

    /// Returns to the window before the last reductions.
    fn undo(&mut self, loss: &Loss<'_>) {
        if self.parameters.undo < 0.5 || self.known.is_none() {
            return;
        }
        let Some(Undo { window, slow_start, round }) = self.undo.take() else { return };
        if self.round <= round + UNDO_ROUNDS && window > self.controller.send_control().cwnd {
            let ssthresh = if slow_start { Bytes::MAX } else { window };
            self.continue_from(loss.now, window, ssthresh, loss.next_number);
        }
    }

    /// Lets the controller continue from `window`. Losses of packets below `recovery_start` count
    /// as answered.
    fn continue_from(&mut self, now: Time, window: Bytes, ssthresh: Bytes, recovery_start: u64) {
        self.controller.restart(&Restart {
            now,
            window,
            ssthresh: Some(ssthresh),
            rate: None,
            min_rtt: Some(self.delay.base()),
            recovery_start,
        });
    }
}

impl Controller for ChanceFilter {
    forward_to!(controller:
        on_packet_sent, on_timeout, on_spurious_loss, on_upcoming_path_change, on_mtu_update,
        report_state, is_rate_based, rate_based);

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.delay.note(ack.now, ack.rtt);
        if ack.round_start {
            self.round = ack.round;
            self.last_rounds.end_round();
            self.rate.end_round();
            self.known = self.chance();
        }
        self.last_rounds.acked(ack.packets.len() as f64);
        let calm = ack.packets.iter().filter(self.is_calm()).count();
        if calm > 0 {
            self.rate.acked(calm as f64);
            self.delay.note_calm();
        }
        self.controller.on_ack(ack);
        self.resume_start(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        let found = self.bursts.count(loss.packets.iter());
        self.last_rounds.lost(found);
        let queueing = self.delay.is_queueing(&self.parameters);
        let is_calm = self.is_calm();
        let calm = loss.packets.iter().filter(&is_calm).count();
        if calm > 0 {
            self.delay.note_loss(&self.parameters);
            if queueing {
                self.rate.acked(calm as f64);
            } else {
                let lost = self.calm_bursts.count(loss.packets.iter().filter(&is_calm));
                self.rate.lost(lost);
            }
        }
        self.known = self.chance();
        if !loss.persistent && self.is_by_chance(queueing) {
            return self.undo(loss);
        }
        let SendControl { cwnd: before, in_slow_start, .. } = self.controller.send_control();
        self.controller.on_loss(loss);
        let reduced = self.controller.send_control().cwnd < before;
        let is_start = in_slow_start && reduced && !queueing;
        self.start = self.start.after(loss, found.losses(), self.parameters.few, is_start);
        if loss.persistent {
            self.rate = ChanceRate::default();
            self.known = None;
        }
        if reduced {
            self.reduction = Some(Reduction { window: before, next_number: loss.next_number });
            // The first of several reductions is the one to return to.
            let first = self.undo.filter(|undo| undo.window >= before);
            let (window, slow_start) =
                first.map_or((before, in_slow_start), |undo| (undo.window, undo.slow_start));
            self.undo = (!queueing && !loss.persistent).then_some(Undo {
                window,
                slow_start,
                round: self.round,
            });
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.marked = true;
        self.controller.on_ecn_ce(ecn_ce);
    }

    fn restart(&mut self, to: &Restart) {
        self.start = OwnStart::restarted(to);
        self.controller.restart(to);
    }

    fn restart_after_chance(&mut self, to: &Restart) {
        // The acknowledgement that ended the retreat may have been delayed.
        let queueing = self.delay.keeps_queueing(&self.parameters);
        if queueing || !self.may_be_chance() || !self.start.goes_on() {
            return self.restart(to);
        }
        self.start = OwnStart::Running { gave_way: None };
        self.controller.restart(&Restart { ssthresh: Some(Bytes::MAX), ..*to });
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.forget();
        self.controller.on_path_change(change);
    }

    fn send_control(&self) -> SendControl {
        let control = self.controller.send_control();
        // Traces and series show from when on losses are spared.
        let spares = self.known.is_some() && !control.in_slow_start;
        SendControl { phase: if spares { PHASE } else { control.phase }, ..control }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            delay: self.delay.clone(),
            rate: self.rate.clone(),
            bursts: self.bursts.clone(),
            calm_bursts: self.calm_bursts.clone(),
            last_rounds: self.last_rounds.clone(),
            ..*self
        })
    }
}
