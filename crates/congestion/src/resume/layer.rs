//! The controller around a controller.

use super::leap::Leap;
use super::observe::Observer;
use super::recon::{Occasion, Recon};
use super::tally::Tally;
use super::{Limits, Mode, PathNotes, Phase, Saved, Transition, Trigger};
use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Packet, PathChange, Setup};
use crate::newreno::minimum_window;
use crate::parameter::Values;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A controller that resumes with what its path carried before, and measures what it carries now.
///
/// A probe timeout is no sign of congestion (RFC 9002 §6.2): it ends the Unvalidated Phase, since more than a round trip must
/// have passed, and nothing else. Persistent congestion ends Careful Resume in any phase (RFC 9959 §3.6).
#[derive(Debug)]
pub struct Resume {
    pub(super) controller: Box<dyn Controller>,
    pub(super) limits: Limits,
    pub(super) notes: PathNotes,
    pub(super) mtu: Bytes,
    pub(super) initial_window: Bytes,
    pub(super) phase: Phase,
    pub(super) saved: Option<Saved>,
    pub(super) recon: Recon,
    /// The unvalidated packets.
    pub(super) flight: Tally,
    /// PipeSize.
    pub(super) pipesize: Bytes,
    /// When the first unvalidated packet was sent.
    pub(super) entered: Option<Time>,
    /// Current round trip of the Unvalidated Phase.
    pub(super) rtt: Span,
    /// The window of the Unvalidated Phase.
    pub(super) jump: Bytes,
    /// The window of Safe Retreat.
    pub(super) retreat: Bytes,
    /// Losses of packets before this number have been answered by the retreat.
    pub(super) answered: u64,
    /// The controller is told a rate, not a window.
    pub(super) by_rate: bool,
    /// Its round at the jump.
    pub(super) probe_round: u64,
    pub(super) leap: Option<Leap>,
    /// The leap was made, or will not be.
    pub(super) leapt: bool,
    pub(super) flight_size: Bytes,
    pub(super) next_number: u64,
    observer: Observer,
}

impl Resume {
    /// `controller`, resuming as `mode` says with the set that `notes` offer now or later.
    pub fn new(controller: Box<dyn Controller>, mode: Mode, setup: &Setup, values: &Values, notes: PathNotes) -> Self {
        let limits = Limits::new(values);
        let mut resume = Self {
            controller,
            limits,
            mtu: setup.mtu,
            initial_window: setup.initial_window,
            phase: if mode == Mode::Careful { Phase::Reconnaissance } else { Phase::Normal },
            saved: None,
            recon: Recon::default(),
            flight: Tally::default(),
            pipesize: Bytes::ZERO,
            entered: None,
            rtt: Span::ZERO,
            jump: Bytes::ZERO,
            retreat: Bytes::ZERO,
            answered: 0,
            by_rate: false,
            probe_round: 0,
            leap: None,
            leapt: mode != Mode::Jump,
            flight_size: Bytes::ZERO,
            next_number: 0,
            observer: Observer::new(&limits, setup.initial_window),
            notes,
        };
        match mode {
            Mode::Observe => resume.notes.close(),
            Mode::Jump => resume.leap(setup.now),
            Mode::Careful => {
                resume.saved = resume.notes.offered().0;
                resume.log(setup.now, None, None);
            }
        }
        resume
    }

    /// Where it stands. Always [`Phase::Normal`] unless it resumes carefully.
    pub fn resume_phase(&self) -> Phase {
        self.phase
    }

    /// PipeSize: what the path was known to hold when that was last measured; zero before the jump.
    pub fn pipesize(&self) -> Bytes {
        self.pipesize
    }

    pub(super) fn minimum_window(&self) -> Bytes {
        minimum_window(self.mtu)
    }

    /// The layer has taken the window from the controller.
    fn owns_window(&self) -> bool {
        !self.by_rate && matches!(self.phase, Phase::Unvalidated | Phase::SafeRetreat)
    }

    pub(super) fn window_now(&self) -> Bytes {
        let window = match (self.phase, &self.leap) {
            (Phase::Unvalidated, _) if self.owns_window() => self.jump,
            (Phase::SafeRetreat, _) if self.owns_window() => self.retreat,
            (_, Some(leap)) => self.controller.window().max(leap.window),
            _ => self.controller.window(),
        };
        window.max(self.minimum_window())
    }

    /// Moves on to `new`.
    pub(super) fn go(&mut self, at: Time, new: Phase, trigger: Option<Trigger>) {
        let old = std::mem::replace(&mut self.phase, new);
        if new == Phase::Normal {
            self.notes.close();
            // What the layer itself set in motion is no observation.
            self.observer.pause(self.next_number);
        }
        self.log(at, Some(old), trigger);
    }

    fn log(&self, at: Time, old: Option<Phase>, trigger: Option<Trigger>) {
        self.notes.push(Transition {
            at,
            old,
            new: self.phase,
            trigger,
            pipesize: self.pipesize,
            first_unvalidated_packet: self.flight.first(),
            last_unvalidated_packet: self.flight.last(),
            window: self.window_now(),
            ssthresh: self.controller.ssthresh(),
            saved: self.saved,
        });
    }

    fn heard(&mut self, flight_size: Bytes, next_number: u64) {
        self.flight_size = flight_size;
        self.next_number = next_number;
    }

    /// Congestion during the jump: the window's way, or the rate's.
    fn jump_congested(&mut self, now: Time, trigger: Trigger) {
        if self.by_rate {
            self.retreat_by_rate(now, Some(trigger));
        } else {
            self.retreat(now, trigger);
        }
    }

    /// Whether the controller takes what was lost of the jump so far for chance.
    fn is_chance(&self) -> bool {
        let tolerance = self.controller.loss_tolerance();
        tolerance > 0.0 && !self.flight.is_congested(tolerance)
    }

    /// A loss while the layer owns the answer. True where the controller is to hear of it, too.
    fn absorb_loss(&mut self, loss: &Loss<'_>) -> bool {
        self.flight.lost(loss.packets);
        match self.phase {
            Phase::Unvalidated | Phase::Validating if !loss.persistent && self.is_chance() => return true,
            Phase::Unvalidated | Phase::Validating => self.jump_congested(loss.now, Trigger::PacketLoss),
            _ if self.by_rate => self.end_drain_when_settled(loss.now),
            _ => {
                self.retreat_congested(loss.newest().number);
                self.end_retreat_when_settled(loss.now);
            }
        }
        if loss.persistent && self.phase == Phase::SafeRetreat && !self.by_rate {
            self.end_retreat(loss.now);
        }
        self.by_rate || loss.persistent
    }
}

impl Controller for Resume {
    fn on_packet_sent(&mut self, packet: &Packet) {
        self.heard(packet.in_flight, packet.number.saturating_add(1));
        self.controller.on_packet_sent(packet);
        match self.phase {
            Phase::Reconnaissance => {
                self.recon.sent(packet.number);
                let limited = self.controller.window().saturating_sub(packet.in_flight) < self.mtu;
                self.consider(Occasion { now: packet.sent_at, limited, round: None });
            }
            Phase::Unvalidated if self.by_rate => self.flight.sent(packet.number),
            Phase::Unvalidated => self.jump_sent(packet),
            _ if !self.leapt => self.leap(packet.sent_at),
            _ => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.heard(ack.bytes_in_flight, ack.next_number);
        if !self.leapt {
            self.leap(ack.now);
        }
        match self.phase {
            Phase::Reconnaissance => {
                self.recon.acked(ack);
                self.controller.on_ack(ack);
                self.observer.on_ack(ack, self.controller.in_slow_start(), &self.notes);
                let round = self.recon.beginning_round(ack.now);
                self.consider(Occasion { now: ack.now, limited: !ack.app_limited, round });
            }
            Phase::Normal => {
                self.controller.on_ack(ack);
                self.leap_acked(ack);
                self.observer.on_ack(ack, self.controller.in_slow_start(), &self.notes);
            }
            _ if self.by_rate => self.probe_acked(ack),
            Phase::Unvalidated => self.jump_acked(ack),
            Phase::Validating => self.validating_acked(ack),
            Phase::SafeRetreat => self.retreat_acked(ack),
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.heard(loss.bytes_in_flight, loss.next_number);
        let passes = match self.phase {
            Phase::Reconnaissance | Phase::Normal => true,
            _ => self.absorb_loss(loss),
        };
        if passes {
            let congested = self.recon.lost(loss.packets, self.controller.loss_tolerance()) || loss.persistent;
            self.controller.on_loss(loss);
            self.end_leap();
            if congested {
                self.abandon(loss.now, Trigger::PacketLoss);
            }
            self.retreat_where_startup_ended(loss.now, Some(Trigger::PacketLoss));
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.heard(mark.bytes_in_flight, mark.next_number);
        match self.phase {
            Phase::Reconnaissance | Phase::Normal => {
                self.controller.on_mark(mark);
                self.end_leap();
                self.abandon(mark.now, Trigger::EcnCe);
            }
            Phase::Unvalidated | Phase::Validating => {
                self.jump_congested(mark.now, Trigger::EcnCe);
                if self.by_rate {
                    self.controller.on_mark(mark);
                }
            }
            Phase::SafeRetreat if self.by_rate => self.controller.on_mark(mark),
            Phase::SafeRetreat => self.retreat_congested(mark.newest),
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.controller.on_timeout(now);
        if self.phase == Phase::Unvalidated && !self.by_rate {
            self.evaluate(now, Trigger::RttExceeded);
        }
    }

    fn on_spurious_loss(&mut self, now: Time) {
        // A retreat is not taken back: the set is deleted, and the jump's window has never been validated.
        if self.phase != Phase::SafeRetreat {
            self.controller.on_spurious_loss(now);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        let now = change.now;
        match self.phase {
            Phase::Reconnaissance => self.go(now, Phase::Normal, Some(Trigger::PathChanged)),
            Phase::Unvalidated | Phase::Validating => self.jump_congested(now, Trigger::PathChanged),
            Phase::SafeRetreat | Phase::Normal => self.end_leap(),
        }
        self.controller.on_path_change(change);
        // What was observed is of the path that was left; its keeper has read it, or does without.
        self.observer = Observer::new(&self.limits, self.initial_window);
        self.observer.pause(self.next_number);
        self.notes.set_observed(None);
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.controller.on_mtu(mtu);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.end_leap();
        self.controller.adjust(to);
        if self.phase != Phase::Normal {
            // Another layer knows better.
            if self.by_rate {
                self.set_probing_rate(None);
            }
            self.go(to.now, Phase::Normal, None);
        }
    }

    fn window(&self) -> Bytes {
        self.window_now()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match (self.phase, &self.leap) {
            (Phase::Unvalidated, _) if self.owns_window() => Some(self.jump_pace()),
            // The controller's own pace is that of the window it would have.
            (Phase::SafeRetreat, _) if self.owns_window() => None,
            (_, Some(leap)) => Some(self.controller.pacing_rate().map_or(leap.rate, |rate| rate.max(leap.rate))),
            _ => self.controller.pacing_rate(),
        }
    }

    fn send_quantum(&self) -> Option<Bytes> {
        let own = self.controller.send_quantum();
        if self.phase == Phase::Unvalidated && !self.by_rate {
            // No burst beyond the initial window (RFC 9959 §4.3.2).
            return Some(own.map_or(self.initial_window, |own| own.min(self.initial_window)));
        }
        own
    }

    fn in_slow_start(&self) -> bool {
        if self.owns_window() { self.phase == Phase::Unvalidated } else { self.controller.in_slow_start() }
    }

    fn phase(&self) -> &'static str {
        match self.phase {
            _ if self.leap.is_some() => "jump",
            Phase::Reconnaissance if self.saved.is_some() => "reconnaissance",
            Phase::Reconnaissance | Phase::Normal => self.controller.phase(),
            Phase::Unvalidated => "unvalidated",
            Phase::Validating => "validating",
            Phase::SafeRetreat => "safe retreat",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            notes: self.notes.clone(),
            recon: self.recon.clone(),
            flight: self.flight.clone(),
            observer: self.observer.clone(),
            ..*self
        })
    }
}
