//! The unsafe alternative: the whole saved window from the first flight on.

use super::layer::Resume;
use crate::controller::{Ack, Adjust};
use bentpipe_units::{Bytes, Rate};

/// A leap whose first flight is still out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leap {
    /// Number of the first packet that was sent after it.
    first: u64,
    pub(super) window: Bytes,
    /// Its pace: the saved window each saved round trip.
    pub(super) rate: Rate,
    /// For a controller that is told a rate: rounds until it is on its own.
    rounds: u32,
}

impl Resume {
    /// Takes the offered set, if there is one now.
    pub(super) fn leap(&mut self, now: bentpipe_units::Time) {
        let (saved, refusal) = self.notes.offered();
        self.saved = saved;
        let Some(saved) = saved else { return };
        self.leapt = true;
        self.notes.close();
        if refusal.is_some() || saved.is_expired(now) || saved.window <= self.controller.window() {
            return;
        }
        self.notes.set_jumped();
        let rate = saved.rate().max(Rate::from_bps(1));
        self.leap = Some(Leap { first: self.next_number, window: saved.window, rate, rounds: 2 });
        let by_rate = self.controller.rate_based().is_some();
        self.controller.adjust(&Adjust {
            now,
            window: saved.window,
            // The saved window was the path's: a window beyond it is not looked for by doubling. A controller that is told a
            // rate stays in Startup, where it takes one.
            ssthresh: (!by_rate).then_some(saved.window),
            rate: None,
            min_rtt: None,
            answered: 0,
        });
        self.set_probing_rate(Some(rate));
    }

    /// Ends the leap once its first flight is acknowledged: with the first acknowledgement of it, or two rounds later for a
    /// controller that is told a rate.
    pub(super) fn leap_acked(&mut self, ack: &Ack<'_>) {
        let Some(leap) = &mut self.leap else { return };
        if ack.newest().number < leap.first {
            return;
        }
        if ack.round_start {
            leap.rounds = leap.rounds.saturating_sub(1);
        }
        if leap.rounds == 0 || self.controller.rate_based().is_none() {
            self.end_leap();
        }
    }

    pub(super) fn end_leap(&mut self) {
        if self.leap.take().is_some() {
            self.set_probing_rate(None);
        }
        if !self.leapt {
            // Congestion before any offer: the window that the controller has now is a measured one.
            self.leapt = true;
            self.notes.close();
        }
    }
}
