//! Forms of capture files.

use super::samples::{Sent, block, download, ip, pcap};
use crate::{CaptureError, CapturedConnection, Recording};
use bentpipe_units::Span;

/// Returns a pcapng file in which the interface has `options` and `body` makes each packet's block.
fn pcapng_with(options: &[u8], sent: &[Sent], body: impl Fn(&Sent) -> (u32, Vec<u8>)) -> Vec<u8> {
    let mut file = Vec::new();
    let section = [0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    block(&mut file, 0x0a0d_0d0a, &section);
    // Raw IP, at most 120 bytes of each packet.
    block(&mut file, 1, &[&[0, 101, 0, 0, 0, 0, 0, 120], options].concat());
    for one in sent {
        let (kind, body) = body(one);
        block(&mut file, kind, &body);
    }
    file
}

fn packet_block(one: &Sent) -> (u32, Vec<u8>) {
    let packet = ip(one);
    let mut body = vec![0, 0, 0, 0];
    let length = packet.len() as u32;
    for field in [(one.at >> 32) as u32, one.at as u32, length, length + one.length] {
        body.extend(field.to_be_bytes());
    }
    body.extend(packet);
    (2, body)
}

#[test]
fn blocks_of_the_first_version_are_read() {
    let sent = download(20);
    let trace = CapturedConnection::parse(&pcapng_with(&[], &sent, packet_block), &[]).unwrap();
    let known = CapturedConnection::parse(&pcap(&sent), &[]).unwrap();
    assert_eq!(trace.events, known.events);
}

#[test]
fn seconds_are_added_to_the_times_of_an_interface() {
    let sent = download(20);
    let times = |offset: i64| {
        let options = [&[0, 14, 0, 8][..], &offset.to_be_bytes()].concat();
        let mut late = sent.clone();
        late.iter_mut().for_each(|one| one.at += 7_000_000);
        // The first packet is in a section without offset.
        let mut file = pcapng_with(&[], &late[..1], packet_block);
        file.extend(pcapng_with(&options, &late[1..], packet_block));
        CapturedConnection::parse(&file, &[]).unwrap().events.last().unwrap().0.since_start()
    };
    let (none, later) = (times(0), times(3));
    assert_eq!(later, none + Span::from_secs(3));
    assert!(times(-100) < none + Span::from_secs(8), "no time is before the epoch");
}

#[test]
fn packets_without_times_are_listed_but_not_read() {
    let file = pcapng_with(&[], &download(20), |one| {
        let mut packet = ip(one);
        let wire = packet.len() as u32 + one.length;
        // Simple Packet Blocks say what was kept by the limit of the interface.
        packet.resize((wire as usize).min(120), 0);
        (3, [&wire.to_be_bytes()[..], &packet].concat())
    });
    let recording = Recording::parse(file, &[]).unwrap();
    let [row] = recording.connections() else { panic!("one connection") };
    assert_eq!(row.to_client.bytes, 20 * 1448);
    assert_eq!(row.problem.as_deref(), Some("the file has no times for its packets"));
    let error = recording.largest().unwrap_err();
    assert!(matches!(error, CaptureError::Empty(reason) if reason.contains("no times")), "{error}");
}

#[test]
fn modified_pcap_is_read_in_both_byte_orders() {
    let sent = download(20);
    let known = CapturedConnection::parse(&pcap(&sent), &[]).unwrap();
    for big in [true, false] {
        let mut file = Vec::new();
        let put = |file: &mut Vec<u8>, field: u32| {
            file.extend(if big { field.to_be_bytes() } else { field.to_le_bytes() });
        };
        for field in [0xa1b2_cd34_u32, 0, 0, 0, 65_535, 101] {
            put(&mut file, field);
        }
        for one in &sent {
            let packet = ip(one);
            let length = packet.len() as u32;
            let (seconds, part) = ((one.at / 1_000_000) as u32, (one.at % 1_000_000) as u32);
            for field in [seconds, part, length, length + one.length, 2, 0x0800_0000] {
                put(&mut file, field);
            }
            file.extend(packet);
        }
        assert_eq!(CapturedConnection::parse(&file, &[]).unwrap().events, known.events, "{big}");
    }
}
