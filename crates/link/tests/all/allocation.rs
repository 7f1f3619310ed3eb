//! Capacity allocation: delays computed by hand, conservation frame by frame, and fair shares
//! compared with an independent optimum.

use crate::common;

use bentpipe_link::{Ecn, Enqueue, Event, FrameShare, Link, Packet};
use bentpipe_units::{Bytes, Rate, Span, Time};
use common::{Arrival, PacketOutcome, direction, link, model, run};
use proptest::prelude::*;

const FRAME: Span = Span::from_micros(26_500);
const DELAY: Span = Span::from_millis(250);
/// Request, processing and plan (250 ms, 26.5 ms and 250 ms) in whole frames.
const SCHEDULING: Span = Span::from_nanos(20 * FRAME.as_nanos());
/// One second in whole frames.
const SYNC: Span = Span::from_nanos(38 * FRAME.as_nanos());

/// Returns a carrier of 10 Mbps with the timing of the presets.
fn carrier(allocation: &str) -> bentpipe_link::DirectionConfig {
    direction(&format!(
        "rate = \"10 Mbps\"\ndelay = \"250 ms\"\nqueue = \"100 MB\"\n\
         capacity_allocation = {{ {allocation} }}"
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

/// Runs `arrivals` through `link`. Returns the outcomes of all packets in the order of arrival, and
/// the shares of all frames.
fn watch(
    mut link: Link<usize>,
    arrivals: &[Arrival],
    until: Time,
) -> (Vec<PacketOutcome>, Vec<FrameShare>) {
    assert!(link.record_frame_shares());
    let mut outcomes = run(&mut link, arrivals, |_| ());
    let frames = link.take_frame_shares(until).collect();
    outcomes.sort_by_key(|outcome| outcome.packet);
    (outcomes, frames)
}

#[test]
fn with_constant_capacity_a_packet_waits_for_the_next_frame_only() {
    for seed in 0..50 {
        let arrival = at(Time::from_millis(1000 + seed), 0, 1500);
        let (outcomes, frames) =
            watch(link(&carrier("cra = \"5 Mbps\""), seed, 1), &[arrival], Time::from_secs(3));
        let next = frames.iter().find(|frame| frame.begin > arrival.at).unwrap();
        assert!(next.begin.since(arrival.at) <= FRAME);
        assert_eq!(outcomes[0].at, next.begin + sending(1500) + DELAY);
    }
}

#[test]
fn a_first_packet_waits_for_a_request_opportunity_and_a_plan() {
    for seed in 0..50 {
        // The odd intervals let each packet find an idle terminal, at a different time within the
        // period.
        let arrivals: Vec<Arrival> =
            (0..8).map(|n| at(Time::from_millis(10 + n * 7_313), 0, 1500)).collect();
        let (outcomes, frames) =
            watch(link(&carrier("vbdc = \"100 kB\""), seed, 1), &arrivals, Time::from_secs(70));
        let given: Vec<&FrameShare> =
            frames.iter().filter(|frame| !frame.allocated.is_zero()).collect();
        assert_eq!(given.len(), arrivals.len());
        for ((arrival, outcome), frame) in arrivals.iter().zip(&outcomes).zip(&given) {
            // Waits for the request opportunity (up to a period, but never zero, since arrivals in
            // a frame are requested in the next one), then for the plan, then for transmission.
            let asked = Time::ZERO + (frame.begin.since_start() - SCHEDULING);
            assert!(
                asked > arrival.at && asked.since(arrival.at) <= SYNC,
                "{asked} after {}",
                arrival.at
            );
            assert_eq!(frame.allocated, Bytes::new(1500));
            assert_eq!(outcome.at, asked + SCHEDULING + sending(1500) + DELAY);
            // Opportunities recur with the period.
            assert_eq!(frame.begin.since(given[0].begin).as_nanos() % SYNC.as_nanos(), 0);
        }
    }
}

#[test]
fn a_first_packet_requested_as_a_rate_is_sent_at_that_rate() {
    // r = B/T + B/MSL: a packet of any size takes T·MSL/(T + MSL), 0.3807 s.
    let config = carrier("preset = \"dama\", cra = \"0 bps\", rbdc = \"2 Mbps\"");
    for bytes in [100, 1500, 9000] {
        let arrival = at(Time::from_millis(500), 0, bytes);
        let (outcomes, frames) = watch(link(&config, 3, 1), &[arrival], Time::from_secs(5));
        let first = frames.iter().position(|frame| !frame.requested.is_zero()).unwrap();
        let bits = u64::from(bytes) * 8;
        let rate = Rate::from_bps(
            (bits as f64 / SYNC.as_secs_f64()).ceil() as u64 + (bits as f64 / 0.6095).ceil() as u64,
        );
        let by = |frames: u64| rate.bytes_in(FRAME * frames).get();
        let last = (1..).find(|&frames| by(frames) >= bytes.into()).unwrap();
        let begin = frames[first].begin + FRAME * (last - 1);
        assert_eq!(outcomes[0].at, begin + sending(u64::from(bytes) - by(last - 1)) + DELAY);
        assert_eq!(last, 15, "0.3807 s in frames");
    }
}

/// Returns packets of 1250 bytes, `kbps` on average, from `from` to `to` milliseconds.
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
fn a_renewed_rate_leaves_only_the_jitter_of_frames() {
    let config = carrier("preset = \"dama\", cra = \"0 bps\", rbdc = \"2 Mbps\"");
    let arrivals = stream(0, 500, 0, 60_000);
    let (outcomes, _) = watch(link(&config, 1, 1), &arrivals, Time::from_secs(90));
    let waits = outcomes.iter().filter(|outcome| arrivals[outcome.packet].at > Time::from_secs(20));
    let waits: Vec<Span> =
        waits.map(|outcome| outcome.at.since(arrivals[outcome.packet].at) - DELAY).collect();
    // Up to the next frame, plus at most one frame because of the whole bytes per frame: a period
    // sees up to one packet more or less than its rate carries.
    let most = waits.iter().max().unwrap();
    assert!(*most <= FRAME * 2 + sending(1250), "{most}");
    let mean = waits.iter().fold(Span::ZERO, |sum, wait| sum + *wait) / waits.len() as u64;
    assert!(mean <= FRAME + FRAME / 2, "{mean}");
}

#[test]
fn an_increased_rate_is_granted_after_a_request_opportunity_and_the_scheduling_latency() {
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
fn a_rate_without_renewal_expires() {
    // The second request would end the rate one period later; its timeout comes first.
    let config = carrier("rbdc = \"2 Mbps\", timeout = \"265 ms\"");
    let (_, frames) = watch(link(&config, 1, 1), &[at(Time::ZERO, 0, 1500)], Time::from_secs(20));
    let first = frames.iter().position(|frame| !frame.requested.is_zero()).unwrap();
    assert!(frames[first..first + 10].iter().all(|frame| !frame.requested.is_zero()));
    assert!(frames[first + 10].requested.is_zero());
}

#[test]
fn free_capacity_serves_terminals_without_requests() {
    let arrival = at(Time::from_millis(700), 1, 1500);
    let (outcomes, frames) =
        watch(link(&carrier("fca = true"), 1, 4), &[arrival], Time::from_secs(2));
    let next = frames.iter().find(|frame| frame.begin > arrival.at).unwrap().begin;
    assert!(
        outcomes[0].at >= next + sending(1500) + DELAY && outcomes[0].at <= next + FRAME + DELAY
    );
    // 33,125 bytes per frame, a quarter each.
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
    "{ schedule = [{ at = \"0 s\", rate = \"4 Mbps\" }, { at = \"333 ms\", rate = \"0 bps\" }, { \
     at = \"600 ms\", rate = \"1 Mbps\" }], repeat = \"1100 ms\" }",
];

/// Returns bursts on four ports, with pauses that let allocations end.
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

/// Returns the max-min fair share by bisection, independent of the link's algorithm.
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
        allocation in proptest::sample::select(ALLOCATIONS),
        rate in proptest::sample::select(RATES),
        arrivals in any_arrivals(4),
        seed: u64,
    ) {
        let config = direction(&format!("rate = {rate}\ndelay = \"20 ms\"\nqueue = \"60 kB\"\n\
             capacity_allocation = {{ {allocation} }}"));
        let model = model(&config);
        let mut link = link(&config, seed, 4);
        link.record_frame_shares();
        let (mut sent, mut last) = ([0; 4], Time::ZERO);
        let outcomes = run(&mut link, &arrivals, |_| ());
        // All frames are recorded: the limit exceeds the length of the test.
        let end = outcomes.last().map_or(Time::ZERO, |outcome| outcome.at);
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
    fn requested_rates_are_shared_max_min_fairly(
        loads in proptest::collection::vec((100u64..2_000, 0u64..3), 4),
        seed: u64,
    ) {
        // Constant, on and off, or idle. Together they request up to four times the capacity.
        let streams = loads.iter().enumerate().map(|(port, &(kbps, kind))| match kind {
            0 => stream(port, kbps, 0, 12_000),
            1 => merged(vec![stream(port, kbps, 0, 2_000), stream(port, kbps, 5_000, 8_000)]),
            _ => Vec::new(),
        });
        let config = direction("rate = \"2 Mbps\"\ndelay = \"250 ms\"\nqueue = \"100 MB\"\n\
             capacity_allocation = { rbdc = \"2 Mbps\" }");
        let model = model(&config);
        let mut link = link(&config, seed, 4);
        link.record_frame_shares();
        let arrivals = merged(streams.collect());
        run(&mut link, &arrivals, |_| ());
        let mut crowded = 0;
        for frame in link.take_frame_shares(Time::from_secs(100)).collect::<Vec<_>>().chunks(4) {
            let (begin, end) = (frame[0].begin, frame[0].begin + frame[0].length);
            let capacity = model.capacity(begin, end).get() as f64;
            let demands: Vec<f64> =
                frame.iter().map(|share| share.requested.get() as f64).collect();
            let level = level(capacity, &demands);
            crowded += usize::from(demands.iter().sum::<f64>() > capacity);
            for (share, demand) in frame.iter().zip(&demands) {
                let optimum = demand.min(level);
                prop_assert!((share.allocated.get() as f64 - optimum).abs() <= 1.0, "{:?}, optimum \
                    {}", share, optimum);
            }
        }
        let asked: u64 = loads.iter().filter(|(_, kind)| *kind == 0).map(|(kbps, _)| kbps).sum();
        prop_assert!(asked <= 2_200 || crowded > 0, "{asked} kbps requested");
    }

    #[test]
    fn skipping_frames_without_recording_has_no_effect(
        allocation in proptest::sample::select(ALLOCATIONS),
        rate in proptest::sample::select(RATES),
        arrivals in any_arrivals(100),
        seed: u64,
    ) {
        let config = direction(&format!("rate = {rate}\ndelay = \"20 ms\"\nqueue = \"60 kB\"\n\
             capacity_allocation = {{ {allocation} }}"));
        let mut watched = link(&config, seed, 4);
        watched.record_frame_shares();
        let mut alone = link(&config, seed, 4);
        prop_assert_eq!(run(&mut watched, &arrivals, |_| ()), run(&mut alone, &arrivals, |_| ()));
    }
}

#[test]
fn terminals_with_more_demand_share_the_rest() {
    // 2 Mbps for demands of 0.2, 1.5 and 5 Mbps: 0.2, 0.9 and 0.9.
    let config = direction(
        "rate = \"2 Mbps\"\ndelay = \"250 ms\"\nqueue = \"200 kB\"\n\
         capacity_allocation = { rbdc = \"2 Mbps\" }",
    );
    let arrivals = merged(vec![
        stream(0, 200, 0, 60_000),
        stream(1, 1500, 0, 60_000),
        stream(2, 5000, 0, 60_000),
    ]);
    let (outcomes, _) = watch(link(&config, 1, 3), &arrivals, Time::from_secs(90));
    let mut got = [0.0; 3];
    let (from, to) = (Time::from_secs(20), Time::from_secs(60));
    for outcome in outcomes
        .iter()
        .filter(|outcome| outcome.lost.is_none() && outcome.at > from && outcome.at <= to)
    {
        got[arrivals[outcome.packet].port] += f64::from(outcome.bytes) * 8.0 / 40e6;
    }
    for (got, wanted) in got.iter().zip([0.2, 0.9, 0.9]) {
        assert!((got - wanted).abs() < 0.01, "{got} Mbps, optimum {wanted}");
    }
}

#[test]
fn a_terminals_packets_can_be_withdrawn_even_if_partly_sent() {
    // 1500 bytes take two and a half frames of 625 bytes.
    let mut link = link(&carrier("cra = \"200 kbps\", frame = \"25 ms\""), 1, 2);
    for number in 0..3 {
        let packet = Packet::new(1500, Ecn::NotEct, number);
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
    assert_eq!((link.queue_bytes(), link.held()), (0, 1), "the other terminal's packet remains");
    let mut left = Vec::new();
    while let Some(due) = link.next_deadline() {
        left.extend(std::iter::from_fn(|| link.poll(due)));
    }
    assert!(matches!(left[..], [Event::Delivered { port: 1, .. }]), "{left:?}");
}
