//! Properties of every link, whatever its configuration and traffic.

use crate::common;

use bentpipe_link::{DirectionConfig, DropCause, Ecn, Enqueue, Link, Packet};
use bentpipe_units::{Rate, Span, Time};
use common::{Arrival, PacketOutcome, direction, link, model, run};
use proptest::prelude::*;

const RATES: &[&str] = &[
    r#""10 Mbps""#,
    r#""1 Gbps""#,
    r#"{ schedule = [{ at = "0 s", rate = "20 Mbps" }, { at = "30 ms", rate = "2 Mbps" }] }"#,
    r#"{ schedule = [{ at = "0 s", rate = "0 bps" }, { at = "5 ms", rate = "20 Mbps" }, { at = "12 ms", rate = "500 kbps" }], repeat = "20 ms" }"#,
    r#"{ trace = "tests/data/delivery.trace" }"#,
];
const DELAYS: &[&str] = &[
    r#""0 s""#,
    r#""250 ms""#,
    r#"{ base = "250 ms", jitter = "50 ms" }"#,
    r#"{ base = "20 ms", jitter = "20 ms", distribution = "normal" }"#,
    r#"{ schedule = [{ at = "0 s", delay = "40 ms" }, { at = "50 ms", delay = "5 ms" }], repeat = "100 ms" }"#,
    r#"{ schedule = [{ at = "0 s", delay = "40 ms" }, { at = "50 ms", delay = "5 ms" }], interpolate = true }"#,
];
const LOOSE_DELAYS: &[&str] = &[
    r#"{ base = "250 ms", jitter = "50 ms", keep_order = false }"#,
    r#"{ base = "20 ms", jitter = "20 ms", distribution = "normal", keep_order = false }"#,
    r#"{ schedule = [{ at = "0 s", delay = "40 ms" }, { at = "50 ms", delay = "5 ms" }], keep_order = false }"#,
];
const LOSSES: &[&str] = &[
    "0",
    r#""10 %""#,
    r#""wifi-long""#,
    r#"[{ model = "gilbert-elliott", loss = 0.2, mean_burst = 3 }, { model = "periodic", every = 7 }, { model = "trace", file = "tests/data/loss.trace" }]"#,
    r#"{ model = "bernoulli", ratio = 0.5, active = [{ from = "10 ms", to = "20 ms" }], repeat = "40 ms" }"#,
];
const QUEUES: &[&str] = &[
    r#""0.01 BDP""#,
    r#""20 kB""#,
    r#""1 packet""#,
    r#""25 packets""#,
    r#""30 ms""#,
    r#"{ limit = "20 kB", aqm = "head-drop" }"#,
    r#"{ limit = "5 packets", aqm = "head-drop" }"#,
    r#"{ limit = "100 kB", aqm = "codel", target = "1 ms", interval = "10 ms" }"#,
    r#"{ limit = "100 kB", aqm = "codel", target = "1 ms", interval = "10 ms", ecn = true }"#,
];
const POLICERS: &[&str] =
    &["", r#"policer = "none""#, r#"policer = { rate = "4 Mbps", burst = "5 kB" }"#];
const METER: &str = r#"flow_meter = { rate = "3 Mbps", burst = "5 kB", queue = "4 packets" }"#;
const METER_AND_FRAME: &str = r#"frame = "26.5 ms"
flow_meter = { rate = "8 Mbps", burst = "15 kB", queue = "20 kB", expires = "30 ms" }"#;
const FRAMES: &[&str] = &["", "frame = \"0 s\"", "frame = \"26.5 ms\"", METER, METER_AND_FRAME];
const ALLOCATIONS: &[&str] = &[
    r#"capacity_allocation = "dama-free""#,
    r#"capacity_allocation = { cra = "500 kbps", rbdc = "2 Mbps", request_interval = "100 ms", request_delay = "5 ms", tbtp_delay = "5 ms" }"#,
    r#"capacity_allocation = { vbdc = "20 kB", frame = "5 ms", request_interval = "20 ms", request_delay = "10 ms", tbtp_delay = "10 ms" }"#,
];

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(texts)
}

/// Returns a direction, and whether packets keep their order: over all ports, or by port if
/// capacity is allocated.
fn any_direction() -> impl Strategy<Value = (DirectionConfig, bool)> {
    let delay = prop_oneof![
        3 => one_of(DELAYS).prop_map(|text| (text, true)),
        1 => one_of(LOOSE_DELAYS).prop_map(|text| (text, false)),
    ];
    // Allocation has its own frames, no meter, and needs a rate that can be planned.
    let sending = prop_oneof![
        3 => (one_of(RATES), one_of(FRAMES)),
        1 => (one_of(&RATES[..4]), one_of(ALLOCATIONS)),
    ];
    let parts = (sending, delay, one_of(LOSSES), one_of(QUEUES), one_of(POLICERS));
    parts.prop_map(|((rate, frame), (delay, in_order), loss, queue, policer)| {
        let text = format!(
            "rate = {rate}\ndelay = {delay}\nloss = {loss}\nqueue = {queue}\n{policer}\n{frame}"
        );
        (direction(&text), in_order)
    })
}

/// Returns packets of all sizes on three ports, some at the same instant, some after a pause.
fn any_arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let ecn = proptest::sample::select(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][..]);
    let gap = prop_oneof![3 => Just(0), 6 => 0u64..2_000_000, 1 => 0u64..200_000_000];
    proptest::collection::vec((gap, 0usize..3, 20u32..3000, ecn), 1..300).prop_map(|packets| {
        let mut at = Time::ZERO;
        let arrival = |(gap, port, bytes, ecn)| {
            at += Span::from_nanos(gap);
            Arrival { at, port, bytes, ecn }
        };
        packets.into_iter().map(arrival).collect()
    })
}

fn balances(link: &Link<usize>) -> Result<(), TestCaseError> {
    let mut sum = (0, 0);
    for port in 0..link.port_count() {
        let c = link.port_counters(port);
        let lost_packets =
            [c.dropped_policer, c.dropped_queue, c.dropped_aqm, c.dropped_loss, c.in_flight];
        let packets = c.packets_out + lost_packets.iter().map(|tally| tally.packets).sum::<u64>();
        let bytes = c.bytes_out + lost_packets.iter().map(|tally| tally.bytes).sum::<u64>();
        prop_assert_eq!((c.packets_in, c.bytes_in), (packets, bytes), "port {}: {:?}", port, c);
        sum.0 += packets;
        sum.1 += link.port_queue(port).bytes;
    }
    prop_assert_eq!(link.counters().packets_in, sum.0);
    prop_assert_eq!(link.queue_bytes(), sum.1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for(
        (config, in_order) in any_direction(),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        let mut link = link(&config, seed, 3);
        let mut balanced = Ok(());
        let outcomes = run(&mut link, &arrivals, |link| {
            balanced = balanced.clone().and_then(|()| balances(link));
        });
        balanced?;
        balances(&link)?;
        prop_assert_eq!(link.next_deadline(), None);
        prop_assert_eq!(link.counters().in_flight.packets, 0);
        prop_assert_eq!(link.queue_packets(), 0);

        // Every packet has exactly one outcome, with its size unchanged.
        let mut numbers: Vec<usize> = outcomes.iter().map(|outcome| outcome.packet).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..arrivals.len()).collect::<Vec<_>>());
        let sizes_match =
            outcomes.iter().all(|outcome| outcome.bytes == arrivals[outcome.packet].bytes);
        prop_assert!(sizes_match);

        // Drops are counted by their cause.
        let count = |wanted: fn(Option<DropCause>) -> bool| {
            outcomes.iter().filter(|outcome| wanted(outcome.lost)).count() as u64
        };
        let counters = link.counters();
        prop_assert_eq!(counters.packets_out, count(|cause| cause.is_none()));
        let by_policer = count(|cause| cause == Some(DropCause::Policer));
        prop_assert_eq!(counters.dropped_policer.packets, by_policer);
        let by_queue = count(|cause| cause == Some(DropCause::QueueFull));
        prop_assert_eq!(counters.dropped_queue.packets, by_queue);
        prop_assert_eq!(counters.dropped_aqm.packets, count(|cause| cause == Some(DropCause::Aqm)));
        let by_loss = count(|cause| matches!(cause, Some(DropCause::Loss(_))));
        prop_assert_eq!(counters.dropped_loss.packets, by_loss);
        let tallies: u64 = link.loss_tallies().map(|tally| tally.packets).sum();
        prop_assert_eq!(counters.dropped_loss.packets, tallies);

        // Only a queue that marks changes the ECN field, and only to CE.
        let sent = |outcome: &PacketOutcome| arrivals[outcome.packet].ecn;
        let changed: Vec<&PacketOutcome> =
            outcomes.iter().filter(|outcome| outcome.ecn != sent(outcome)).collect();
        prop_assert_eq!(changed.len() as u64, counters.marked_ce);
        let marked = |outcome: &&PacketOutcome| {
            outcome.ecn == Ecn::Ce && sent(outcome) != Ecn::NotEct
        };
        prop_assert!(changed.iter().all(marked));

        let delivered: Vec<&PacketOutcome> =
            outcomes.iter().filter(|outcome| outcome.lost.is_none()).collect();
        prop_assert!(delivered.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let ordered = |outcomes: &[&PacketOutcome]| {
            outcomes.windows(2).all(|pair| pair[0].packet < pair[1].packet)
        };
        if in_order && config.allocation.is_none() {
            prop_assert!(ordered(&delivered));
        } else if in_order {
            for port in 0..3 {
                let is_own = |outcome: &&&PacketOutcome| arrivals[outcome.packet].port == port;
                let own: Vec<&PacketOutcome> = delivered.iter().filter(is_own).copied().collect();
                prop_assert!(ordered(&own), "port {}", port);
            }
        }
    }

    #[test]
    fn littles_law_holds_for_the_queue(
        (config, _) in any_direction(),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        let mut link = link(&config, seed, 3);
        let check = |link: &Link<usize>, now: Time| {
            let time = link.queue_time(now);
            let equal = time.occupied_packets == time.waited_packets
                && time.occupied_bytes == time.waited_bytes;
            equal.then_some(time)
                .ok_or_else(|| TestCaseError::fail(format!("at {now}: {time:?}")))
        };
        let (mut law, mut number) = (Ok(()), 0);
        run(&mut link, &arrivals, |link| {
            let now = arrivals[number].at;
            number += 1;
            // The law holds at any time, also after the last event.
            for now in [now, now + Span::from_micros(700)] {
                law = law.clone().and_then(|()| check(link, now).map(|_| ()));
            }
            let held = link.held();
            if held != link.counters().in_flight.packets {
                let counted = link.counters().in_flight;
                let message = format!("{held} packets inside, counted {counted:?}");
                law = Err(TestCaseError::fail(message));
            }
        });
        law?;
        let end = check(&link, Time::from_secs(1_000_000))?;
        prop_assert_eq!(end, check(&link, Time::from_secs(2_000_000))?, "an empty queue adds \
            nothing");
    }

    #[test]
    fn no_more_leaves_than_the_transmitter_can_send(
        (config, _) in any_direction(),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        let model = model(&config);
        let outcomes = run(&mut link(&config, seed, 3), &arrivals, |_| ());
        let delivered: Vec<&PacketOutcome> =
            outcomes.iter().filter(|outcome| outcome.lost.is_none()).collect();
        let sent = |outcome: &PacketOutcome| outcome.at.saturating_sub(model.least_delay());
        let mut bytes = 0;
        for outcome in &delivered {
            bytes += u64::from(outcome.bytes);
            let earliest = arrivals[outcome.packet].at + model.least_delay();
            prop_assert!(outcome.at >= earliest, "{:?}", outcome);
            let capacity = model.capacity(arrivals[0].at, sent(outcome)).get();
            let at = outcome.at;
            prop_assert!(bytes <= capacity, "{} bytes by {}, capacity {}", bytes, at, capacity);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_outcomes(
        (config, _) in any_direction(),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        let first = run(&mut link(&config, seed, 3), &arrivals, |_| ());
        let second = run(&mut link(&config, seed, 3), &arrivals, |_| ());
        prop_assert_eq!(first, second);
    }

    #[test]
    fn late_polling_only_delays_the_reports(
        (config, _) in any_direction(),
        arrivals in any_arrivals(),
        seed: u64,
    ) {
        let on_time = run(&mut link(&config, seed, 3), &arrivals, |_| ());
        let mut late = link(&config, seed, 3);
        let mut refused = Vec::new();
        for (number, arrival) in arrivals.iter().enumerate() {
            let packet = Packet::new(arrival.bytes, arrival.ecn, number);
            let enqueued = late.enqueue(arrival.at, arrival.port, packet);
            if let Enqueue::Dropped(_, packet) = enqueued {
                refused.push(packet.payload);
            }
        }
        let mut told = Vec::new();
        while let Some(event) = late.poll(Time::from_secs(1_000_000)) {
            told.push(match event {
                bentpipe_link::Event::Delivered { packet, .. } => (packet.payload, None),
                bentpipe_link::Event::Lost { cause, packet, .. } => (packet.payload, Some(cause)),
            });
        }
        let expected: Vec<_> = on_time
            .iter()
            .filter(|outcome| outcome.refused)
            .map(|outcome| outcome.packet)
            .collect();
        prop_assert_eq!(refused, expected);
        let others: Vec<_> = on_time
            .iter()
            .filter(|outcome| !outcome.refused)
            .map(|outcome| (outcome.packet, outcome.lost))
            .collect();
        prop_assert_eq!(told, others);
    }

    #[test]
    fn queue_limits_are_never_exceeded(
        limit in 1u64..60_000,
        packets in 1u64..40,
        by_bytes: bool,
        aqm in proptest::sample::select(&["drop-tail", "head-drop", "codel"][..]),
        arrivals in any_arrivals(),
    ) {
        let size = if by_bytes { format!("{limit} B") } else { format!("{packets} packets") };
        let queue = format!("{{ limit = \"{size}\", aqm = \"{aqm}\" }}");
        let mut link = link(&direction(&format!("rate = \"5 Mbps\"\ndelay = \"1 ms\"\n\
             queue = {queue}")), 1, 3);
        let mut exceeded = false;
        let outcomes = run(&mut link, &arrivals, |link| {
            exceeded |= if by_bytes {
                link.queue_bytes() > limit
            } else {
                link.queue_packets() > packets
            };
        });
        prop_assert!(!exceeded);
        let counters = link.counters();
        let within = if by_bytes {
            counters.queue_max_bytes <= limit
        } else {
            counters.queue_max_packets <= packets
        };
        prop_assert!(within);
        // A dropped packet does not fit: nothing is dropped while fewer packets than the limit are
        // queued.
        if !by_bytes && counters.queue_max_packets < packets {
            prop_assert!(outcomes.iter().all(|outcome| outcome.lost != Some(DropCause::QueueFull)));
        }
    }

    #[test]
    fn no_packet_arrives_before_it_can(arrivals in any_arrivals()) {
        let config = direction("rate = \"10 Mbps\"\n\
             delay = { base = \"50 ms\", jitter = \"10 ms\", keep_order = false }\n\
             queue = \"1 BDP\"");
        let rate = Rate::from_mbps(10);
        let outcomes = run(&mut link(&config, 3, 3), &arrivals, |_| ());
        for outcome in outcomes.iter().filter(|outcome| outcome.lost.is_none()) {
            let arrival = arrivals[outcome.packet];
            let transmission = rate.time_for(bentpipe_units::Bytes::new(arrival.bytes.into()));
            let soonest = arrival.at + transmission + Span::from_millis(40);
            prop_assert!(outcome.at >= soonest);
        }
    }
}
