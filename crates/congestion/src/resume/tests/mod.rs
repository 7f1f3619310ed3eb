//! Careful Resume against a path of the test's own making: packets of 1000 bytes, an initial window of ten.

mod appendix_b;
mod leap;
mod observe;
mod phases;
mod probe;

use super::*;
use crate::controller::{Controller, Mark, PathChange, Setup};
use crate::ledger::Ledger;
use crate::newreno::{self, NewReno};
use bentpipe_units::{Rate, Time};

const MTU: Bytes = Bytes::new(1000);

fn packets(number: u64) -> Bytes {
    Bytes::new(1000 * number)
}

fn saved(window: u64) -> Saved {
    Saved { window: packets(window), rtt: Span::from_millis(100), valid_until: None }
}

fn setup() -> Setup {
    Setup { now: Time::ZERO, mtu: MTU, initial_window: packets(10), distance_m: None, rtt: None }
}

/// Something that happens to a sender.
type Strike = fn(&mut Rig);

/// A sender whose packets the test acknowledges, loses and marks.
struct Rig {
    resume: Resume,
    ledger: Ledger,
    notes: PathNotes,
    now: Time,
}

impl Rig {
    fn around(controller: Box<dyn Controller>, mode: Mode, offer: Option<Saved>) -> Self {
        let notes = PathNotes::new();
        if let Some(saved) = offer {
            assert!(notes.offer(saved));
        }
        let resume = Resume::new(controller, mode, &setup(), &Values::defaults(PARAMETERS), notes.clone());
        Self { resume, ledger: Ledger::new(), notes, now: Time::ZERO }
    }

    fn new(mode: Mode, offer: Option<Saved>) -> Self {
        let reno = NewReno::new(&setup(), &Values::defaults(newreno::PARAMETERS));
        Self::around(Box::new(reno), mode, offer)
    }

    /// In the Unvalidated Phase: ten packets sent and acknowledged within 100 ms, nothing in flight.
    fn jumped(window: u64) -> Self {
        let mut rig = Self::new(Mode::Careful, Some(saved(window)));
        rig.send(10);
        rig.at(100).ack(0, 9);
        assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
        rig
    }

    /// In the Validating Phase: 150 packets in flight, numbers 10 to 159, and PipeSize zero.
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
            let packet = self.ledger.send(self.now, MTU);
            self.resume.on_packet_sent(&packet);
        }
    }

    fn fill(&mut self) {
        while self.ledger.bytes_in_flight() + MTU <= self.resume.window() {
            self.send(1);
        }
    }

    /// One acknowledgement of packets `first` to `last`.
    fn ack(&mut self, first: u64, last: u64) {
        self.ack_as(first, last, false);
    }

    fn ack_as(&mut self, first: u64, last: u64, app_limited: bool) {
        for number in first..=last {
            assert!(self.ledger.acknowledge(self.now, number), "{number} is not in flight");
        }
        self.ledger.ack(self.now, app_limited, |ack| self.resume.on_ack(ack));
    }

    fn lose(&mut self, first: u64, last: u64) {
        self.lose_as(first, last, false);
    }

    fn lose_as(&mut self, first: u64, last: u64, persistent: bool) {
        for number in first..=last {
            assert!(self.ledger.lose(number), "{number} is not in flight");
        }
        self.ledger.loss(self.now, persistent, |loss| self.resume.on_loss(loss));
    }

    fn mark(&mut self, newest: u64) {
        self.resume.on_mark(&Mark {
            now: self.now,
            newest,
            bytes_in_flight: self.ledger.bytes_in_flight(),
            next_number: self.ledger.next_number(),
        });
    }

    /// The transitions since the last call: phase and trigger, by name.
    fn steps(&self) -> Vec<(&'static str, &'static str)> {
        let name = |transition: &Transition| (transition.new.name(), transition.trigger.map_or("", Trigger::name));
        self.notes.take_transitions().iter().map(name).collect()
    }

    fn last_step(&self) -> (&'static str, &'static str) {
        self.steps().last().copied().unwrap_or_default()
    }
}
