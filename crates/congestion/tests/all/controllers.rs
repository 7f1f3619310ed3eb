//! Invariants of every controller in the catalogue under any sequence of events: a window of at
//! least two packets (one for rate-based controllers), a rate above zero, no panic, and the same
//! limits for the same events.

use bentpipe_congestion::catalogue::{CONTROLLERS, LOSS_FILTERS, Registration};
use bentpipe_congestion::loss_filter::LossFilter;
use bentpipe_congestion::{
    ChangeProbe, Controller, ControllerConfig, EcnCe, ParameterValues, PathChange, PathChangeFeed,
    PathChangeLayer, PathChangeNotice, PathChangeResponse, Restart, SentPackets,
};
use bentpipe_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// An event that affects a sender. Packets are selected by fractions of 256 of the packets in
/// flight.
#[derive(Debug, Clone)]
enum Event {
    /// Time passes.
    Wait(Span),
    /// Up to this many packets are sent, as far as the window allows.
    Send(u16),
    /// The oldest packets in flight are acknowledged together.
    Ack {
        part: u8,
        app_limited: bool,
    },
    /// Packets after the oldest ones are acknowledged, as after reordering or loss.
    AckBehind {
        skip: u8,
        part: u8,
    },
    /// The oldest packets in flight are lost.
    Lose {
        part: u8,
        persistent: bool,
    },
    /// The newest acknowledged packet arrived with ECN-CE.
    EcnCe,
    Timeout,
    SpuriousLoss,
    AppLimited,
    PathChange {
        ago: Span,
        rtt_increase: Option<Span>,
    },
    Mtu(u16),
    Restart {
        window: u64,
        ssthresh: Option<u64>,
        rate: Option<u64>,
        min_rtt: Option<u64>,
        recovery_start: bool,
    },
}

/// Mostly realistic sizes, sometimes arbitrary ones.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0u64..10_000_000, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0u64..700_000_000).prop_map(|nanos| Event::Wait(Span::from_nanos(nanos))),
        1 => any::<u64>().prop_map(|nanos| Event::Wait(Span::from_nanos(nanos % (1 << 50)))),
        8 => (1u16..300).prop_map(Event::Send),
        8 => (any::<u8>(), prop::bool::weighted(0.2))
            .prop_map(|(part, app_limited)| Event::Ack { part, app_limited }),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(skip, part)| Event::AckBehind { skip, part }),
        2 => (any::<u8>(), prop::bool::weighted(0.2))
            .prop_map(|(part, persistent)| Event::Lose { part, persistent }),
        1 => Just(Event::EcnCe),
        1 => Just(Event::Timeout),
        1 => Just(Event::SpuriousLoss),
        1 => Just(Event::AppLimited),
        1 => (0u64..100_000_000, prop::option::of(size())).prop_map(|(ago, rtt_increase)| {
            Event::PathChange {
                ago: Span::from_nanos(ago),
                rtt_increase: rtt_increase.map(Span::from_nanos),
            }
        }),
        1 => (1u16..9_000).prop_map(Event::Mtu),
        1 => (
            size(),
            prop::option::of(size()),
            prop::option::of(size()),
            prop::option::of(size()),
            any::<bool>(),
        )
            .prop_map(|(window, ssthresh, rate, min_rtt, recovery_start)| {
                Event::Restart { window, ssthresh, rate, min_rtt, recovery_start }
            }),
    ]
}

/// A sender that keeps the call order of [`Controller`].
#[derive(Debug, Clone)]
struct Sender {
    sent_packets: SentPackets,
    now: Time,
    mtu: Bytes,
    /// Numbers of the packets in flight, in ascending order.
    flight: Vec<u64>,
    newest: u64,
}

impl Sender {
    fn new(config: &ControllerConfig) -> Self {
        Self {
            sent_packets: SentPackets::new(),
            now: config.now,
            mtu: config.mtu,
            flight: Vec::new(),
            newest: 0,
        }
    }

    /// Returns `part` 256ths of the packets in flight, after skipping `skip` 256ths; at least one
    /// if there is any.
    fn choose(&mut self, skip: u8, part: u8) -> Vec<u64> {
        let from = self.flight.len() * usize::from(skip) / 256;
        let many = (self.flight.len() * usize::from(part) / 256 + 1).min(self.flight.len() - from);
        self.flight.drain(from..from + many).collect()
    }

    fn acknowledge(&mut self, numbers: &[u64], app_limited: bool, controller: &mut dyn Controller) {
        for number in numbers {
            self.sent_packets.on_acked(self.now, *number);
            self.newest = self.newest.max(*number);
        }
        self.sent_packets.report_ack(self.now, app_limited, |ack| controller.on_ack(ack));
    }

    fn happen(&mut self, event: &Event, controller: &mut dyn Controller) {
        match *event {
            Event::Wait(span) => self.now += span,
            Event::Send(packets) => {
                for _ in 0..packets {
                    if self.sent_packets.bytes_in_flight() + self.mtu
                        > controller.send_control().cwnd
                    {
                        break;
                    }
                    let packet = self.sent_packets.on_sent(self.now, self.mtu);
                    self.flight.push(packet.number);
                    controller.on_packet_sent(&packet);
                }
            }
            Event::Ack { part, app_limited } => {
                let numbers = self.choose(0, part);
                self.acknowledge(&numbers, app_limited, controller);
            }
            Event::AckBehind { skip, part } => {
                let numbers = self.choose(skip, part);
                self.acknowledge(&numbers, false, controller);
            }
            Event::Lose { part, persistent } => {
                for number in self.choose(0, part) {
                    self.sent_packets.on_lost(number);
                }
                self.sent_packets
                    .report_loss(self.now, persistent, |loss| controller.on_loss(loss));
            }
            Event::EcnCe => controller.on_ecn_ce(&EcnCe {
                now: self.now,
                newest: self.newest,
                bytes_in_flight: self.sent_packets.bytes_in_flight(),
                next_number: self.sent_packets.next_number(),
                marked: None,
            }),
            Event::Timeout => controller.on_timeout(self.now),
            Event::SpuriousLoss => controller.on_spurious_loss(self.now),
            Event::AppLimited => self.sent_packets.set_app_limited(),
            Event::PathChange { ago, rtt_increase } => controller.on_path_change(&PathChange {
                now: self.now,
                since: self.now.saturating_sub(ago),
                rtt_increase,
            }),
            Event::Mtu(bytes) => {
                self.mtu = Bytes::new(bytes.into());
                controller.on_mtu_update(self.mtu);
            }
            Event::Restart { window, ssthresh, rate, min_rtt, recovery_start } => controller
                .restart(&Restart {
                    now: self.now,
                    window: Bytes::new(window),
                    ssthresh: ssthresh.map(Bytes::new),
                    rate: rate.map(Rate::from_bps),
                    min_rtt: min_rtt.map(Span::from_nanos),
                    recovery_start: if recovery_start {
                        self.sent_packets.next_number()
                    } else {
                        0
                    },
                }),
        }
    }
}

/// Returns all limits of a controller as text.
fn answers(controller: &dyn Controller) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {} {}",
        controller.send_control().cwnd,
        controller.send_control().ssthresh,
        controller.send_control().pacing_rate,
        controller.send_control().send_quantum,
        controller.send_control().in_slow_start,
        controller.send_control().phase
    )
}

/// Returns parameter values of a component, each at its position between the ends of its range;
/// without a position, the default.
fn values<T>(part: &Registration<T>, places: &[Option<f64>]) -> ParameterValues {
    let mut values = ParameterValues::defaults(part.parameters);
    for (parameter, place) in part.parameters.iter().zip(places) {
        if let Some(place) = place {
            let (low, high) = parameter.range;
            let value = (low + place * (high - low)).clamp(low, high);
            values.set(part.name, parameter.name, value).expect("positions stay within the range");
        }
    }
    values
}

type Filter = Option<&'static Registration<LossFilter>>;

/// Returns every controller, and window-based ones behind every loss filter.
fn parts() -> Vec<(&'static Registration<Box<dyn Controller>>, Filter)> {
    let alone = CONTROLLERS.iter().map(|part| (part, None));
    let based = CONTROLLERS.iter().filter(|part| ["newreno", "cubic"].contains(&part.name));
    let filtered = based.flat_map(|part| LOSS_FILTERS.iter().map(move |one| (part, Some(one))));
    alone.chain(filtered).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_controller_keeps_its_bounds_and_is_deterministic(
        mtu in 1u64..9_000,
        initial in 0u64..100_000,
        distance_m in prop::option::of(any::<u64>()),
        places in prop::collection::vec(prop::option::weighted(0.3, 0.0..=1.0f64), 40),
        events in prop::collection::vec(event(), 1..150),
        copied in 0usize..150,
    ) {
        let (mtu, initial_window) = (Bytes::new(mtu), Bytes::new(initial));
        let config =
            ControllerConfig { now: Time::ZERO, mtu, initial_window, distance_m, rtt: None };
        for (part, filter) in parts() {
            let made = || {
                let controller = (part.make)(&config, &values(part, &places));
                match filter {
                    Some(filter) => {
                        let made = (filter.make)(&config, &values(filter, &places));
                        made.before(controller)
                    }
                    None => controller,
                }
            };
            let (mut controller, mut again) = (made(), made());
            let (mut sender, mut other) = (Sender::new(&config), Sender::new(&config));
            for (index, event) in events.iter().enumerate() {
                if index == copied {
                    again = controller.clone_box();
                }
                sender.happen(event, controller.as_mut());
                other.happen(event, again.as_mut());
                let window = controller.send_control().cwnd;
                // RFC 9002 §7.2; one packet for rate-based controllers, which a timeout reduces to
                // the flight plus one packet (draft-ietf-ccwg-bbr, OnEnterRTO).
                let packets = if controller.rate_based().is_some() { 1 } else { 2 };
                let least = Bytes::new(packets * sender.mtu.get());
                prop_assert!(window >= least, "{}: {window} after {event:?}", part.name);
                let rate = controller.send_control().pacing_rate;
                prop_assert!(rate.is_none_or(|rate| !rate.is_zero()), "{}: no rate after \
                    {event:?}", part.name);
                let quantum = controller.send_control().send_quantum;
                prop_assert!(
                    quantum.is_none_or(|quantum| !quantum.is_zero()),
                    "{}: zero quantum",
                    part.name
                );
                prop_assert_eq!(answers(controller.as_ref()), answers(again.as_ref()), "{} after \
                    {:?}", part.name, event);
            }
        }
    }
}

/// Returns an arbitrary announcement at any time of these event sequences.
fn notice() -> impl Strategy<Value = PathChangeNotice> {
    let round_trip = || prop::option::of((0u64..300_000_000).prop_map(Span::from_nanos));
    (0u64..30_000, round_trip(), round_trip(), prop::option::of(size()), 0u64..2_000).prop_map(
        |(at, rtt_before, rtt_after, rate, outage)| PathChangeNotice {
            at: Time::from_millis(at),
            rtt_before,
            rtt_after,
            rate_after: rate.map(Rate::from_bps),
            outage: Span::from_millis(outage),
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_announcements_do_not_break_the_bounds_of_any_controller(
        events in prop::collection::vec(event(), 1..150),
        notices in prop::collection::vec(notice(), 1..20),
    ) {
        let config =
            ControllerConfig {
                now: Time::ZERO,
                mtu: Bytes::new(1_200),
                initial_window: Bytes::new(12_000),
                distance_m: None,
                rtt: None,
            };
        let uses = PathChangeResponse {
            shift_rtt: true,
            suppress_loss: true,
            pre_drain: true,
            probe: ChangeProbe::Model,
        };
        for part in CONTROLLERS {
            let feed = PathChangeFeed::new();
            notices.iter().for_each(|notice| feed.announce(*notice));
            let inner = (part.make)(&config, &ParameterValues::defaults(part.parameters));
            let mut controller = PathChangeLayer::new(inner, feed, uses, &config);
            let mut sender = Sender::new(&config);
            for event in &events {
                sender.happen(event, &mut controller);
                let packets = if controller.rate_based().is_some() { 1 } else { 2 };
                let window = controller.send_control().cwnd;
                let least = Bytes::new(packets * sender.mtu.get());
                prop_assert!(window >= least, "{}: {window} after {event:?}", part.name);
                let rate = controller.send_control().pacing_rate;
                prop_assert!(rate.is_none_or(|rate| !rate.is_zero()), "{}: no rate after \
                    {event:?}", part.name);
            }
        }
    }
}

/// Sends `rounds` windows, of which every packet arrives after 100 ms.
fn transfer(controller: &mut dyn Controller, sender: &mut Sender, rounds: u32) {
    for _ in 0..rounds {
        sender.happen(&Event::Send(2_000), controller);
        sender.now += Span::from_millis(100);
        while !sender.flight.is_empty() {
            sender.happen(&Event::Ack { part: 0, app_limited: false }, controller);
        }
    }
}

fn made(part: &Registration<Box<dyn Controller>>) -> (Box<dyn Controller>, Sender) {
    let (mtu, initial_window) = (Bytes::new(1_200), Bytes::new(12_000));
    let config = ControllerConfig {
        now: Time::ZERO,
        mtu,
        initial_window,
        distance_m: Some(6_000_000),
        rtt: None,
    };
    ((part.make)(&config, &ParameterValues::defaults(part.parameters)), Sender::new(&config))
}

#[test]
fn every_controller_grows_on_a_path_without_queue_or_loss() {
    for part in CONTROLLERS {
        let (mut controller, mut sender) = made(part);
        transfer(controller.as_mut(), &mut sender, 6);
        // LEDBAT++ begins with two packets, others with ten.
        let least = if part.name == "ledbat++" { 20_000 } else { 48_000 };
        assert!(
            controller.send_control().cwnd > Bytes::new(least),
            "{}: {}",
            part.name,
            controller.send_control().cwnd
        );
    }
}

#[test]
fn every_searching_controller_continues_from_the_restart_of_a_layer() {
    for part in CONTROLLERS.iter().filter(|part| part.name != "fixed-rate") {
        let (mut controller, mut sender) = made(part);
        transfer(controller.as_mut(), &mut sender, 2);
        let window = Bytes::new(600_000);
        controller.restart(&Restart {
            now: sender.now,
            window,
            ssthresh: Some(window),
            rate: Some(Rate::over(window, Span::from_millis(100))),
            min_rtt: Some(Span::from_millis(100)),
            recovery_start: sender.sent_packets.next_number(),
        });
        assert!(
            !controller.send_control().in_slow_start,
            "{}: {}",
            part.name,
            controller.send_control().phase
        );
        let set = controller.send_control().cwnd;
        assert!(set >= Bytes::new(500_000) && set <= Bytes::new(1_300_000), "{}: {set}", part.name);
    }
}

#[test]
fn a_loss_before_recovery_start_causes_no_second_reduction() {
    for part in CONTROLLERS {
        let (mut controller, mut sender) = made(part);
        transfer(controller.as_mut(), &mut sender, 2);
        sender.happen(&Event::Send(10), controller.as_mut());
        let (window, recovery_start) = (Bytes::new(60_000), sender.sent_packets.next_number());
        let (now, ssthresh) = (sender.now, Some(window));
        controller.restart(&Restart {
            now,
            window,
            ssthresh,
            rate: None,
            min_rtt: None,
            recovery_start,
        });
        let before = controller.send_control().cwnd;
        sender.happen(&Event::Lose { part: 50, persistent: false }, controller.as_mut());
        sender.happen(&Event::EcnCe, controller.as_mut());
        assert_eq!(controller.send_control().cwnd, before, "{}", part.name);
    }
}

#[test]
fn no_window_grows_while_the_application_limits_the_sender() {
    for part in CONTROLLERS {
        let (mut controller, mut sender) = made(part);
        // The path model bounds the window of these (draft-ietf-ccwg-bbr, cwnd); their samples are
        // marked as application-limited instead.
        if controller.rate_based().is_some() {
            continue;
        }
        let window = controller.send_control().cwnd;
        for _ in 0..20 {
            sender.happen(&Event::AppLimited, controller.as_mut());
            sender.happen(&Event::Send(2), controller.as_mut());
            sender.now += Span::from_millis(100);
            sender.happen(&Event::Ack { part: 255, app_limited: true }, controller.as_mut());
        }
        assert!(
            controller.send_control().cwnd <= window,
            "{}: {} from {window}",
            part.name,
            controller.send_control().cwnd
        );
    }
}
