//! Tests of Careful Resume over a scripted path: packets of 1000 bytes, an initial window of ten.

mod appendix_b;
mod chance;
mod jump;
mod observe;
mod phases;
mod probe;

use super::*;
use crate::algorithms::newreno::{self, NewReno};
use crate::controller::{Controller, ControllerConfig, EcnCe, PathChange};
use crate::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Span};
use bentpipe_units::{Rate, Time};

const MTU: Bytes = Bytes::new(1000);

fn packets(number: u64) -> Bytes {
    Bytes::new(1000 * number)
}

/// Returns parameters with an RTT well below the 100 ms of the scripted path: packets queue, as
/// behind another flow, and any loss is congestion.
fn saved(window: u64) -> SavedParameters {
    SavedParameters::new(packets(window), Span::from_millis(75))
}

fn config() -> ControllerConfig {
    ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: packets(10),
        distance_m: None,
        rtt: None,
    }
}

/// An event that affects a sender.
type Strike = fn(&mut Rig);

/// A sender whose packets the test acknowledges, loses and marks.
struct Rig {
    resume: CarefulResume,
    sent_packets: SentPackets,
    handle: ResumeHandle,
    now: Time,
}

impl Rig {
    fn around(
        controller: Box<dyn Controller>,
        mode: ResumeMode,
        offer: Option<SavedParameters>,
    ) -> Self {
        let handle = ResumeHandle::new();
        if let Some(saved) = offer {
            assert!(handle.offer(saved));
        }
        let resume =
            CarefulResume::new(controller, mode, &config(), &Parameters::default(), handle.clone());
        Self { resume, sent_packets: SentPackets::new(), handle, now: Time::ZERO }
    }

    fn new(mode: ResumeMode, offer: Option<SavedParameters>) -> Self {
        let reno = NewReno::new(&config(), &newreno::Parameters::default());
        Self::around(Box::new(reno), mode, offer)
    }

    /// Returns a sender in the Unvalidated Phase: ten packets were sent and acknowledged within 100
    /// ms, none is in flight.
    fn jumped(window: u64) -> Self {
        let mut rig = Self::new(ResumeMode::Careful, Some(saved(window)));
        rig.send(10);
        rig.at(100).ack(0, 9);
        assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
        rig
    }

    /// Returns a sender in the Validating Phase: packets 10 to 159 are in flight, and PipeSize is
    /// zero.
    fn validating() -> Self {
        let mut rig = Self::jumped(300);
        rig.send(150);
        assert_eq!(rig.resume.resume_phase(), Phase::Validating);
        rig
    }

    fn at(&mut self, ms: u64) -> &mut Self {
        self.now = Time::from_millis(ms);
        self
    }

    fn send(&mut self, count: u64) {
        for _ in 0..count {
            let packet = self.sent_packets.on_sent(self.now, MTU);
            self.resume.on_packet_sent(&packet);
        }
    }

    fn fill(&mut self) {
        while self.sent_packets.bytes_in_flight() + MTU <= self.resume.send_control().cwnd {
            self.send(1);
        }
    }

    /// Acknowledges packets `first` to `last` with one ACK.
    fn ack(&mut self, first: u64, last: u64) {
        self.ack_as(first, last, false);
    }

    fn ack_as(&mut self, first: u64, last: u64, app_limited: bool) {
        for number in first..=last {
            assert!(self.sent_packets.on_acked(self.now, number), "{number} is not in flight");
        }
        self.sent_packets.report_ack(self.now, app_limited, |ack| self.resume.on_ack(ack));
    }

    fn lose(&mut self, first: u64, last: u64) {
        self.lose_as(first, last, false);
    }

    fn lose_as(&mut self, first: u64, last: u64, persistent: bool) {
        for number in first..=last {
            assert!(self.sent_packets.on_lost(number), "{number} is not in flight");
        }
        self.sent_packets.report_loss(self.now, persistent, |loss| self.resume.on_loss(loss));
    }

    fn mark(&mut self, newest: u64) {
        self.resume.on_ecn_ce(&EcnCe {
            now: self.now,
            newest,
            bytes_in_flight: self.sent_packets.bytes_in_flight(),
            next_number: self.sent_packets.next_number(),
            marked: None,
        });
    }

    /// Returns the transitions since the last call, as names of phase and trigger.
    fn steps(&self) -> Vec<(&'static str, &'static str)> {
        let name = |transition: &Transition| {
            (transition.new.name(), transition.trigger.map_or("", Trigger::name))
        };
        self.handle.take_transitions().iter().map(name).collect()
    }

    fn last_step(&self) -> (&'static str, &'static str) {
        self.steps().last().copied().unwrap_or_default()
    }
}
