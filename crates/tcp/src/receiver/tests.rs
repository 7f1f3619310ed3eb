use super::*;
use crate::segment::Flags;
use crate::settings::AckPolicy;
use bentpipe_units::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

const FULL: u32 = 1448;

fn opened(settings: &TcpSettings) -> Receiver {
    let mut receiver = Receiver::new(settings);
    receiver.open(Time::ZERO);
    receiver
}

/// Returns settings without quick acknowledgements.
fn settled() -> TcpSettings {
    TcpSettings { ack: AckPolicy { quick: 0, ..AckPolicy::default() }, ..TcpSettings::default() }
}

/// Returns settings with a fixed window of `bytes`.
fn fixed(bytes: u64) -> TcpSettings {
    TcpSettings {
        receive_buffer: Bytes::new(bytes),
        window_share: 1000,
        autotune: false,
        ..settled()
    }
}

fn data(seq: u64, len: u32) -> Segment {
    Segment { seq, len, flags: Flags { ack: true, ..Flags::default() }, ..Segment::default() }
}

/// Returns the acknowledgement, if one is due.
fn acknowledgement(receiver: &mut Receiver, now: Time) -> Option<Segment> {
    receiver.wants_ack(now).then(|| {
        let mut segment = data(1, 0);
        receiver.fill(now, &mut segment);
        segment
    })
}

fn blocks(segment: &Segment) -> Vec<(u64, u64)> {
    segment.sack.blocks(segment.ack).collect()
}

#[test]
fn segments_in_order_are_acknowledged_in_pairs() {
    let mut receiver = opened(&settled());
    let now = Time::from_millis(1);
    receiver.on_data(now, &data(1, FULL), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now), None);
    receiver.on_data(now, &data(1449, FULL), Ecn::NotEct);
    let ack = acknowledgement(&mut receiver, now).unwrap();
    assert_eq!((ack.ack, receiver.received()), (2897, 2896));
    assert_eq!(acknowledgement(&mut receiver, now), None);
}

#[test]
fn a_gap_and_its_filling_are_acknowledged_at_once() {
    let mut receiver = opened(&settled());
    let now = Time::from_millis(1);
    receiver.on_data(now, &data(1449, FULL), Ecn::NotEct);
    let ack = acknowledgement(&mut receiver, now).unwrap();
    assert_eq!((ack.ack, blocks(&ack)), (1, vec![(1449, 2897)]));
    receiver.on_data(now, &data(4345, FULL), Ecn::NotEct);
    assert_eq!(blocks(&acknowledgement(&mut receiver, now).unwrap()), [(4345, 5793), (1449, 2897)]);
    receiver.on_data(now, &data(1, FULL), Ecn::NotEct);
    let ack = acknowledgement(&mut receiver, now).unwrap();
    assert_eq!((ack.ack, blocks(&ack)), (2897, vec![(4345, 5793)]));
    receiver.on_data(now, &data(2897, FULL), Ecn::NotEct);
    let ack = acknowledgement(&mut receiver, now).unwrap();
    assert_eq!((ack.ack, ack.sack.is_empty()), (5793, true));
}

#[test]
fn a_duplicate_segment_is_acknowledged_at_once_and_reported() {
    let mut receiver = opened(&settled());
    let now = Time::from_millis(1);
    for seq in [1, 1449, 1449] {
        receiver.on_data(now, &data(seq, FULL), Ecn::NotEct);
    }
    let ack = acknowledgement(&mut receiver, now).unwrap();
    assert_eq!((ack.ack, blocks(&ack)), (2897, vec![(1449, 2897)]));
    assert_eq!((receiver.duplicates(), receiver.received()), (1, 2896));
}

#[test]
fn a_probe_of_a_closed_window_is_answered() {
    let mut receiver = opened(&fixed(2896));
    let now = Time::from_millis(1);
    receiver.on_data(now, &data(1, 2896), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().window, 0);
    // One byte beyond the window.
    receiver.on_data(now, &data(2897, 1), Ecn::NotEct);
    let ack = acknowledgement(&mut receiver, now).unwrap();
    assert_eq!((ack.ack, ack.window, receiver.received()), (2897, 0, 2896));
    // An acknowledgement at the expected position is not a probe.
    receiver.on_data(now, &data(2897, 0), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now), None);
}

#[test]
fn reading_a_full_window_sends_an_update() {
    let mut receiver = opened(&fixed(20_000));
    let now = Time::from_millis(1);
    receiver.on_data(now, &data(1, 20_000), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().window, 0);
    receiver.consume(now, 2895);
    assert_eq!(acknowledgement(&mut receiver, now), None);
    receiver.consume(now, 1);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().window, 2896);
    receiver.consume(now, u64::MAX);
    assert_eq!(receiver.consumed(), 20_000);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().window, 20_000);
}

#[test]
fn marks_are_echoed_until_the_peer_has_reduced() {
    let mut receiver = opened(&TcpSettings { ecn: EcnSupport::Classic, ..settled() });
    let now = Time::from_millis(1);
    receiver.on_data(now, &data(1, FULL), Ecn::Ce);
    assert!(acknowledgement(&mut receiver, now).unwrap().flags.ece);
    receiver.on_data(now, &data(1449, 2 * FULL), Ecn::Ect0);
    assert!(acknowledgement(&mut receiver, now).unwrap().flags.ece);
    receiver.on_cwr();
    receiver.on_data(now, &data(4345, 2 * FULL), Ecn::Ect0);
    assert!(!acknowledgement(&mut receiver, now).unwrap().flags.ece);
    // Without ECN there is no echo.
    let mut receiver = opened(&settled());
    receiver.on_data(now, &data(1, 2 * FULL), Ecn::Ce);
    assert!(!acknowledgement(&mut receiver, now).unwrap().flags.ece);
}

#[test]
fn the_echo_is_that_of_the_oldest_acknowledged_segment() {
    // RFC 7323 §4.3: (1) delayed acknowledgements, (2) a gap, (3) a filled gap.
    let mut receiver = opened(&settled());
    let at = |millis, seq| Segment { timestamp: Time::from_millis(millis), ..data(seq, FULL) };
    let now = Time::from_millis(100);
    receiver.on_data(now, &at(10, 1), Ecn::NotEct);
    receiver.on_data(now, &at(11, 1449), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().echo, Time::from_millis(10));
    receiver.on_data(now, &at(13, 4345), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().echo, Time::from_millis(10));
    receiver.on_data(now, &at(20, 2897), Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().echo, Time::from_millis(20));
}

#[test]
fn the_fin_is_acknowledged_at_once_and_does_not_count_as_data() {
    let mut receiver = opened(&settled());
    let now = Time::from_millis(1);
    let mut fin = data(1449, 100);
    fin.flags.fin = true;
    receiver.on_data(now, &fin, Ecn::NotEct);
    assert!(!receiver.finished());
    receiver.on_data(now, &data(1, FULL), Ecn::NotEct);
    assert!(receiver.finished());
    assert_eq!((receiver.received(), receiver.next_expected()), (1548, 1550));
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().ack, 1550);
    receiver.on_data(now, &fin, Ecn::NotEct);
    assert_eq!(acknowledgement(&mut receiver, now).unwrap().ack, 1550);
    receiver.consume(now, 9999);
    assert_eq!(receiver.consumed(), 1548);
}

#[test]
fn a_single_segment_is_acknowledged_after_the_delay() {
    let mut receiver = opened(&settled());
    receiver.on_data(Time::from_millis(1), &data(1, FULL), Ecn::NotEct);
    let due = receiver.next_timeout().unwrap();
    assert_eq!(due, Time::from_millis(41));
    receiver.handle_timeout(due);
    assert_eq!(acknowledgement(&mut receiver, due).unwrap().ack, 1449);
    assert_eq!(receiver.next_timeout(), None);
}

#[test]
fn before_the_handshake_no_data_is_accepted_and_windows_are_unscaled() {
    let mut receiver = Receiver::new(&fixed(1 << 20));
    receiver.on_data(Time::ZERO, &data(1, FULL), Ecn::NotEct);
    assert_eq!((receiver.received(), receiver.wants_ack(Time::ZERO)), (0, false));
    let mut syn = Segment {
        flags: Flags { syn: true, ack: true, ..Flags::default() },
        ack: 1,
        ..Segment::default()
    };
    receiver.fill(Time::ZERO, &mut syn);
    assert_eq!((syn.window, syn.ack), (65_535, 1));
}

/// Runs a sender that doubles its flight every RTT of 600 ms, as far as the window allows, starting
/// with ten segments over a link of 1 Gbps, for `flights` doublings. Returns its largest flight,
/// and the number of segments that only the window delayed.
fn slow_start(settings: &TcpSettings, flights: u32) -> (u64, u64) {
    let full = u64::from(FULL);
    let (way, apart) = (Span::from_millis(300), Span::from_micros(12));
    let mut receiver = opened(settings);
    // In order of arrival: data from the sender, acknowledgements from the receiver.
    let (mut data_on_way, mut acks_on_way) = (VecDeque::new(), VecDeque::new());
    let (mut sent, mut acked, mut edge, mut echo) = (1u64, 1u64, 65_536u64, Time::from_millis(1));
    let (mut window, mut most, mut held) = (10 * full, 0, 0);
    let mut now = Time::from_millis(600);
    let mut free = now;
    loop {
        while sent - acked < window {
            if sent + full > edge {
                held += 1;
                break;
            }
            free = free.max(now) + apart;
            data_on_way
                .push_back((free + way, Segment { timestamp: now, echo, ..data(sent, FULL) }));
            sent += full;
            most = most.max(sent - acked);
        }
        if window >= (10 * full) << flights {
            return (most, held);
        }
        let arrives = data_on_way.front().map_or(Time::MAX, |&(at, _)| at);
        let answered = acks_on_way.front().map_or(Time::MAX, |&(at, _): &(Time, Segment)| at);
        let timer = receiver.next_timeout().unwrap_or(Time::MAX);
        now = arrives.min(answered).min(timer);
        if now == answered {
            let (_, ack) = acks_on_way.pop_front().unwrap();
            window += ack.ack - acked;
            (acked, edge, echo) = (ack.ack, ack.ack + ack.window, ack.timestamp);
            continue;
        }
        if now == arrives {
            let (_, segment) = data_on_way.pop_front().unwrap();
            receiver.on_data(now, &segment, Ecn::NotEct);
            receiver.consume(now, u64::MAX);
        } else {
            receiver.handle_timeout(now);
        }
        if let Some(ack) = acknowledgement(&mut receiver, now) {
            acks_on_way.push_back((now + way, Segment { timestamp: now, ..ack }));
        }
    }
}

#[test]
fn slow_start_is_not_limited_by_the_window_until_the_largest_buffer() {
    for coalesce in [None, Some(Span::from_micros(100))] {
        let ack = AckPolicy { coalesce, ..AckPolicy::default() };
        // 10 segments doubled seven times are 1.9 MB; doubled once more, they exceed half of 6 MiB.
        let (most, held) = slow_start(&TcpSettings { ack, ..TcpSettings::default() }, 7);
        assert_eq!((most, held), ((10 * 1448) << 7, 0), "{coalesce:?}");
        let larger =
            TcpSettings { ack, receive_buffer: Bytes::new(64 << 20), ..TcpSettings::default() };
        let (most, held) = slow_start(&larger, 11);
        assert_eq!((most, held), ((10 * 1448) << 11, 0), "{coalesce:?}");
    }
}

#[test]
fn without_autotuning_the_window_limits_the_same_sender() {
    let small = TcpSettings { receive_buffer: Bytes::new(128 << 10), ..TcpSettings::default() };
    let (most, held) = slow_start(&small, 4);
    assert!(most <= 64 << 10 && held > 0, "{most} {held}");
}

proptest! {
    /// Segments of a stream arrive in any order, some twice, some cut differently the second time,
    /// in a window that holds them all: every byte counts once, and the acknowledgement is exactly
    /// the prefix.
    #[test]
    fn whatever_the_order_every_byte_arrives_once(
        order in proptest::collection::vec((0u64..60, 1u32..4, 0u32..3), 0..200),
        take in proptest::collection::vec(0u64..4000, 200),
    ) {
        let mut receiver = opened(&fixed(1 << 20));
        let mut arrived = [false; 300];
        let mut now = Time::ZERO;
        // A byte of the model represents a hundred of the stream.
        for (&(place, len, shift), &taken) in order.iter().zip(&take) {
            now += Span::from_millis(7);
            let start = place * 3 + u64::from(shift);
            receiver.on_data(now, &data(1 + start * 100, len * 100), Ecn::NotEct);
            arrived[start as usize..(start + u64::from(len)) as usize].fill(true);
            let prefix = arrived.iter().take_while(|&&byte| byte).count() as u64 * 100;
            prop_assert_eq!(receiver.received(), prefix);
            prop_assert_eq!(receiver.next_expected(), 1 + prefix);
            receiver.consume(now, taken);
            prop_assert!(receiver.consumed() <= receiver.received());
            if let Some(ack) = acknowledgement(&mut receiver, now) {
                prop_assert_eq!(ack.ack, 1 + prefix);
                prop_assert!(blocks(&ack).iter().all(|block| block.0 < block.1));
            }
        }
        // The rest, in order, then the FIN.
        for start in 0..300u64 {
            now += Span::from_millis(1);
            let mut segment = data(1 + start * 100, 100);
            segment.flags.fin = start == 299;
            receiver.on_data(now, &segment, Ecn::NotEct);
        }
        prop_assert_eq!(receiver.received(), 30_000);
        prop_assert!(receiver.finished());
    }

    /// No input panics, and accepted data never exceeds the promised window.
    #[test]
    fn whatever_a_segment_says_the_receiver_stands(
        segments in proptest::collection::vec(
            (
                any::<u64>(),
                0u64..100_000,
                any::<u32>(),
                any::<bool>(),
                any::<bool>(),
                any::<u64>(),
            ),
            0..60,
        ),
    ) {
        let mut receiver = opened(&TcpSettings { ecn: EcnSupport::Classic, ..fixed(50_000) });
        let mut now = Time::ZERO;
        for (far, near, len, fin, close, timestamp) in segments {
            now += Span::from_millis(1);
            let seq = if close { near } else { far };
            let len = if close { len % 3000 } else { len };
            let flags = Flags { fin, ack: true, ..Flags::default() };
            let timestamp = Time::from_nanos(timestamp);
            let segment =
                Segment { seq, len, flags, timestamp, echo: timestamp, ..Segment::default() };
            receiver.on_data(now, &segment, Ecn::Ce);
            receiver.handle_timeout(now);
            let promised = receiver.consumed() + 50_000;
            prop_assert!(receiver.received() <= promised);
            if let Some(ack) = acknowledgement(&mut receiver, now) {
                prop_assert!(ack.ack + ack.window <= 1 + 1 + promised + 1);
            }
            receiver.consume(now, near / 100);
        }
    }
}
