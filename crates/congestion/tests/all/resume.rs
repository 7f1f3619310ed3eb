//! Invariants of Careful Resume around NewReno under random acknowledgements, losses and timing.

use bentpipe_congestion::SentPackets;
use bentpipe_congestion::algorithms::newreno::{self, NewReno};
use bentpipe_congestion::controller::{
    Controller, ControllerConfig, EcnCe, PathChange, minimum_window,
};
use bentpipe_congestion::resume::{
    self, CarefulResume, Phase, ResumeHandle, ResumeMode, SavedParameters,
};
use bentpipe_units::{Bytes, Span, Time};
use proptest::prelude::*;

const MTU: Bytes = Bytes::new(1200);

/// An event. Positions among the packets in flight are fractions of 256, so that they fit any
/// number of packets.
#[derive(Debug, Clone)]
enum Event {
    Wait(u64),
    /// Sends up to this many packets, as far as the window allows.
    Send(u64),
    /// Sends a probe, regardless of the window.
    SenderMetrics,
    /// Acknowledges up to `count` packets from the position on.
    Ack {
        place: u8,
        count: usize,
        app_limited: bool,
    },
    Lose {
        place: u8,
        count: usize,
    },
    /// Removes a packet without a report.
    Vanish(u8),
    EcnCe(u8),
    Persistent,
    Timeout,
    Spurious,
    PathChange,
    Offer,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => (1u64..400).prop_map(Event::Wait),
        12 => (1u64..200).prop_map(Event::Send),
        1 => Just(Event::SenderMetrics),
        20 => (any::<u8>(), 1usize..60, prop::bool::weighted(0.1))
            .prop_map(|(place, count, app_limited)| Event::Ack { place, count, app_limited }),
        12 => (1usize..60, prop::bool::weighted(0.1))
            .prop_map(|(count, app_limited)| Event::Ack { place: 0, count, app_limited }),
        3 => (any::<u8>(), 1usize..60).prop_map(|(place, count)| Event::Lose { place, count }),
        1 => any::<u8>().prop_map(Event::Vanish),
        1 => any::<u8>().prop_map(Event::EcnCe),
        1 => Just(Event::Persistent),
        1 => Just(Event::Timeout),
        1 => Just(Event::Spurious),
        1 => Just(Event::PathChange),
        2 => Just(Event::Offer),
    ]
}

/// A connection, and the test's own record of it.
struct World<C> {
    resume: C,
    sent_packets: SentPackets,
    handle: ResumeHandle,
    now: Time,
    saved: SavedParameters,
    /// Numbers of the packets in flight, in ascending order.
    flight: Vec<u64>,
    /// Numbers of packets removed without a report.
    vanished: Vec<u64>,
    newest_acked: Option<u64>,
    /// First and last unvalidated packet at the retreat, and the window at that time.
    retreat: Option<(Option<u64>, Option<u64>, Bytes)>,
    retreats: u32,
    persistent: bool,
}

fn config() -> ControllerConfig {
    ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: Bytes::new(12_000),
        distance_m: None,
        rtt: None,
    }
}

fn reno() -> NewReno {
    NewReno::new(&config(), &newreno::Parameters::default())
}

impl World<CarefulResume> {
    fn new(mode: ResumeMode, saved: SavedParameters) -> Self {
        let handle = ResumeHandle::new();
        let values = resume::Parameters::default();
        World::around(
            CarefulResume::new(Box::new(reno()), mode, &config(), &values, handle.clone()),
            handle,
            saved,
        )
    }
}

impl<C: Controller> World<C> {
    fn around(resume: C, handle: ResumeHandle, saved: SavedParameters) -> Self {
        Self {
            resume,
            sent_packets: SentPackets::new(),
            handle,
            now: Time::ZERO,
            saved,
            flight: Vec::new(),
            vanished: Vec::new(),
            newest_acked: None,
            retreat: None,
            retreats: 0,
            persistent: false,
        }
    }

    fn send(&mut self) {
        let packet = self.sent_packets.on_sent(self.now, MTU);
        self.flight.push(packet.number);
        self.resume.on_packet_sent(&packet);
    }

    /// Removes up to `count` numbers from the flight, starting at the position `place`.
    fn take(&mut self, place: u8, count: usize) -> Vec<u64> {
        let from = self.flight.len() * usize::from(place) / 256;
        let to = (from + count).min(self.flight.len());
        self.flight.drain(from..to).collect()
    }

    fn ack(&mut self, place: u8, count: usize, app_limited: bool) {
        for number in self.take(place, count) {
            self.sent_packets.on_acked(self.now, number);
            self.newest_acked = self.newest_acked.max(Some(number));
        }
        self.sent_packets.report_ack(self.now, app_limited, |ack| self.resume.on_ack(ack));
    }

    fn lose(&mut self, place: u8, count: usize, persistent: bool) {
        for number in self.take(place, count) {
            self.sent_packets.on_lost(number);
            self.persistent |= persistent;
        }
        self.sent_packets.report_loss(self.now, persistent, |loss| self.resume.on_loss(loss));
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Wait(ms) => self.now += Span::from_millis(ms),
            Event::Send(count) => {
                for _ in 0..count {
                    if self.sent_packets.bytes_in_flight() + MTU > self.resume.send_control().cwnd {
                        break;
                    }
                    self.send();
                }
            }
            Event::SenderMetrics => self.send(),
            Event::Ack { place, count, app_limited } => self.ack(place, count, app_limited),
            Event::Lose { place, count } => self.lose(place, count, false),
            Event::Vanish(place) => {
                for number in self.take(place, 1) {
                    self.sent_packets
                        .set_bytes_in_flight(self.sent_packets.bytes_in_flight() - MTU);
                    self.vanished.push(number);
                }
            }
            Event::EcnCe(place) => {
                let newest = self.sent_packets.next_number() * u64::from(place) / 256;
                self.resume.on_ecn_ce(&EcnCe {
                    now: self.now,
                    newest,
                    bytes_in_flight: self.sent_packets.bytes_in_flight(),
                    next_number: self.sent_packets.next_number(),
                    marked: None,
                });
            }
            Event::Persistent => self.lose(0, usize::MAX / 2, true),
            Event::Timeout => self.resume.on_timeout(self.now),
            Event::Spurious => self.resume.on_spurious_loss(self.now),
            Event::PathChange => self.resume.on_path_change(&PathChange::unknown(self.now)),
            Event::Offer => {
                self.handle.offer(self.saved);
            }
        }
    }
}

impl World<CarefulResume> {
    /// Returns true if every unvalidated packet is acknowledged, lost or removed, or a packet from
    /// the last of them on was acknowledged.
    fn is_accounted_for(&self, first: Option<u64>, last: Option<u64>) -> bool {
        let (Some(first), Some(last)) = (first, last) else { return true };
        self.newest_acked >= Some(last)
            || !self
                .flight
                .iter()
                .chain(&self.vanished)
                .any(|number| (first..=last).contains(number))
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let window = self.resume.send_control().cwnd;
        prop_assert!(window >= minimum_window(MTU));
        prop_assert!(self.resume.send_control().pacing_rate.is_none_or(|rate| !rate.is_zero()));
        for step in self.handle.take_transitions() {
            if step.new == Phase::SafeRetreat {
                self.retreats += 1;
                prop_assert!(step.window <= step.pipesize.mul_f64(0.5).max(minimum_window(MTU)));
                prop_assert!(self.handle.retreated());
                self.retreat = Some((
                    step.first_unvalidated_packet,
                    step.last_unvalidated_packet,
                    step.window,
                ));
            }
        }
        prop_assert!(self.retreats <= 1);
        prop_assert_eq!(self.handle.retreated(), self.retreats == 1);
        if let Some((first, last, before)) = self.retreat {
            if !self.is_accounted_for(first, last) && !self.persistent {
                prop_assert_eq!(self.resume.resume_phase(), Phase::SafeRetreat);
            }
            if self.resume.resume_phase() == Phase::SafeRetreat {
                prop_assert!(window <= before, "{} after {}", window, before);
                self.retreat = Some((first, last, window));
            } else {
                self.retreat = None;
            }
        }
        Ok(())
    }
}

fn saved() -> impl Strategy<Value = SavedParameters> {
    let until = prop_oneof![
        4 => Just(None),
        1 => (0u64..20_000).prop_map(|ms| Some(Time::from_millis(ms))),
    ];
    let first = prop::option::weighted(0.2, 1u64..2_000);
    (1u64..3_000_000, 1u64..1_000, first, until).prop_map(
        |(window, rtt, first_rtt, valid_until)| SavedParameters {
            window: Bytes::new(window),
            rtt: Span::from_millis(rtt),
            first_rtt: first_rtt.map(Span::from_millis),
            valid_until,
        },
    )
}

/// Brings a connection just past the jump, which few random sequences reach.
fn jumped(world: &mut World<CarefulResume>) {
    world.handle.offer(world.saved);
    world.happen(&Event::Send(10));
    world.now += world.saved.rtt;
    world.ack(0, 10, false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_rules_of_the_phases_hold_for_any_events(
        saved in saved(),
        jump_first in any::<bool>(),
        events in prop::collection::vec(event(), 0..200),
    ) {
        let mut world = World::new(ResumeMode::Careful, saved);
        if jump_first {
            jumped(&mut world);
            world.check()?;
        }
        for event in &events {
            world.happen(event);
            world.check()?;
        }
    }

    #[test]
    fn it_ends_in_normal_once_all_packets_are_accounted_for(
        saved in saved(),
        vanishing in prop::option::of(any::<u8>()),
        events in prop::collection::vec(event(), 0..30),
        acknowledged in any::<bool>(),
    ) {
        let window = Bytes::new(600_000);
        let saved = SavedParameters { window, valid_until: None, ..saved };
        let mut world = World::new(ResumeMode::Careful, saved);
        jumped(&mut world);
        prop_assert_eq!(world.resume.resume_phase(), Phase::Unvalidated);
        if let Some(place) = vanishing {
            world.happen(&Event::Send(200));
            world.happen(&Event::Vanish(place));
        }
        for event in &events {
            world.happen(event);
        }
        world.now += Span::from_millis(1);
        if acknowledged {
            world.ack(0, usize::MAX / 2, false);
        } else {
            world.lose(0, usize::MAX / 2, false);
        }
        // Packets removed without a report count as gone two rounds later.
        for _ in 0..2 {
            world.send();
            world.now += Span::from_secs(20);
            world.ack(0, 1, false);
        }
        prop_assert_eq!(world.resume.resume_phase(), Phase::Normal);
    }

    #[test]
    fn the_other_modes_keep_a_window_and_report_no_phases(
        mode in prop_oneof![Just(ResumeMode::Observe), Just(ResumeMode::Jump)],
        saved in saved(),
        events in prop::collection::vec(event(), 0..200),
    ) {
        let mut world = World::new(mode, saved);
        for event in &events {
            world.happen(event);
            prop_assert!(world.resume.send_control().cwnd >= minimum_window(MTU));
            let pacing_rate = world.resume.send_control().pacing_rate;
            prop_assert!(pacing_rate.is_none_or(|rate| !rate.is_zero()));
            prop_assert_eq!(world.resume.resume_phase(), Phase::Normal);
        }
        prop_assert!(world.handle.take_transitions().is_empty());
    }

    #[test]
    fn observation_alone_does_not_change_the_controller(
        saved in saved(),
        events in prop::collection::vec(event(), 0..200),
    ) {
        let mut world = World::new(ResumeMode::Observe, saved);
        let mut plain = World::around(reno(), ResumeHandle::new(), saved);
        for event in &events {
            world.happen(event);
            plain.happen(event);
            prop_assert_eq!(world.resume.send_control().cwnd, plain.resume.send_control().cwnd);
        }
    }
}
