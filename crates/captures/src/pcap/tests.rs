//! Captures made here: a download over 200 ms and 12 Mbps, as the server's interface sees it.

#![allow(clippy::unwrap_used)]

use crate::event::{CapturedConnection, Event, Side};
use crate::{CaptureError, account};
use bentpipe_timeseries::TimePart;
use bentpipe_units::Span;
use proptest::prelude::*;

const RTT_US: u64 = 200_000;
/// Time of a packet of 1500 bytes at 12 Mbps.
const PACKET_US: u64 = 1000;
const SEGMENT: u32 = 1448;

/// A segment: time in microseconds, and whether it is the client's.
#[derive(Clone, Default)]
struct Sent {
    at: u64,
    by_client: bool,
    syn: bool,
    seq: u32,
    ack: Option<u32>,
    length: u32,
    sack: Option<(u32, u32)>,
    data: Vec<u8>,
}

/// Returns an IPv4 packet with the first bytes of its data.
fn ip(sent: &Sent) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    if sent.syn {
        options = vec![3, 3, 7, 1];
    }
    if let Some((from, to)) = sent.sack {
        options.extend([1, 1, 5, 10]);
        options.extend(from.to_be_bytes());
        options.extend(to.to_be_bytes());
    }
    let header = 20 + options.len();
    let mut bytes = vec![0x45, 0];
    bytes.extend(u16::try_from(20 + header + sent.length as usize).unwrap().to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (from, to) = if sent.by_client { (client, server) } else { (server, client) };
    bytes.extend(from.into_iter().chain(to));
    let (from, to) = if sent.by_client { (50_000_u16, 80_u16) } else { (80, 50_000) };
    bytes.extend(from.to_be_bytes().into_iter().chain(to.to_be_bytes()));
    bytes.extend(sent.seq.to_be_bytes());
    bytes.extend(sent.ack.unwrap_or_default().to_be_bytes());
    let flags = if sent.syn { 2 } else { 0 } | if sent.ack.is_some() { 0x10 } else { 0 };
    bytes.extend([u8::try_from(header / 4).unwrap() << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.extend(&sent.data);
    bytes
}

fn pcap(sent: &[Sent]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(field.to_le_bytes());
    }
    for one in sent {
        let packet = ip(one);
        let (seconds, part) = (one.at / 1_000_000, one.at % 1_000_000);
        let length = packet.len() as u32;
        for field in [seconds as u32, part as u32, length, length + one.length] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn pcapng(sent: &[Sent]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len().next_multiple_of(4)) as u32;
        file.extend(kind.to_be_bytes().into_iter().chain(length.to_be_bytes()));
        file.extend(body);
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend(length.to_be_bytes());
    };
    let section = [0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    block(0x0a0d_0d0a, &section);
    // An interface of Ethernet with nanoseconds.
    block(1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0]);
    for one in sent {
        let mut frame = vec![0; 12];
        frame.extend([8, 0]);
        frame.extend(ip(one));
        let at = one.at * 1000;
        let mut body = vec![0; 4];
        body.extend(((at >> 32) as u32).to_be_bytes().into_iter().chain((at as u32).to_be_bytes()));
        body.extend((frame.len() as u32).to_be_bytes());
        body.extend((frame.len() as u32 + one.length).to_be_bytes());
        body.extend(frame);
        block(6, &body);
    }
    file
}

/// A download in slow start from ten segments on, of which each acknowledgement releases two.
fn download(count: u32) -> Vec<Sent> {
    let (client, server) = (1000_u32, u32::MAX - 20_000);
    let mut sent = vec![
        Sent { by_client: true, syn: true, seq: client, ..Sent::default() },
        Sent { at: 20, syn: true, seq: server, ack: Some(client + 1), ..Sent::default() },
    ];
    let data = server.wrapping_add(1);
    let request = Sent {
        at: RTT_US,
        by_client: true,
        seq: client + 1,
        ack: Some(data),
        length: 100,
        ..Sent::default()
    };
    sent.push(Sent { length: 0, ..request.clone() });
    sent.push(request);
    let position = |segment: u32| data.wrapping_add(segment * SEGMENT);
    let segment = |at: u64, number: u32| Sent {
        at,
        seq: position(number),
        ack: Some(client + 101),
        length: SEGMENT,
        ..Sent::default()
    };
    let mut next = 10;
    sent.extend((0..10).map(|number| segment(RTT_US + 50, number)));
    let mut link_free = RTT_US + 50;
    let mut acked = 0;
    while acked < count {
        // The times at which segments were sent decide when the link is free for each.
        let left = sent.iter().filter(|one| !one.by_client && one.length > 0).nth(acked as usize);
        link_free = link_free.max(left.unwrap().at) + PACKET_US;
        let at = link_free + RTT_US;
        acked += 1;
        sent.push(Sent {
            at,
            by_client: true,
            seq: client + 101,
            ack: Some(position(acked)),
            ..Sent::default()
        });
        for _ in 0..2 {
            if next < count {
                sent.push(segment(at, next));
                next += 1;
            }
        }
    }
    sent.sort_by_key(|one| one.at);
    sent
}

#[test]
fn a_download_is_explained_from_headers() {
    let sent = download(400);
    for bytes in [pcap(&sent), pcapng(&sent)] {
        let trace = CapturedConnection::parse(&bytes, &[]).unwrap();
        assert_eq!((trace.side, trace.unreadable), (Side::Server, 0));
        assert_eq!(trace.title, "TCP from 10.0.0.1:50000 to 10.0.0.2:80");
        let recorded = account(&trace, None).unwrap();
        assert_eq!(recorded.bytes.get(), 400 * u64::from(SEGMENT), "numbers wrap around");
        assert!(recorded.is_sender && !recorded.is_upload);
        let rtt = recorded.path.rtt.as_millis_f64();
        assert!((200.0..203.0).contains(&rtt), "{rtt} ms");
        let rate = recorded.path.rate.as_mbps_f64();
        assert!((11.5..12.5).contains(&rate), "{rate} Mbps");
        let total = recorded.completion.as_secs_f64();
        assert!((recorded.budget.total_s() - total).abs() < 1e-6);
        // Rounds of 10, 20, 40, 80 and 160 segments, each followed by an idle link.
        let idle = 5.0 * 0.2 - 0.310;
        let slow_start = recorded.budget.get(TimePart::SlowStart);
        assert!((slow_start - idle).abs() < 0.05 * idle, "{:?}", recorded.budget);
        assert!(recorded.notes.iter().any(|note| note.contains("no congestion windows")));
    }
}

#[test]
fn repeated_data_is_a_loss_and_sack_acknowledges() {
    let mut sent = download(20);
    // The eleventh segment is repeated after a SACK of the one behind it.
    let place = sent.iter().filter(|one| !one.by_client && one.length > 0).nth(10).unwrap();
    let (lost, again) = (place.seq, Sent { at: 2_000_000, ..place.clone() });
    sent.retain(|one| {
        !one.by_client || one.ack.is_none_or(|ack| ack.wrapping_sub(lost) as i32 <= 0)
    });
    sent.push(Sent {
        at: 1_900_000,
        by_client: true,
        seq: 1101,
        ack: Some(lost),
        sack: Some((lost.wrapping_add(SEGMENT), lost.wrapping_add(2 * SEGMENT))),
        ..Sent::default()
    });
    sent.push(again);
    let trace = CapturedConnection::parse(&pcap(&sent), &[]).unwrap();
    let lost: Vec<_> =
        trace.events.iter().filter(|(_, event)| matches!(event, Event::Lost(_))).collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].1, Event::Lost(11));
    let selective = trace.events.iter().any(
        |(_, event)| matches!(event, Event::Received(packet) if packet.acknowledged == [(12, 12)]),
    );
    assert!(selective);
}

#[test]
fn the_handshake_of_tls_is_not_the_application() {
    let mut sent = download(20);
    let client_hello = [0x16, 3, 1, 0, 95];
    let request = sent.iter().position(|one| one.by_client && one.length > 0).unwrap();
    sent[request].data = client_hello.to_vec();
    let mut finished = sent[request].clone();
    // Change cipher spec, then a record of application data, a round trip later.
    finished.at += 2 * RTT_US;
    finished.seq += 100;
    finished.data = vec![0x14, 3, 3, 0, 1, 1, 0x17, 3, 3, 0, 89];
    let begins = finished.at;
    sent.push(finished);
    sent.sort_by_key(|one| one.at);
    let trace = CapturedConnection::parse(&pcap(&sent), &[]).unwrap();
    let first = trace.first_application().unwrap();
    assert_eq!(first.since_start(), Span::from_micros(begins));
}

#[test]
fn what_cannot_be_explained_is_said() {
    let empty = CapturedConnection::parse(&pcap(&[]), &[]).unwrap_err();
    assert!(matches!(empty, CaptureError::NoConnection), "{empty}");
    // A datagram that begins as QUIC does, of a connection without keys.
    let mut file = pcap(&download(1)[..1]);
    let ip = 24 + 16;
    file[ip + 9] = 17;
    let length = (file.len() - ip - 20) as u16;
    file[ip + 24..ip + 26].copy_from_slice(&length.to_be_bytes());
    file[ip + 28..ip + 38].copy_from_slice(&[0xc0, 0, 0, 0, 1, 0, 0, 0, 1, 9]);
    let quic = CapturedConnection::parse(&file, &[]).unwrap_err().to_string();
    assert!(quic.contains("no keys") && quic.contains("`--keys FILE`"), "{quic}");
    // Without its begin, and cut within a packet.
    let late = pcap(&download(30)[3..]);
    let trace = CapturedConnection::parse(&late[..late.len() - 3], &[]).unwrap();
    assert_eq!(trace.unreadable, 1);
    assert!(trace.notes[0].contains("does not begin with the connection"));
}

proptest! {
    #[test]
    fn hostile_captures_are_read_or_refused(
        ng in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let sent = download(40);
        let mut bytes = if ng { pcapng(&sent) } else { pcap(&sent) };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(trace) = CapturedConnection::parse(&bytes, &[]) {
            prop_assert!(trace.events.is_sorted_by_key(|(at, _)| *at));
            if let Ok(recorded) = account(&trace, None) {
                let total = recorded.completion.as_secs_f64();
                prop_assert!((recorded.budget.total_s() - total).abs() <= 1e-6 * (1.0 + total));
            }
        }
    }
}
