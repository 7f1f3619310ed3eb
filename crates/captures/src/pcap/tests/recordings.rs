//! Files of several connections.

use super::samples::{Sent, download, pcap, pcap_of, udp};
use crate::{CaptureError, CapturedConnection, Protocol, Recording, Traffic};
use bentpipe_units::{Span, Time};

/// Returns a packet with another port of the client.
fn other_port(mut packet: Vec<u8>, by: u8) -> Vec<u8> {
    let at = if packet[20..22] == 80_u16.to_be_bytes() { 23 } else { 21 };
    packet[at] += by;
    packet
}

fn packets(sent: &[Sent], delay_us: u64, by: u8) -> Vec<(u64, Vec<u8>, u32)> {
    let one = |one: &Sent| (one.at + delay_us, other_port(super::samples::ip(one), by), one.length);
    sent.iter().map(one).collect()
}

#[test]
fn every_connection_is_listed_those_with_most_data_first() {
    let mut all = packets(&download(10), 500_000, 0);
    all.extend(packets(&download(30), 1_500_000, 1));
    all.push((400_000, udp([192, 0, 2, 1], 40_000, 53, b"a question"), 0));
    let recording = Recording::parse(pcap_of(101, &all), &[]).unwrap();
    let rows = recording.connections();
    let row =
        |index: usize| (rows[index].number, rows[index].protocol, rows[index].client.as_str());
    assert_eq!(rows.len(), 3);
    assert_eq!(row(0), (1, Protocol::Tcp, "10.0.0.1:50001"));
    assert_eq!(row(1), (2, Protocol::Tcp, "10.0.0.1:50000"));
    assert_eq!(row(2), (3, Protocol::Udp, "192.0.2.1:40000"));
    assert_eq!(rows[0].server, "10.0.0.2:80");
    assert_eq!(rows[0].start, Time::ZERO + Span::from_micros(1_100_000));
    // SYN, ACK, request and 30 acknowledgements; SYN/ACK and 30 segments.
    assert_eq!(rows[0].to_server, Traffic { packets: 33, bytes: 100 });
    assert_eq!(rows[0].to_client, Traffic { packets: 31, bytes: 30 * 1448 });
    assert_eq!(rows[0].problem, None);
    assert!(rows[2].problem.as_ref().unwrap().contains("no handshake of QUIC"));
    assert_eq!(recording.read(1).unwrap().title, "TCP from 10.0.0.1:50000 to 10.0.0.2:80");
    assert_eq!(recording.largest().unwrap().1.title, "TCP from 10.0.0.1:50001 to 10.0.0.2:80");
    let error = recording.read(3).unwrap_err().to_string();
    assert_eq!(error, "the file has no connection 4; allowed: 1 to 3");
    assert!(recording.read(2).is_err());
}

#[test]
fn ports_that_are_used_again_are_another_connection() {
    let first = download(10);
    let mut second = download(20);
    for one in &mut second {
        // Other numbers than the first connection's.
        let by = 5_000_000;
        one.at += 2_000_000;
        one.seq = one.seq.wrapping_add(by);
        one.ack = one.ack.map(|ack| ack.wrapping_add(by));
    }
    // The SYN is repeated, which begins no connection.
    let again = Sent { at: 2_000_010, ..second[0].clone() };
    let all: Vec<Sent> = first.into_iter().chain([again]).chain(second).collect();
    let recording = Recording::parse(pcap(&all), &[]).unwrap();
    let data: Vec<u64> = recording.connections().iter().map(|one| one.to_client.bytes).collect();
    assert_eq!(data, [20 * 1448, 10 * 1448]);
    let read = recording.read(0).unwrap();
    assert_eq!(crate::account(&read, None).unwrap().bytes.get(), 20 * 1448);
}

#[test]
fn a_scan_of_many_ports_does_not_hide_a_transfer_nor_keep_all_of_them() {
    let mut all = packets(&download(10), 0, 0);
    let count = 140_000_u32;
    for number in 0..count {
        let [_, a, b, c] = (number + 0x10_0000).to_be_bytes();
        let syn = Sent { at: 3_000_000 + u64::from(number), syn: true, ..download(1)[0].clone() };
        let mut packet = super::samples::ip(&syn);
        packet[16..20].copy_from_slice(&[10, a, b, c]);
        all.push((syn.at, packet, 0));
    }
    let recording = Recording::parse(pcap_of(101, &all), &[]).unwrap();
    assert_eq!(recording.connections().len(), 65_536);
    assert_eq!(recording.left_out(), count as usize + 1 - 65_536);
    assert_eq!(recording.connections()[0].to_client.bytes, 10 * 1448);
}

#[test]
fn a_qlog_file_is_a_connection() {
    let text = br#"{"qlog_version":"0.3","qlog_format":"JSON","traces":[{"vantage_point":{
        "type":"server"},"title":"one","events":[{"time":1,"name":"transport:packet_received",
        "data":{"header":{"packet_type":"1RTT","packet_number":3},"raw":{"length":77},
        "frames":[]}}]}]}"#;
    let recording = Recording::parse(text.to_vec(), &[]).unwrap();
    let [one] = recording.connections() else { panic!("one connection") };
    assert_eq!((one.protocol, one.title.as_str()), (Protocol::Quic, "one"));
    assert_eq!(one.to_server, Traffic { packets: 1, bytes: 77 });
    assert_eq!(recording.read(0).unwrap().title, "one");
    assert!(matches!(recording.read(1), Err(CaptureError::NoSuchConnection { number: 2, of: 1 })));
    assert_eq!(CapturedConnection::parse(text, &[]).unwrap().title, "one");
}
