//! Capacity allocation: delays by their arithmetic, conservation frame by frame, and fair shares
//! against an optimum computed apart.

mod common;

use bentpipe_link::{Ecn, Enqueue, Event, FrameShare, Link, Packet};
use bentpipe_units::{Bytes, Rate, Span, Time};
use common::{Arrival, PacketOutcome, direction, link, model, run};
use proptest::prelude::*;

const FRAME: Span = Span::from_micros(26_500);
const DELAY: Span = Span::from_millis(250);
/// 250 ms, 26.5 ms and 250 ms in whole frames.
const SCHEDULING: Span = Span::from_nanos(20 * FRAME.as_nanos());
/// A second in whole frames.
const SYNC: Span = Span::from_nanos(38 * FRAME.as_nanos());

/// A carrier of 10 Mbps with the timing of the presets.
fn carrier(allocation: &str) -> bentpipe_link::DirectionConfig {
    direction(&format!(
        "rate = \"10 Mbps\"\ndelay = \"250 ms\"\nqueue = \"100 MB\"\ncapacity_allocation = {{ \
            {allocation} }}"
    ))
}
fn rate() -> Rate {
    Rate::from_mbps(10)
}
fn sending(bytes: u64) -> Span {
    rate().time_for(Bytes::new(bytes))
}
fn at(at: Time, port: usize, bytes: u32) -> Arrival {
    Arrival { at, port, bytes, ecn: Ecn::NotEct }
}

/// Runs `arrivals` through `link`: what became of each in its order, and what became of each frame.
fn watch(
    mut link: Link<usize>,
    arrivals: &[Arrival],
    until: Time,
) -> (Vec<PacketOutcome>, Vec<FrameShare>) {
    assert!(link.record_frame_shares());
    let mut fates = run(&mut link, arrivals, |_| ());
    let frames = link.take_frame_shares(until).collect();
    fates.sort_by_key(|fate| fate.packet);
    (fates, frames)
}

#[test]
fn with_constant_capacity_a_packet_waits_for_the_next_frame_only() {
    for seed in 0..50 {
        let arrival = at(Time::from_millis(1000 + seed), 0, 1500);
        let (fates, frames) =
            watch(link(&carrier("cra = \"5 Mbps\""), seed, 1), &[arrival], Time::from_secs(3));
        let next = frames.iter().find(|frame| frame.begin > arrival.at).unwrap();
        assert!(next.begin.since(arrival.at) <= FRAME);
        assert_eq!(fates[0].at, next.begin + sending(1500) + DELAY);
    }
}

#[test]
fn a_first_packet_waits_for_its_turn_to_ask_and_for_a_plan() {
    for seed in 0..50 {
        // Pauses of odd lengths: each packet finds nothing under way, and another time within the
        // period.
        let arrivals: Vec<Arrival> =
            (0..8).map(|n| at(Time::from_millis(10 + n * 7_313), 0, 1500)).collect();
        let (fates, frames) =
            watch(link(&carrier("vbdc = \"100 kB\""), seed, 1), &arrivals, Time::from_secs(70));
        let given: Vec<&FrameShare> =
            frames.iter().filter(|frame| !frame.allocated.is_zero()).collect();
        assert_eq!(given.len(), arrivals.len());
        for ((arrival, fate), frame) in arrivals.iter().zip(&fates).zip(&given) {
            // Waiting to ask, up to a period (and never nothing: what comes in a frame is asked for
            // in the next); asking and being answered; sending.
            let asked = Time::ZERO + (frame.begin.since_start() - SCHEDULING);
            assert!(
                asked > arrival.at && asked.since(arrival.at) <= SYNC,
                "{asked} after {}",
                arrival.at
            );
            assert_eq!(frame.allocated, Bytes::new(1500));
            assert_eq!(fate.at, asked + SCHEDULING + sending(1500) + DELAY);
            // Turns come once in a period.
            assert_eq!(frame.begin.since(given[0].begin).as_nanos() % SYNC.as_nanos(), 0);
        }
    }
}

#[test]
fn a_first_packet_asked_for_as_a_rate_is_sent_as_that_rate_brings_it() {
    // r = B/T + B/MSL: it takes T·MSL/(T + MSL), 0.3807 s, for a packet of any size.
    let config = carrier("preset = \"dama\", cra = \"0 bps\", rbdc = \"2 Mbps\"");
    for bytes in [100, 1500, 9000] {
        let arrival = at(Time::from_millis(500), 0, bytes);
        let (fates, frames) = watch(link(&config, 3, 1), &[arrival], Time::from_secs(5));
        let first = frames.iter().position(|frame| !frame.requested.is_zero()).unwrap();
        let bits = u64::from(bytes) * 8;
        let rate = Rate::from_bps(
            (bits as f64 / SYNC.as_secs_f64()).ceil() as u64 + (bits as f64 / 0.6095).ceil() as u64,
        );
        let by = |frames: u64| rate.bytes_in(FRAME * frames).get();
        let last = (1..).find(|&frames| by(frames) >= bytes.into()).unwrap();
        let begin = frames[first].begin + FRAME * (last - 1);
        assert_eq!(fates[0].at, begin + sending(u64::from(bytes) - by(last - 1)) + DELAY);
        assert_eq!(last, 15, "0.3807 s in frames");
    }
}

/// Packets of 1250 bytes, `kbps` on average, from `from` to `to` milliseconds.
fn stream(port: usize, kbps: u64, from: u64, to: u64) -> Vec<Arrival> {
    let gap = Rate::from_bps(kbps * 1000).time_for(Bytes::new(1250));
    let count = (to - from) * 1_000_000 / gap.as_nanos();
    (0..count).map(|n| at(Time::from_millis(from) + gap * n, port, 1250)).collect()
}

fn merged(mut streams: Vec<Vec<Arrival>>) -> Vec<Arrival> {
    let mut all: Vec<Arrival> = streams.drain(..).flatten().collect();
    all.sort_by_key(|arrival| (arrival.at, arrival.port));
    all
}

#[test]
fn a_rate_that_is_kept_alive_leaves_the_jitter_of_frames_only() {
    let config = carrier("preset = \"dama\", cra = \"0 bps\", rbdc = \"2 Mbps\"");
    let arrivals = stream(0, 500, 0, 60_000);
    let (fates, _) = watch(link(&config, 1, 1), &arrivals, Time::from_secs(90));
    let waits = fates.iter().filter(|fate| arrivals[fate.packet].at > Time::from_secs(20));
    let waits: Vec<Span> =
        waits.map(|fate| fate.at.since(arrivals[fate.packet].at) - DELAY).collect();
    // To the next frame, and at most a frame more for what a rate of so many bytes a frame leaves
    // over: periods see a packet more or less than they sent for.
    let most = waits.iter().max().unwrap();
    assert!(*most <= FRAME * 2 + sending(1250), "{most}");
    let mean = waits.iter().fold(Span::ZERO, |sum, wait| sum + *wait) / waits.len() as u64;
    assert!(mean <= FRAME + FRAME / 2, "{mean}");
}

#[test]
fn a_rate_that_rises_is_followed_after_a_turn_and_one_scheduling_latency() {
    let config = carrier("preset = \"dama\", cra = \"0 bps\", rbdc = \"5 Mbps\"");
    for seed in 0..20 {
        let arrivals = merged(vec![stream(0, 500, 0, 30_000), stream(0, 1500, 20_000, 30_000)]);
        let (_, frames) = watch(link(&config, seed, 1), &arrivals, Time::from_secs(40));
        let step = Time::from_secs(20);
        let before = frames
            .iter()
            .filter(|f| f.begin > Time::from_secs(17) && f.begin < step)
            .map(|f| f.allocated)
            .max();
        let rise = frames
            .iter()
            .find(|f| f.begin > step && Some(f.allocated) > before.map(|b| b + Bytes::new(100)));
        let lag = rise.unwrap().begin.since(step);
        assert!(lag > SCHEDULING && lag <= SCHEDULING + SYNC + FRAME, "{lag}");
    }
}

#[test]
fn a_rate_that_nobody_asks_for_again_ends() {
    // The second request would say that it is over, one period later: it ends before, by its
    // timeout.
    let config = carrier("rbdc = \"2 Mbps\", timeout = \"265 ms\"");
    let (_, frames) = watch(link(&config, 1, 1), &[at(Time::ZERO, 0, 1500)], Time::from_secs(20));
    let first = frames.iter().position(|frame| !frame.requested.is_zero()).unwrap();
    assert!(frames[first..first + 10].iter().all(|frame| !frame.requested.is_zero()));
    assert!(frames[first + 10].requested.is_zero());
}

#[test]
fn free_capacity_serves_who_has_not_asked() {
    let arrival = at(Time::from_millis(700), 1, 1500);
    let (fates, frames) = watch(link(&carrier("fca = true"), 1, 4), &[arrival], Time::from_secs(2));
    let next = frames.iter().find(|frame| frame.begin > arrival.at).unwrap().begin;
    assert!(fates[0].at >= next + sending(1500) + DELAY && fates[0].at <= next + FRAME + DELAY);
    // 33,125 bytes a frame, a quarter each.
    assert!(
        frames
            .iter()
            .all(|frame| frame.allocated.get().abs_diff(8281) <= 1 && frame.requested.is_zero())
    );
}

const ALLOCATIONS: &[&str] = &[
    "cra = \"300 kbps\"",
    "rbdc = \"3 Mbps\", request_interval = \"100 ms\"",
    "vbdc = \"30 kB\", request_interval = \"60 ms\", request_delay = \"10 ms\", tbtp_delay = \"10 \
        ms\"",
    "cra = \"50 kbps\", rbdc = \"1 Mbps\", vbdc = \"10 kB\", request_interval = \"200 ms\"",
    "cra = \"3 Mbps\", rbdc = \"2 Mbps\", fca = true, frame = \"10 ms\"",
    "preset = \"dama-free\"",
];
const RATES: &[&str] = &[
    "\"2 Mbps\"",
    "{ schedule = [{ at = \"0 s\", rate = \"4 Mbps\" }, { at = \"333 ms\", rate = \"0 bps\" }, { at = \"600 ms\", rate = \"1 Mbps\" }], repeat = \"1100 ms\" }",
];

/// Bursts on four ports, with pauses that let allocations end.
fn any_arrivals(longest_s: u64) -> impl Strategy<Value = Vec<Arrival>> {
    let pause = 0..longest_s * 1_000_000_000;
    let gap =
        prop_oneof![4 => Just(0), 6 => 0u64..20_000_000, 1 => 0u64..1_000_000_000, 1 => pause];
    proptest::collection::vec((gap, 0usize..4, 20u32..3000), 1..200).prop_map(|packets| {
        let mut now = Time::ZERO;
        let arrival = |(gap, port, bytes)| {
            now += Span::from_nanos(gap);
            at(now, port, bytes)
        };
        packets.into_iter().map(arrival).collect()
    })
}

/// The level to which water rises: bisected, with no idea of how the link does it.
fn level(capacity: f64, demands: &[f64]) -> f64 {
    let (mut low, mut high) = (0.0, capacity);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if demands.iter().map(|demand| demand.min(middle)).sum::<f64>() > capacity {
            high = middle
        } else {
            low = middle
        }
    }
    low
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn capacity_is_conserved_frame_by_frame(
        allocation in proptest::sample::select(ALLOCATIONS), rate in proptest::sample::select(RATES), arrivals in any_arrivals(4), seed: u64,
    ) {
        let config = direction(&format!("rate = {rate}\ndelay = \"20 ms\"\nqueue = \"60 \
            kB\"\ncapacity_allocation = {{ {allocation} }}"));
        let model = model(&config);
        let mut link = link(&config, seed, 4);
        link.record_frame_shares();
        let (mut sent, mut last) = ([0; 4], Time::ZERO);
        let fates = run(&mut link, &arrivals, |_| ());
        // All frames are there: what is kept is longer than the test.
        let end = fates.last().map_or(Time::ZERO, |fate| fate.at);
        for frame in link.take_frame_shares(end).collect::<Vec<_>>().chunks(4) {
            let capacity = model.capacity(frame[0].begin, frame[0].begin + frame[0].length).get();
            let allocated: u64 = frame.iter().map(|share| share.allocated.get()).sum();
            prop_assert!(allocated <= capacity, "{} of {}", allocated, capacity);
            if config.allocation.dama().is_some_and(|dama| dama.fca) {
                prop_assert_eq!(allocated, capacity);
            }
            prop_assert!(frame[0].begin >= last);
            last = frame[0].begin + frame[0].length;
            for (port, share) in frame.iter().enumerate() {
                prop_assert_eq!(share.port, port);
                prop_assert!(share.used <= share.allocated);
                sent[port] += share.used.get();
            }
        }
        for (port, sent) in sent.iter().enumerate() {
            let counters = link.port_counters(port);
            prop_assert_eq!(*sent, counters.bytes_out, "port {}", port);
            prop_assert_eq!(counters.bytes_in, counters.bytes_out + counters.dropped_queue.bytes);
        }
    }

    #[test]
    fn rates_asked_for_are_shared_max_min_fairly(loads in proptest::collection::vec((100u64..2_000, 0u64..3), 4), seed: u64) {
        // Constantly, on and off, or not at all; asked for together, up to four times what there
        // is.
        let streams = loads.iter().enumerate().map(|(port, &(kbps, kind))| match kind {
            0 => stream(port, kbps, 0, 12_000),
            1 => merged(vec![stream(port, kbps, 0, 2_000), stream(port, kbps, 5_000, 8_000)]),
            _ => Vec::new(),
        });
        let config = direction("rate = \"2 Mbps\"\ndelay = \"250 ms\"\nqueue = \"100 \
            MB\"\ncapacity_allocation = { rbdc = \"2 Mbps\" }");
        let model = model(&config);
        let mut link = link(&config, seed, 4);
        link.record_frame_shares();
        let arrivals = merged(streams.collect());
        run(&mut link, &arrivals, |_| ());
        let mut crowded = 0;
        for frame in link.take_frame_shares(Time::from_secs(100)).collect::<Vec<_>>().chunks(4) {
            let capacity = model.capacity(frame[0].begin, frame[0].begin + frame[0].length).get() as f64;
            let demands: Vec<f64> = frame.iter().map(|share| share.requested.get() as f64).collect();
            let level = level(capacity, &demands);
            crowded += usize::from(demands.iter().sum::<f64>() > capacity);
            for (share, demand) in frame.iter().zip(&demands) {
                let optimum = demand.min(level);
                prop_assert!((share.allocated.get() as f64 - optimum).abs() <= 1.0, "{:?}, optimum \
                    {}", share, optimum);
            }
        }
        let asked: u64 = loads.iter().filter(|(_, kind)| *kind == 0).map(|(kbps, _)| kbps).sum();
        prop_assert!(asked <= 2_200 || crowded > 0, "{asked} kbps asked for");
    }

    #[test]
    fn frames_that_nobody_watches_are_left_out_without_a_trace(
        allocation in proptest::sample::select(ALLOCATIONS), rate in proptest::sample::select(RATES), arrivals in any_arrivals(100), seed: u64,
    ) {
        let config = direction(&format!("rate = {rate}\ndelay = \"20 ms\"\nqueue = \"60 \
            kB\"\ncapacity_allocation = {{ {allocation} }}"));
        let mut watched = link(&config, seed, 4);
        watched.record_frame_shares();
        let mut alone = link(&config, seed, 4);
        prop_assert_eq!(run(&mut watched, &arrivals, |_| ()), run(&mut alone, &arrivals, |_| ()));
    }
}

#[test]
fn terminals_that_want_more_share_what_the_others_leave() {
    // 2 Mbps for 0.2, 1.5 and 5 Mbps: 0.2, 0.9 and 0.9.
    let config = direction(
        "rate = \"2 Mbps\"\ndelay = \"250 ms\"\nqueue = \"200 kB\"\ncapacity_allocation = \
            { rbdc = \"2 Mbps\" }",
    );
    let arrivals = merged(vec![
        stream(0, 200, 0, 60_000),
        stream(1, 1500, 0, 60_000),
        stream(2, 5000, 0, 60_000),
    ]);
    let (fates, _) = watch(link(&config, 1, 3), &arrivals, Time::from_secs(90));
    let mut got = [0.0; 3];
    let (from, to) = (Time::from_secs(20), Time::from_secs(60));
    for fate in fates.iter().filter(|fate| fate.lost.is_none() && fate.at > from && fate.at <= to) {
        got[arrivals[fate.packet].port] += f64::from(fate.bytes) * 8.0 / 40e6;
    }
    for (got, wanted) in got.iter().zip([0.2, 0.9, 0.9]) {
        assert!((got - wanted).abs() < 0.01, "{got} Mbps, optimum {wanted}");
    }
}

#[test]
fn a_terminal_s_packets_can_be_taken_back_even_one_that_is_sent_in_pieces() {
    // 1500 bytes take two and a half of 625 bytes a frame.
    let mut link = link(&carrier("cra = \"200 kbps\", frame = \"25 ms\""), 1, 2);
    for number in 0..3 {
        let packet = Packet { bytes: 1500, ecn: Ecn::NotEct, payload: number };
        assert_eq!(link.enqueue(Time::ZERO, number % 2, packet), Enqueue::Queued);
    }
    assert_eq!(link.poll(Time::from_millis(40)), None);
    let mut back = Vec::new();
    link.withdraw(Time::from_millis(40), 0, true, |packet| back.push(packet.payload));
    assert_eq!(back, [0, 2]);
    assert_eq!(
        (link.port_counters(0).withdrawn.packets, link.port_counters(0).in_flight.packets),
        (2, 0)
    );
    assert_eq!((link.queue_bytes(), link.held()), (0, 1), "the other terminal's is being sent");
    let mut left = Vec::new();
    while let Some(due) = link.next_deadline() {
        left.extend(std::iter::from_fn(|| link.poll(due)));
    }
    assert!(matches!(left[..], [Event::Delivered { port: 1, .. }]), "{left:?}");
}
