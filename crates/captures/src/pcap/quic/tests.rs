//! Captures of QUIC made here: a download over 200 ms and about 10 Mbps.

#![allow(clippy::unwrap_used)]

use super::kit::{Kit, Passing, SEGMENT, Shape, ack, key_log, pcap, stream};
use super::version::Kind;
use crate::event::{CapturedConnection, Event, Side};
use crate::{CaptureError, account};
use proptest::prelude::*;

fn trace(shape: Shape) -> CapturedConnection {
    let file = Kit::new(shape).download().pcap();
    CapturedConnection::parse(&file, &key_log()).unwrap()
}

/// Asserts that a capture with keys says what was played.
fn assert_download(what: &str, trace: &CapturedConnection, side: Side) {
    assert_eq!((trace.side, trace.unreadable), (side, 0), "{what}: {:?}", trace.notes);
    assert_eq!(trace.notes, Vec::<String>::new(), "{what}");
    let recorded = account(trace, None).unwrap();
    assert_eq!(recorded.bytes.get(), 400 * SEGMENT as u64, "{what}");
    assert_eq!(recorded.is_sender, side == Side::Server, "{what}");
    let rtt = recorded.path.rtt.as_millis_f64();
    assert!((200.0..203.0).contains(&rtt), "{what}: {rtt} ms");
    let rate = recorded.path.rate.as_mbps_f64();
    assert!((9.5..10.7).contains(&rate), "{what}: {rate} Mbps");
}

#[test]
fn versions_greased_bits_and_split_messages_are_read_at_both_ends() {
    let plain = Shape::default();
    let shapes = [
        ("plain", plain.clone()),
        ("greased", Shape { greased: true, ..plain.clone() }),
        ("split", Shape { hellos: 2, ..plain.clone() }),
        ("split in three", Shape { hellos: 3, ..plain.clone() }),
        ("version 2", Shape { version: 0x6b33_43cf, first_version: 0x6b33_43cf, ..plain.clone() }),
        ("from 1 to 2", Shape { version: 0x6b33_43cf, ..plain.clone() }),
        ("draft 29", Shape { version: 0xff00_001d, first_version: 0xff00_001d, ..plain.clone() }),
        ("draft 27", Shape { version: 0xff00_001b, first_version: 0xff00_001b, ..plain.clone() }),
        ("no ID at the client", Shape { ids: [0, 8], ..plain.clone() }),
        ("joined", Shape { joined: 4, greased: true, ..plain.clone() }),
        ("joined without an ID", Shape { joined: 4, ids: [0, 4], ..plain.clone() }),
        ("retry", Shape { retry: true, hellos: 2, ..plain.clone() }),
        ("negotiation", Shape { negotiation: true, ..plain.clone() }),
        ("another port", Shape { rebinds_at: 100, ..plain }),
    ];
    for (what, shape) in shapes {
        for (place, side) in [(0.0, Side::Client), (1.0, Side::Server)] {
            let trace = trace(Shape { place, ..shape.clone() });
            assert_download(what, &trace, side);
            assert_eq!(trace.title, "QUIC from 10.0.0.1:50000 to 10.0.0.2:443, example.org");
        }
    }
}

#[test]
fn a_capture_between_the_ends_says_so() {
    for (place, side) in [(0.3, Side::Client), (0.7, Side::Server)] {
        let trace = trace(Shape { place, hellos: 2, ..Shape::default() });
        assert_eq!((trace.side, trace.unreadable), (side, 0));
        assert!(trace.notes[0].contains("between the ends"), "{:?}", trace.notes);
    }
}

#[test]
fn the_handshake_announces_flow_control() {
    for place in [0.0, 1.0] {
        for keys in [key_log(), Vec::new()] {
            let file = Kit::new(Shape { place, ..Shape::default() }).download().pcap();
            let trace = CapturedConnection::parse(&file, &keys).unwrap();
            let of = |(_, event): &(_, Event)| match event {
                Event::Parameters(one) => Some((one.is_local, one.initial_max_data)),
                _ => None,
            };
            let announced: Vec<_> = trace.events.iter().filter_map(of).collect();
            // The client's are in the clear.
            let client = (place < 0.5, Some(9));
            let server = (place > 0.5, Some(8));
            let expected = if keys.is_empty() { vec![client] } else { vec![client, server] };
            assert_eq!(announced, expected, "at {place}");
        }
    }
}

#[test]
fn initial_and_handshake_packets_acknowledge_each_in_their_own_space() {
    let trace = trace(Shape::default());
    let numbers: Vec<u64> = trace
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Sent(packet) if !packet.is_application => Some(packet.number),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [0, 1 << 62]);
    let acknowledged: Vec<_> = trace
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Received(packet) if !packet.is_application => Some(&packet.acknowledged[..]),
            _ => None,
        })
        .collect();
    assert_eq!(acknowledged, [&[][..], &[(0, 0)], &[(1 << 62, 1 << 62)]]);
}

#[test]
fn of_several_secrets_those_that_open_are_used() {
    let file = Kit::new(Shape::default()).download().pcap();
    let text = String::from_utf8(key_log()).unwrap();
    // The same random number with other secrets before, and another connection's.
    let other: String =
        text.lines().map(|line| format!("{}00\n", &line[..line.len() - 2])).collect();
    let trace = CapturedConnection::parse(&file, format!("{other}{text}").as_bytes()).unwrap();
    assert_download("several", &trace, Side::Server);
    let renamed = text.replace("5a5a", "5b5b");
    let trace = CapturedConnection::parse(&file, renamed.as_bytes()).unwrap();
    assert_download("of another random number", &trace, Side::Server);
    let trace = CapturedConnection::parse(&file, other.as_bytes()).unwrap();
    assert!(trace.is_encrypted && trace.notes[0].contains("none that was given opens"));
}

/// Returns a capture of `file` with at most `kept` bytes of each packet.
fn cut(passing: &[Passing], kept: usize) -> Vec<u8> {
    let file = pcap(passing);
    let (mut rest, mut cut) = (&file[24..], file[..24].to_vec());
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let kept = kept.min(length);
        cut.extend(&rest[..8]);
        cut.extend((kept as u32).to_le_bytes());
        cut.extend(&rest[12..16 + kept]);
        rest = &rest[16 + length..];
    }
    cut
}

#[test]
fn without_keys_sizes_and_times_give_data_rtt_and_rate() {
    let plain = Shape::default();
    let shapes = [
        ("plain", plain.clone()),
        ("greased", Shape { greased: true, ..plain.clone() }),
        ("split", Shape { hellos: 2, ..plain.clone() }),
        ("joined", Shape { joined: 4, ..plain.clone() }),
        ("joined without an ID", Shape { joined: 4, ids: [0, 8], packets: 403, ..plain.clone() }),
        ("no ID", Shape { ids: [0, 4], ..plain.clone() }),
        ("spins", Shape { spins: true, ..plain }),
    ];
    for (what, shape) in shapes {
        for (place, side) in [(0.0, Side::Client), (1.0, Side::Server)] {
            let kit = Kit::new(Shape { place, ..shape.clone() }).download();
            let files = [kit.pcap(), cut(&kit.passing, 96)];
            for (is_cut, file) in files.iter().enumerate() {
                let what = format!("{what} at the {side:?}, cut {is_cut}");
                let trace = CapturedConnection::parse(file, &[]).unwrap();
                assert!(trace.is_encrypted && trace.unreadable == 0, "{what}");
                assert_eq!(trace.side, side, "{what}");
                let recorded = account(&trace, None).unwrap();
                let bytes = recorded.bytes.get() as f64 / (shape.packets as f64 * SEGMENT as f64);
                assert!((0.98..1.02).contains(&bytes), "{what}: {bytes} of the bytes");
                assert_eq!(recorded.is_sender, side == Side::Server, "{what}");
                let rtt = recorded.path.rtt.as_millis_f64();
                assert!((200.0..206.0).contains(&rtt), "{what}: {rtt} ms");
                // At the sender, a rate would be that of sending.
                let rate = recorded.path.rate.as_mbps_f64();
                let is_right = (9.5..10.7).contains(&rate);
                assert!(side == Side::Server || is_right, "{what}: {rate} Mbps");
                let says = |text: &str| trace.notes.iter().any(|note| note.contains(text));
                assert!(says("keys are missing") && says("which packets were lost"), "{what}");
                assert_eq!(says("changes of the spin bit"), shape.spins, "{:?}", trace.notes);
                assert_eq!(says("the spin bit does not spin"), !shape.spins, "{what}");
            }
        }
    }
}

#[test]
fn without_keys_requests_are_turns_and_probes_of_the_mtu_are_not_data() {
    let mut kit = Kit::new(Shape { packets: 20, ..Shape::default() }).download();
    let end = kit.passing.last().unwrap().0;
    // The client looks for the MTU, then asks again, and gets another answer.
    let probe = kit.short(0, false, &[0; 1400]);
    kit.send(end, 0, probe);
    let request = kit.short(0, false, &stream(100, 60));
    kit.send(end + 100_000, 0, request);
    let answer = kit.short(1, false, &stream(20 * SEGMENT as u64, 700));
    kit.send(end + 210_000, 1, answer);
    kit.passing.sort_by_key(|one| one.0);
    let trace = CapturedConnection::parse(&kit.pcap(), &[]).unwrap();
    let data = |event: &Event, received: bool| match event {
        Event::Received(packet) if received && packet.is_application => packet.stream_bytes(),
        Event::Sent(packet) if !received && packet.is_application => packet.stream_bytes(),
        _ => 0,
    };
    let requests: Vec<u64> =
        trace.events.iter().map(|(_, event)| data(event, true)).filter(|size| *size > 0).collect();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].abs_diff(100) < 3 && requests[1].abs_diff(60) < 3, "{requests:?}");
    let answers: u64 = trace.events.iter().map(|(_, event)| data(event, false)).sum();
    assert!((20 * 1200 + 700..20 * 1210 + 710).contains(&answers), "{answers}");
}

#[test]
fn without_keys_acknowledgements_that_are_padded_are_no_data() {
    let mut kit = Kit::new(Shape { packets: 4, ..Shape::default() }).download();
    let end = kit.passing.last().unwrap().0;
    for number in 0..60 {
        let acknowledgement = [ack(3), vec![0; 40]].concat();
        let packet = kit.short(0, false, &acknowledgement);
        kit.send(end + 1000 * number, 0, packet);
    }
    let trace = CapturedConnection::parse(&kit.pcap(), &[]).unwrap();
    let sizes = trace.received().map(|packet| packet.stream_bytes()).filter(|size| *size > 0);
    assert_eq!(sizes.count(), 1, "the request alone");
}

#[test]
fn connections_after_each_other_are_told_apart() {
    let first = Kit::new(Shape { packets: 20, ..Shape::default() }).download();
    let mut second = Kit::new(Shape { first_id: 0x33, ..Shape::default() }).download();
    second.passing.iter_mut().for_each(|one| one.0 += 10_000_000);
    let both: Vec<Passing> = first.passing.iter().chain(&second.passing).cloned().collect();
    let trace = CapturedConnection::parse(&pcap(&both), &key_log()).unwrap();
    assert_download("the second", &trace, Side::Server);
}

#[test]
fn other_protocols_over_udp_are_not_quic() {
    let datagram = |at: u64, by_client, content: &[u8]| (at, by_client, 50_000, content.to_vec());
    let mut passing = Vec::new();
    for number in 0..200_u8 {
        let at = u64::from(number) * 20_000;
        // DNS, RTP, WireGuard (transport data), DTLS, STUN, and what has a long header of a version
        // of QUIC but nothing else of it.
        passing.push(datagram(
            at,
            true,
            &[0, number, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 119, 119, 119],
        ));
        passing.push(datagram(at, true, &[&[0x80, 0, 0, number][..], &[7; 160]].concat()));
        passing.push(datagram(at, false, &[&[4, 0, 0, 0, number][..], &[9; 1400]].concat()));
        passing.push(datagram(at, true, &[&[0x17, 0xfe, 0xfd, 0, 1][..], &[5; 200]].concat()));
        passing.push(datagram(
            at,
            false,
            &[&[1, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42][..], &[2; 20]].concat(),
        ));
        passing.push(datagram(at, true, &[&[0xc0, 0, 0, 0, 1][..], &[0xff; 1200]].concat()));
    }
    let error = CapturedConnection::parse(&pcap(&passing), &key_log()).unwrap_err();
    assert!(matches!(error, CaptureError::NoConnection { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn hostile_captures_of_quic_are_read_or_refused(
        shape in 0_usize..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24),
        cut in any::<prop::sample::Index>(),
        has_keys in any::<bool>(),
    ) {
        let plain = Shape { packets: 40, ..Shape::default() };
        let shape = match shape {
            0 => plain,
            1 => Shape { hellos: 3, version: 0x6b33_43cf, retry: true, ..plain },
            2 => Shape { joined: 3, ids: [0, 4], greased: true, ..plain },
            _ => Shape { negotiation: true, rebinds_at: 20, spins: true, ..plain },
        };
        let mut bytes = Kit::new(shape).download().pcap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let keys = if has_keys { key_log() } else { Vec::new() };
        if let Ok(trace) = CapturedConnection::parse(&bytes, &keys) {
            prop_assert!(trace.events.is_sorted_by_key(|(at, _)| *at));
            prop_assert!(!trace.title.chars().any(char::is_control));
            if let Ok(recorded) = account(&trace, None) {
                let total = recorded.completion.as_secs_f64();
                let sum = recorded.budget.total_s();
                prop_assert!((sum - total).abs() <= 1e-6 * (1.0 + total), "{sum} of {total}");
            }
        }
    }
    #[test]
    fn hostile_frames_of_either_end_are_read_or_left_out(
        packets in proptest::collection::vec(
            (any::<bool>(), 0..3_usize, proptest::collection::vec(any::<u8>(), 4..60)),
            1..24,
        ),
    ) {
        let mut kit = Kit::new(Shape { packets: 20, ..Shape::default() }).download();
        for (number, (by_client, kind, frames)) in packets.iter().enumerate() {
            let sender = usize::from(!by_client);
            let packet = match kind {
                0 => kit.long(1, Kind::Initial, sender, frames),
                1 => kit.long(1, Kind::Handshake, sender, frames),
                _ => kit.short(sender, false, frames),
            };
            kit.send(700_000 + 10_000 * number as u64, sender, packet);
        }
        kit.passing.sort_by_key(|one| one.0);
        let trace = CapturedConnection::parse(&kit.pcap(), &key_log()).unwrap();
        prop_assert!(trace.events.is_sorted_by_key(|(at, _)| *at));
        if let Ok(recorded) = account(&trace, None) {
            let (sum, total) = (recorded.budget.total_s(), recorded.completion.as_secs_f64());
            prop_assert!((sum - total).abs() <= 1e-6 * (1.0 + total), "{sum} of {total}");
        }
    }
}
