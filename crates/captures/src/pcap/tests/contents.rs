//! Packets that count once or not at all.

use super::samples::{Sent, download, ip, pcap, pcap_of, udp};
use crate::event::{CapturedConnection, Event};
use crate::{Recording, account};
use bentpipe_units::Span;

/// Returns the packets of a download, with identifications of IPv4 from 1 on if `has_ids`.
fn packets(has_ids: bool) -> Vec<(u64, Vec<u8>, u32)> {
    let one = |(number, one): (usize, &Sent)| {
        let mut packet = ip(one);
        if has_ids {
            packet[4..6].copy_from_slice(&(number as u16 + 1).to_be_bytes());
        }
        (one.at, packet, one.length)
    };
    download(40).iter().enumerate().map(one).collect()
}

fn explain(packets: &[(u64, Vec<u8>, u32)]) -> CapturedConnection {
    CapturedConnection::parse(&pcap_of(101, packets), &[]).unwrap()
}

#[test]
fn copies_of_a_mirror_port_count_once() {
    for has_ids in [true, false] {
        let once = packets(has_ids);
        // The copy comes 3 us later, over one more router.
        let twice: Vec<_> = once
            .iter()
            .flat_map(|(at, packet, cut)| {
                let mut copy = packet.clone();
                copy[8] -= 1;
                [(*at, packet.clone(), *cut), (at + 3, copy, *cut)]
            })
            .collect();
        let (known, found) = (explain(&once), explain(&twice));
        assert_eq!(found.events, known.events, "{has_ids}");
        let note = format!("{} copies of packets were left out", once.len());
        assert!(found.notes.iter().any(|one| one.contains(&note)), "{:?}", found.notes);
        assert!(known.notes.is_empty());
        let rtt = account(&found, None).unwrap().path.rtt;
        assert!(rtt >= Span::from_micros(199_980), "{rtt}");
        let recording = Recording::parse(pcap_of(101, &twice), &[]).unwrap();
        assert_eq!(recording.connections()[0].to_client.packets, 41);
    }
}

#[test]
fn retransmissions_and_equal_acknowledgements_are_no_copies() {
    let mut all = packets(true);
    // A segment again, with another identification, after half a millisecond.
    let (at, mut again, cut) = all.iter().find(|one| one.2 > 1000).unwrap().clone();
    again[4..6].copy_from_slice(&9999_u16.to_be_bytes());
    all.push((at + 500, again, cut));
    let trace = explain(&all);
    assert_eq!(trace.events.iter().filter(|(_, one)| matches!(one, Event::Lost(_))).count(), 1);
    assert!(trace.notes.is_empty(), "{:?}", trace.notes);
    // Acknowledgements without identification may be equal.
    let mut all = packets(false);
    let (at, ack, _) = all.last().unwrap().clone();
    all.extend([(at + 100, ack.clone(), 0), (at + 200, ack, 0)]);
    assert_eq!(explain(&all).events.len(), all.len());
}

#[test]
fn a_capture_without_a_transfer_says_what_it_has() {
    let refused = |link_type: u32, packets: &[(u64, Vec<u8>, u32)]| {
        let error = CapturedConnection::parse(&pcap_of(link_type, packets), &[]).unwrap_err();
        error.to_string()
    };
    let arp = [&[2; 12][..], &[8, 6]].concat();
    let mut icmp = udp([192, 0, 2, 1], 0, 0, &[]);
    icmp[9] = 1;
    let frame = |packet: &[u8]| [&[2; 12][..], &[8, 0], packet].concat();
    let question = |source| frame(&udp([192, 0, 2, 1], source, 53, b"?"));
    let quic = frame(&udp([192, 0, 2, 1], 50_000, 443, &[0x41; 60]));
    let syn = frame(&ip(&download(1)[0]));
    let all: Vec<_> =
        [arp.clone(), question(40_000), frame(&icmp), question(40_001), arp, quic, syn]
            .into_iter()
            .enumerate()
            .map(|(at, frame)| (at as u64, frame, 0))
            .collect();
    assert_eq!(
        refused(1, &all),
        "the capture has no TCP or QUIC connection with data, but 1 TCP connection without data, \
         2 UDP packets to port 53, 1 UDP packet to port 443 (QUIC begins with its handshake), \
         2 ARP packets, 1 ICMP packet"
    );
    let draft = [&[0xff, 0xff, 0, 0, 18][..], &[0; 60]].concat();
    let old = refused(1, &[(0, frame(&udp([192, 0, 2, 1], 50_000, 8443, &draft)), 0)]);
    assert!(
        old.ends_with(
            "but 1 UDP packet to port 8443 (QUIC of draft 18; versions 1 and 2 and drafts 27 to \
             32 are read)"
        ),
        "{old}"
    );
    let user = refused(147, &[(0, vec![1, 2, 3], 0)]);
    assert!(user.ends_with("but 1 packet of link type 147, which is not read"), "{user}");
    let empty = CapturedConnection::parse(&pcap(&[]), &[]).unwrap_err().to_string();
    assert!(empty.ends_with("but no packets"), "{empty}");
}
