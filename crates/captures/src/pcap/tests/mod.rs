//! Whole captures, made here.

#![allow(clippy::unwrap_used)]

mod contents;
mod files;
mod layers;
mod recordings;
pub mod samples;
mod tcp;

use crate::event::{CapturedConnection, Event, Side};
use crate::{CaptureError, account};
use bentpipe_timeseries::TimePart;
use bentpipe_units::Span;
use proptest::prelude::*;
use samples::{RTT_US, SEGMENT, Sent, download, pcap, pcapng};

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
        assert!((199.9..203.0).contains(&rtt), "{rtt} ms");
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
    assert!(matches!(empty, CaptureError::NoConnection { .. }), "{empty}");
    // A datagram that begins as QUIC does, of a connection without keys.
    let mut file = pcap(&download(1)[..1]);
    let ip = 24 + 16;
    file[ip + 9] = 17;
    let length = (file.len() - ip - 20) as u16;
    file[ip + 24..ip + 26].copy_from_slice(&length.to_be_bytes());
    file[ip + 28..ip + 38].copy_from_slice(&[0xc0, 0, 0, 0, 1, 0, 0, 0, 1, 9]);
    let quic = CapturedConnection::parse(&file, &[]).unwrap();
    assert!(quic.is_encrypted && quic.notes.iter().any(|note| note.contains("keys are missing")));
    assert!(account(&quic, None).is_err(), "it has no data");
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
