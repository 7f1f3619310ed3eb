//! Paths that lose, duplicate, delay and reorder at random, readers that pause, and segments that
//! make no sense.

use crate::support;

use bentpipe_congestion::catalogue::CONTROLLERS;
use bentpipe_link::Ecn;
use bentpipe_link::random::stream;
use bentpipe_tcp::{
    AckPolicy, CloseReason, EcnSupport, Endpoint, Flags, Sack, Segment, TcpSettings,
};
use bentpipe_units::{Bytes, Span, Time};
use proptest::prelude::*;
use std::sync::Arc;
use support::{CLIENT, Pair, SERVER, Treatment, controller};

/// Impairments of a path, as fractions of the segments.
#[derive(Debug, Clone, Copy)]
struct Impairments {
    loss: f64,
    repeat: f64,
    late: f64,
    latest_ms: u64,
    mark: f64,
}

fn impairments() -> impl Strategy<Value = Impairments> {
    (0.0..0.25, 0.0..0.2, 0.0..0.4, 1u64..400, 0.0..0.1).prop_map(
        |(loss, repeat, late, latest_ms, mark)| Impairments { loss, repeat, late, latest_ms, mark },
    )
}

fn settings() -> impl Strategy<Value = TcpSettings> {
    (
        prop_oneof![3_000u64..20_000, 50_000u64..2_000_000],
        1_000u64..1_000_000,
        any::<(bool, bool, bool)>(),
        1u32..5,
        0u32..20,
        100u32..3000,
    )
        .prop_map(|(buffer, send, (ecn, autotune, coalesce), every, quick, segment)| {
            TcpSettings {
                segment,
                receive_buffer: Bytes::new(buffer.max(u64::from(segment) * 4)),
                receive_buffer_start: Bytes::new((buffer / 2).max(u64::from(segment) * 4)),
                send_buffer: Bytes::new(send),
                autotune,
                ecn: match (ecn, autotune) {
                    (false, _) => EcnSupport::Off,
                    (true, false) => EcnSupport::Classic,
                    (true, true) => EcnSupport::Accurate { l4s: every.is_multiple_of(2) },
                },
                ack: AckPolicy {
                    every,
                    quick,
                    coalesce: coalesce.then_some(Span::from_micros(300)),
                    ..AckPolicy::default()
                },
                // Up to a quarter of the segments are lost in each direction.
                syn_retries: 60,
                retries: 60,
                ..TcpSettings::default()
            }
        })
}

/// Mostly plausible numbers.
fn up_to(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..most, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

/// An action of the applications: time, bytes to write, and who reads from then on.
type Act = (u64, u64, u64, bool, bool);

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        impairments in impairments(),
        both in [settings(), settings()],
        which in 0..CONTROLLERS.len(),
        acts in proptest::collection::vec(
            (0u64..3000, 0u64..200_000, 0u64..20_000, any::<bool>(), any::<bool>()),
            1..8,
        ),
        seed in any::<u64>(),
        mbps in 1u64..50,
    ) {
        let path = Pair::path(mbps, Span::from_millis(30));
        let mut pair = Pair::new(both, CONTROLLERS[which].name, &path, seed);
        pair.logs = false;
        let mut random = stream(seed, 0, "impairments");
        pair.set_treatment(move |_| {
            let Impairments { loss, repeat, late, latest_ms, mark } = impairments;
            let draws = [loss, repeat, late, mark].map(|chance| random.chance(chance));
            let by = Span::from_micros(random.below(1000 * latest_ms));
            match draws {
                [true, ..] => Treatment::Drop,
                [_, true, ..] => Treatment::Twice,
                [_, _, true, _] => Treatment::Late(by),
                [.., true] => Treatment::Mark,
                _ => Treatment::Pass,
            }
        });
        let mut written = [0, 0];
        for (pause, server, client, client_reads, server_reads) in &acts as &[Act] {
            pair.applications[SERVER].to_write += server;
            pair.applications[CLIENT].to_write += client;
            written[SERVER] += server;
            written[CLIENT] += client;
            pair.applications[CLIENT].reads = *client_reads;
            pair.applications[SERVER].reads = *server_reads;
            let until = pair.now + Span::from_millis(*pause);
            pair.run(until);
            for from in [CLIENT, SERVER] {
                prop_assert!(pair.ends[1 - from].received() <= pair.ends[from].written());
                prop_assert!(pair.ends[from].acknowledged() <= pair.ends[1 - from].received());
            }
        }
        for application in &mut pair.applications {
            application.reads = true;
            application.finish = true;
        }
        let limit = pair.now + Span::from_secs(100_000);
        prop_assert!(pair.finish(limit), "unfinished at {}: {:#?}", pair.now, pair.ends);
        prop_assert_eq!([pair.ends[SERVER].received(), pair.ends[CLIENT].received()], written);
        prop_assert_eq!(pair.ends.each_ref().map(|end| end.acknowledged()), written);
        // No event remains.
        pair.run(limit);
        prop_assert_eq!(pair.ends.each_ref().map(|end| end.end()), [Some(CloseReason::Closed); 2]);
    }

    #[test]
    fn no_segment_makes_an_endpoint_panic_or_send_unwritten_data(
        segments in proptest::collection::vec(
            (
                (up_to(40_000), up_to(60_000), up_to(100_000), 0u32..4000, up_to(2_000_000_000)),
                any::<(bool, bool, bool, bool, bool)>(),
                proptest::collection::vec((up_to(60_000), up_to(60_000)), 0..3),
                0u64..500,
            ),
            1..80,
        ),
        which in 0..CONTROLLERS.len(),
        listens in any::<bool>(),
    ) {
        let accurate = which.is_multiple_of(2);
        let ecn =
            if accurate { EcnSupport::Accurate { l4s: true } } else { EcnSupport::Classic };
        let settings = Arc::new(TcpSettings { ecn, ..TcpSettings::default() });
        let make = controller(CONTROLLERS[which].name);
        let mut now = Time::ZERO;
        let mut end = if listens {
            Endpoint::listen(now, settings, make, None)
        } else {
            Endpoint::connect(now, settings, make, None)
        };
        end.write(now, 50_000);
        let (ece, cwr) = (listens || !accurate, listens || accurate);
        let open = Flags { syn: true, ack: !listens, ece, cwr, ..Flags::default() };
        let opening = Segment {
            ack: u64::from(!listens),
            window: 60_000,
            flags: open,
            ce_packets: 1,
            ..Segment::default()
        };
        end.handle_segment(now, &opening, Ecn::NotEct);
        for ((seq, ack, window, len, echo), (fin, syn, ece, cwr, ce), blocks, later) in segments {
            now += Span::from_millis(later);
            if end.next_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
            }
            let mut sack = Sack::default();
            for (from, to) in blocks {
                sack.push(from, to);
            }
            // A length with all bits set is possible, too. SYNs are rare, and a RST would end the
            // test.
            let len = if len == 3999 { u32::MAX } else { len };
            let flags = Flags { fin, syn: syn && seq < 1000, rst: false, ack: true, ece, cwr };
            let timestamp = if len.is_multiple_of(7) { Time::MAX } else { now };
            let echo = Time::from_nanos(echo);
            let ce_packets = (seq ^ ack) as u16;
            let fields = Segment { sack, ce_packets, ..Segment::default() };
            let segment =
                Segment { seq, ack, window, timestamp, echo, len, flags, ..fields };
            end.handle_segment(now, &segment, if ce { Ecn::Ce } else { Ecn::NotEct });
            let mut sent = 0;
            while let Some(transmit) = end.poll_transmit(now) {
                let segment = transmit.segment;
                let end = segment.seq + u64::from(segment.len);
                prop_assert!(segment.flags.syn || end <= 50_001, "{segment:?}");
                sent += 1;
                prop_assert!(sent < 1000);
            }
            prop_assert!(end.acknowledged() <= 50_000 && end.consumed() <= end.received());
            let waiting = end.received() - end.consumed();
            end.consume(now, waiting / 2);
        }
    }
}
