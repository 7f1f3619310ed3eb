//! The layer that resumes: its state, and its transitions between phases.

use super::handle::ResumeHandle;
use super::jump::UnsafeJump;
use super::mode::ResumeMode;
use super::observation::PathObserver;
use super::packet_range::PacketRange;
use super::parameters::Parameters;
use super::phase::{Jump, PhaseState, Reconnaissance, Retreat, UndoRetreat};
use super::queue_check::QueueCheck;
use super::saved::SavedParameters;
use super::transitions::{Phase, Transition, Trigger};
use crate::controller::{Ack, Controller, ControllerConfig, Restart, minimum_window};
use bentpipe_units::{Bytes, Time};

/// A controller that resumes with saved path parameters and measures the path again.
///
/// A probe timeout is no sign of congestion (RFC 9002 §6.2). It ends the Unvalidated Phase, since
/// more than an RTT must have passed, and has no other effect. Persistent congestion ends Careful
/// Resume in any phase (RFC 9959 §3.6).
#[derive(Debug)]
pub struct CarefulResume {
    pub(super) controller: Box<dyn Controller>,
    pub(super) parameters: Parameters,
    pub(super) handle: ResumeHandle,
    pub(super) mtu: Bytes,
    pub(super) initial_window: Bytes,
    pub(super) phase: PhaseState,
    pub(super) saved: Option<SavedParameters>,
    /// The unvalidated packets.
    pub(super) unvalidated: PacketRange,
    /// PipeSize: validated bytes in flight.
    pub(super) pipesize: Bytes,
    pub(super) undo: Option<UndoRetreat>,
    /// Bytes in flight.
    pub(super) flight_size: Bytes,
    pub(super) next_number: u64,
    /// Whether packets queue, by the saved RTT.
    pub(super) queue: QueueCheck,
    pub(super) observer: PathObserver,
}

impl CarefulResume {
    /// Puts the layer around `controller`. It applies `mode` to the parameters that are offered to
    /// `handle`, now or later.
    pub fn new(
        controller: Box<dyn Controller>,
        mode: ResumeMode,
        config: &ControllerConfig,
        parameters: &Parameters,
        handle: ResumeHandle,
    ) -> Self {
        let (controller, phase) = match mode {
            ResumeMode::Observe => {
                handle.close();
                (controller, PhaseState::Normal)
            }
            ResumeMode::Careful => {
                (controller, PhaseState::Reconnaissance(Reconnaissance::default()))
            }
            ResumeMode::Jump => {
                let jump: Box<dyn Controller> =
                    Box::new(UnsafeJump::new(controller, config, handle.clone()));
                (jump, PhaseState::Normal)
            }
        };
        let mut resume = Self {
            controller,
            parameters: *parameters,
            mtu: config.mtu,
            initial_window: config.initial_window,
            phase,
            saved: None,
            unvalidated: PacketRange::default(),
            pipesize: Bytes::ZERO,
            undo: None,
            flight_size: Bytes::ZERO,
            next_number: 0,
            queue: QueueCheck::new(),
            observer: PathObserver::new(parameters, config.initial_window),
            handle,
        };
        if mode == ResumeMode::Careful {
            resume.saved = resume.handle.offered().0;
            resume.log(config.now, None, None);
        }
        resume
    }

    /// Returns the phase. It is always [`Phase::Normal`] unless the mode is Careful Resume.
    pub fn resume_phase(&self) -> Phase {
        self.phase.phase()
    }

    /// Returns PipeSize: the volume that the path was known to hold at the last measurement; zero
    /// before the jump.
    pub fn pipesize(&self) -> Bytes {
        self.pipesize
    }

    pub(super) fn minimum_window(&self) -> Bytes {
        minimum_window(self.mtu)
    }

    /// Returns the congestion window.
    pub(super) fn window(&self) -> Bytes {
        let window = match self.phase {
            PhaseState::Unvalidated(Jump::Window(jump)) => jump.window,
            PhaseState::SafeRetreat(Retreat::Window { window, .. }) => window,
            _ => self.controller.send_control().cwnd,
        };
        window.max(self.minimum_window())
    }

    /// Moves to the phase `new`.
    pub(super) fn go(&mut self, now: Time, new: PhaseState, trigger: Option<Trigger>) {
        let old = self.phase.phase();
        self.phase = new;
        if matches!(self.phase, PhaseState::Normal) {
            self.handle.close();
            // The effects of the layer itself are not observations of the path.
            self.observer.pause(self.next_number);
        }
        self.log(now, Some(old), trigger);
    }

    fn log(&self, at: Time, old: Option<Phase>, trigger: Option<Trigger>) {
        self.handle.push(Transition {
            at,
            old,
            new: self.phase.phase(),
            trigger,
            pipesize: self.pipesize,
            first_unvalidated_packet: self.unvalidated.first(),
            last_unvalidated_packet: self.unvalidated.last(),
            window: self.window(),
            ssthresh: self.controller.send_control().ssthresh,
            saved: self.saved,
        });
    }

    /// Starts to send unvalidated packets, by window or rate.
    pub(super) fn start_jump(&mut self) {
        self.handle.set_jumped();
        self.unvalidated = PacketRange::from(self.next_number);
        self.pipesize = self.flight_size;
    }

    /// Adds the unvalidated packets that `ack` acknowledges to PipeSize.
    pub(super) fn count(&mut self, ack: &Ack<'_>) {
        self.pipesize += self.unvalidated.on_ack(ack.packets, ack.next_number);
    }

    /// Returns true if the flight is smaller than the volume that the path was known to hold.
    pub(super) fn is_rate_limited(&self) -> bool {
        self.flight_size < self.initial_window || self.flight_size <= self.pipesize
    }

    pub(super) fn restart_to(
        &self,
        now: Time,
        window: Bytes,
        ssthresh: Option<Bytes>,
        recovery_start: u64,
    ) -> Restart {
        let window = window.max(self.minimum_window());
        Restart { now, window, ssthresh, rate: None, min_rtt: None, recovery_start }
    }

    /// Raises the controller's window to `window`, if its own is smaller.
    pub(super) fn raise_controller(&mut self, now: Time, window: Bytes) {
        if window > self.controller.send_control().cwnd {
            self.controller.restart(&self.restart_to(now, window, None, 0));
        }
    }
}
