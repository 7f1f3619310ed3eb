//! Endpoints and proxies withstand any segments of a peer, and stay within their buffers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_congestion::{CongestionConfig, FastStart};
use bentpipe_link::Ecn;
use bentpipe_tcp::{
    EcnSupport, Endpoint, Flags, Leg, MakeController, Relay, Sack, Segment, TcpSettings,
};
use bentpipe_units::{Bytes, Span, Time};
use proptest::prelude::*;
use std::sync::Arc;

/// Size of every buffer in these tests.
const BUFFER: u64 = 100_000;

#[derive(Debug, Clone)]
enum Step {
    Arrive(Segment, Ecn, bool),
    Wait(Span),
    Write(u64),
    Consume(u64),
    Finish,
    Reset,
}

/// Mostly positions near those in use, and some others.
fn position() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0u64..10,
        8 => 0u64..200_000,
        1 => any::<u64>(),
        1 => (u64::MAX - 70_000)..=u64::MAX,
    ]
}

fn flags() -> impl Strategy<Value = Flags> {
    let usual = Flags { ack: true, ..Flags::default() };
    let any = any::<[bool; 6]>().prop_map(|[syn, fin, rst, ack, ece, cwr]| Flags {
        syn,
        fin,
        rst,
        ack,
        ece,
        cwr,
    });
    prop_oneof![6 => Just(usual), 2 => Just(Flags { fin: true, ..usual }), 1 => any]
}

fn segment() -> impl Strategy<Value = Segment> {
    let sack = proptest::collection::vec((position(), position()), 0..4);
    let timestamp = prop_oneof![0u64..10_000_000_000, any::<u64>()];
    (
        position(),
        position(),
        position(),
        timestamp.clone(),
        timestamp,
        prop_oneof![0u32..3000, any::<u32>()],
        flags(),
        sack,
        any::<u16>(),
    )
        .prop_map(|(seq, ack, window, timestamp, echo, len, flags, blocks, ce_packets)| {
            let mut sack = Sack::default();
            for (start, end) in blocks {
                sack.push(start, end);
            }
            let (timestamp, echo) = (Time::from_nanos(timestamp), Time::from_nanos(echo));
            Segment { seq, ack, window, timestamp, echo, len, flags, sack, ce_packets }
        })
}

fn step() -> impl Strategy<Value = Step> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ce)];
    prop_oneof![
        12 => (segment(), ecn, any::<bool>())
            .prop_map(|(segment, ecn, first)| Step::Arrive(segment, ecn, first)),
        4 => (0u64..3_000_000).prop_map(|micros| Step::Wait(Span::from_micros(micros))),
        2 => (0u64..200_000).prop_map(Step::Write),
        2 => (0u64..200_000).prop_map(Step::Consume),
        1 => Just(Step::Finish),
        1 => Just(Step::Reset),
    ]
}

fn settings() -> Arc<TcpSettings> {
    let buffer = Bytes::new(BUFFER);
    Arc::new(TcpSettings {
        receive_buffer: buffer,
        window_share: 1000,
        autotune: false,
        send_buffer: buffer,
        ecn: EcnSupport::Accurate { l4s: true },
        ..TcpSettings::default()
    })
}

fn controller() -> MakeController {
    let factory = CongestionConfig::default().factory().unwrap();
    Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None))
}

/// Returns the handshake of a peer that then sends arbitrary segments.
fn opening(answer: bool) -> Vec<Step> {
    let arrive = |flags, seq| {
        let segment = Segment {
            seq,
            ack: u64::from(answer || seq > 0),
            window: 65_535,
            flags,
            ..Segment::default()
        };
        Step::Arrive(segment, Ecn::NotEct, true)
    };
    let syn = Flags { syn: true, ack: answer, ..Flags::default() };
    vec![arrive(syn, 0), arrive(Flags { ack: true, ..Flags::default() }, 1)]
}

#[test]
fn a_window_beyond_all_positions_does_not_limit() {
    let now = Time::from_millis(1);
    let mut endpoint = Endpoint::listen(now, settings(), controller(), None);
    endpoint.write(now, BUFFER);
    let flags = Flags { ack: true, ..Flags::default() };
    let answer = Segment { seq: 1, ack: 1, window: u64::MAX, flags, ..Segment::default() };
    for segment in
        [Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() }, answer]
    {
        endpoint.handle_segment(now, &segment, Ecn::NotEct);
        while endpoint.poll_transmit(now).is_some() {}
    }
    assert_eq!(endpoint.record().data_segments, 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_endpoint_withstands_any_segments(
        connects in any::<bool>(),
        shakes in any::<bool>(),
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut now = Time::from_millis(1);
        let make = if connects { Endpoint::connect } else { Endpoint::listen };
        let mut endpoint = make(now, settings(), controller(), None);
        let opening = if shakes { opening(connects) } else { Vec::new() };
        for step in opening.into_iter().chain(steps) {
            match step {
                Step::Arrive(segment, ecn, _) => endpoint.handle_segment(now, &segment, ecn),
                Step::Wait(span) => {
                    now += span;
                    endpoint.handle_timeout(now);
                }
                Step::Write(bytes) => {
                    let room = endpoint.room();
                    let taken = endpoint.write(now, bytes);
                    prop_assert_eq!(taken, bytes.min(room));
                }
                Step::Consume(bytes) => endpoint.consume(now, bytes),
                Step::Finish => endpoint.finish(now),
                Step::Reset => endpoint.reset(now),
            }
            let mut sent = 0;
            while let Some(transmit) = endpoint.poll_transmit(now) {
                sent += 1;
                prop_assert!(sent < 1000, "endless transmission: {:?}", transmit);
                prop_assert!(transmit.segment.len <= 1448);
            }
            prop_assert!(endpoint.acknowledged() <= endpoint.written());
            prop_assert!(endpoint.written() - endpoint.acknowledged() <= BUFFER);
            prop_assert!(endpoint.consumed() <= endpoint.received());
            // The window field is rounded up to its unit.
            prop_assert!(endpoint.received() - endpoint.consumed() <= BUFFER + 1);
        }
    }

    #[test]
    fn a_proxy_withstands_any_segments_and_stays_within_its_buffer(
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut now = Time::from_millis(1);
        let ecn = EcnSupport::Accurate { l4s: true };
        let settings = Arc::new(TcpSettings { ecn, ..TcpSettings::default() });
        let make = controller();
        let buffer = Bytes::new(BUFFER);
        let mut relay =
            Relay::new(
                now,
                [settings.clone(), settings],
                [make.clone(), make],
                [None, None],
                buffer,
            );
        for step in opening(false).into_iter().chain(steps) {
            match step {
                Step::Arrive(segment, ecn, client) => {
                    let leg = if client { Leg::Client } else { Leg::Server };
                    relay.handle_segment(now, leg, &segment, ecn);
                }
                Step::Wait(span) => {
                    now += span;
                    relay.handle_timeout(now);
                }
                _ => {}
            }
            let mut sent = 0;
            while let Some(transmit) = relay.poll_transmit(now) {
                sent += 1;
                prop_assert!(sent < 1000, "endless transmission: {:?}", transmit);
            }
            for leg in [Leg::Client, Leg::Server] {
                prop_assert!(relay.buffered(leg) <= BUFFER && relay.max_buffered(leg) <= BUFFER);
            }
        }
    }
}
