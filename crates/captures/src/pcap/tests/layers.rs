//! One segment and one datagram in every link layer and tunnel.

use super::samples::{Sent, ip, pcap_of, udp};
use crate::pcap::record::CapturedPacket;
use crate::pcap::segment::{Carried, read};
use crate::{CapturedConnection, Recording};
use proptest::prelude::*;

const ETHERNET: u16 = 1;
const RAW: u16 = 101;
/// Bytes of the segment's data, of which the file has none.
const LENGTH: u32 = 700;

fn segment() -> Vec<u8> {
    ip(&Sent { seq: 77, ack: Some(5), length: LENGTH, ..Sent::default() })
}

/// Returns the segment in a packet of IPv6, with extension headers: their numbers and bytes.
fn version_6(extensions: &[(u8, Vec<u8>)], payload_length: Option<u16>) -> Vec<u8> {
    let tcp = &segment()[20..];
    let mut content = Vec::new();
    for (index, (_, body)) in extensions.iter().enumerate() {
        content.push(extensions.get(index + 1).map_or(6, |next| next.0));
        content.extend(body);
    }
    content.extend(tcp);
    let first = extensions.first().map_or(6, |first| first.0);
    let length = payload_length.unwrap_or(content.len() as u16 + LENGTH as u16);
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([first, 64]);
    for end in [2, 1] {
        bytes.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
    }
    bytes.extend(content);
    bytes
}

/// Returns an IPv4 packet of a protocol.
fn version_4(protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = udp([192, 0, 2, 7], 0, 0, &[]);
    bytes.truncate(20);
    let length = (20 + content.len() + LENGTH as usize) as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes[9] = protocol;
    bytes.extend(content);
    bytes
}

fn after(header: &[u8], content: &[u8]) -> Vec<u8> {
    [header, content].concat()
}

fn ethernet(kind: u16, content: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), content].concat()
}

fn snap(content: &[u8]) -> Vec<u8> {
    after(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], content)
}

/// Returns a data frame of IEEE 802.11 to a distribution system, with QoS.
fn wifi(content: &[u8]) -> Vec<u8> {
    [&[0x88, 1][..], &[0; 22], &[0, 0], &snap(content)].concat()
}

/// Returns the content in a datagram to a port; the datagram has its whole length.
fn datagram(port: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = udp([192, 0, 2, 7], 40_000, port, content);
    let grow = |bytes: &mut Vec<u8>, at: usize| {
        let length = u16::from_be_bytes([bytes[at], bytes[at + 1]]) + LENGTH as u16;
        bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    };
    grow(&mut bytes, 2);
    grow(&mut bytes, 24);
    bytes
}

/// Every layer: what it is, the link type, and the frame.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn frames() -> Vec<(&'static str, u16, Vec<u8>)> {
    let four = segment();
    let frame = ethernet(0x0800, &four);
    let gre = |header: &[u8], content: &[u8]| version_4(47, &after(header, content));
    let jumbo = [&[0, 0xc2, 4][..], &(8 + 32 + LENGTH).to_be_bytes()].concat();
    let nflog = |order: fn(u16) -> [u8; 2]| {
        let attribute = |kind: u16, body: &[u8]| {
            [&order(4 + body.len() as u16)[..], &order(kind), body].concat()
        };
        [&[2, 0, 0, 1][..], &attribute(1, &[8, 0, 1, 0]), &attribute(9, &four)].concat()
    };
    vec![
        ("Ethernet", ETHERNET, frame.clone()),
        ("raw", RAW, four.clone()),
        ("raw IPv4", 228, four.clone()),
        ("IPv6", RAW, version_6(&[], None)),
        ("NULL", 0, after(&[2, 0, 0, 0], &four)),
        ("LOOP", 108, after(&[0, 0, 0, 24], &version_6(&[], None))),
        ("PPP", 9, after(&[0xff, 3, 0, 0x21], &four)),
        ("PPP of ns-3", 9, after(&[0, 0x21], &four)),
        ("PPP, short number", 9, after(&[0x21], &four)),
        ("PPP in HDLC", 50, after(&[0xff, 3, 0, 0x57], &version_6(&[], None))),
        ("Cisco HDLC", 104, after(&[0x0f, 0, 8, 0], &four)),
        ("Cisco HDLC as PPP", 50, after(&[0x8f, 0, 8, 0], &four)),
        ("Frame Relay", 107, after(&[0x18, 0x41, 3, 0xcc], &four)),
        ("Frame Relay, SNAP", 107, after(&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], &four)),
        ("Frame Relay of Cisco", 107, after(&[0x18, 0x41, 8, 0], &four)),
        ("PPPoE", ETHERNET, ethernet(0x8864, &after(&[0x11, 0, 0, 1, 4, 0, 0, 0x21], &four))),
        ("802.3 and SNAP", ETHERNET, ethernet(600, &snap(&four))),
        ("SLL", 113, after(&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0], &four)),
        ("SLL, LLC", 113, after(&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0, 4], &snap(&four))),
        ("SLL2", 276, [&[8, 0][..], &[0; 18], &four].concat()),
        ("SLL2, VLAN", 276, [&[0x81, 0][..], &[0; 18], &[0, 5, 8, 0], &four].concat()),
        ("802.11", 105, wifi(&four)),
        ("802.11, four addresses", 105, [&[8, 3][..], &[0; 28], &snap(&four)].concat()),
        (
            "802.11, several packets",
            105,
            [&[0x88, 1][..], &[0; 22], &[0x80, 0], &[0; 14], &snap(&four)].concat(),
        ),
        ("radiotap", 127, after(&[0, 0, 8, 0, 0, 0, 0, 0], &wifi(&four))),
        (
            "radiotap, padded header",
            127,
            [
                &[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0][..],
                &[9; 8],
                &[0x20],
                &[0x88, 1],
                &[0; 22],
                &[0; 4],
                &snap(&four),
            ]
            .concat(),
        ),
        ("Prism", 119, [&[0x44, 0, 0, 0, 144, 0, 0, 0][..], &[0; 136], &wifi(&four)].concat()),
        ("AVS", 119, [&[0x80, 2, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &wifi(&four)].concat()),
        ("PPI", 192, after(&[0, 0, 8, 0, 105, 0, 0, 0], &wifi(&four))),
        ("NFLOG", 239, nflog(u16::to_le_bytes)),
        ("NFLOG, big-endian", 239, nflog(u16::to_be_bytes)),
        ("pflog", 117, [&[61, 2][..], &[0; 62], &four].concat()),
        ("VLAN", ETHERNET, ethernet(0x8100, &after(&[0, 5, 8, 0], &four))),
        (
            "four tags",
            ETHERNET,
            ethernet(
                0x88a8,
                &after(&[0, 1, 0x91, 0, 0, 2, 0x81, 0, 0, 3, 0x81, 0, 0, 4, 8, 0], &four),
            ),
        ),
        ("MPLS", ETHERNET, ethernet(0x8847, &after(&[0, 1, 0, 64, 0, 2, 1, 64], &four))),
        ("pseudowire", ETHERNET, ethernet(0x8847, &after(&[0, 2, 1, 64, 0, 0, 0, 0], &frame))),
        (
            "MACsec, not encrypted",
            ETHERNET,
            ethernet(0x88e5, &after(&[0; 6], &after(&[8, 0], &four))),
        ),
        ("IPIP", RAW, version_4(4, &four)),
        ("6in4", RAW, version_4(41, &version_6(&[], None))),
        ("EtherIP", RAW, version_4(97, &after(&[0x30, 0], &frame))),
        ("AH", RAW, version_4(51, &[&[6, 4, 0, 0][..], &[0; 20], &four[20..]].concat())),
        ("GRE", RAW, gre(&[0, 0, 8, 0], &four)),
        (
            "GRE, checksum, key and sequence",
            RAW,
            gre(&[0xb0, 0, 8, 0, 1, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1], &four),
        ),
        ("NVGRE", RAW, gre(&[0x20, 0, 0x65, 0x58, 0, 0, 9, 0], &frame)),
        (
            "PPTP",
            RAW,
            gre(
                &[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
                &after(&[0xff, 3, 0, 0x21], &four),
            ),
        ),
        ("ERSPAN I", RAW, gre(&[0, 0, 0x88, 0xbe], &frame)),
        (
            "ERSPAN II",
            RAW,
            gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 1], &frame),
        ),
        (
            "ERSPAN III",
            RAW,
            gre(
                &[
                    &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..],
                    &[0x20, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
                    &[7; 8],
                ]
                .concat(),
                &frame,
            ),
        ),
        (
            "VXLAN",
            ETHERNET,
            ethernet(0x0800, &datagram(4789, &after(&[8, 0, 0, 0, 0, 0, 7, 0], &frame))),
        ),
        ("VXLAN-GPE", RAW, datagram(4790, &after(&[0x0c, 0, 0, 1, 0, 0, 7, 0], &four))),
        (
            "Geneve",
            RAW,
            datagram(6081, &after(&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 0], &frame)),
        ),
        ("GTP-U", RAW, datagram(2152, &after(&[0x30, 255, 0, 0, 0, 0, 0, 1], &four))),
        (
            "GTP-U, extension header",
            RAW,
            datagram(
                2152,
                &after(&[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0], &four),
            ),
        ),
        ("MPLS in UDP", RAW, datagram(6635, &after(&[0, 2, 1, 64], &four))),
        ("4in6", RAW, {
            let mut bytes = version_6(&[], Some((four.len() + LENGTH as usize) as u16));
            bytes.truncate(40);
            bytes[6] = 4;
            after(&bytes, &four)
        }),
        (
            "IPv6 with every extension header",
            RAW,
            version_6(
                &[
                    (0, vec![0, 1, 4, 0, 0, 0, 0]),
                    (43, vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                    (44, vec![0, 0, 1, 0, 0, 0, 1]),
                    (60, vec![0, 1, 4, 0, 0, 0, 0]),
                ],
                None,
            ),
        ),
        ("BIG TCP", RAW, version_6(&[(0, jumbo)], Some(0))),
    ]
}

fn read_frame(link_type: u16, data: &[u8]) -> Carried<'_> {
    let wire = data.len() as u32 + LENGTH;
    read(&CapturedPacket { at: Some(0), link_type, wire, data, start: 0 })
}

#[test]
fn a_segment_is_found_in_every_layer() {
    for (what, link_type, frame) in frames() {
        let Carried::Tcp(found) = read_frame(link_type, &frame) else {
            panic!("{what}: no segment")
        };
        assert_eq!((found.from.port(), found.to.port(), found.seq), (80, 50_000, 77), "{what}");
        // MACsec's end mark and the like do not count, nor padding.
        assert_eq!(found.length, LENGTH, "{what}");
        // Cut off anywhere before the TCP header's end, nothing is found, and nothing breaks.
        for end in 0..frame.len() - 32 {
            match read_frame(link_type, &frame[..end]) {
                Carried::Tcp(_) => panic!("{what}: a segment in {end} bytes"),
                Carried::Udp(_) | Carried::Other(_) => {}
            }
        }
    }
}

#[test]
fn large_sends_without_a_length_have_that_of_the_frame() {
    let mut four = segment();
    four[2..4].copy_from_slice(&[0, 0]);
    let frame = ethernet(0x0800, &four);
    let Carried::Tcp(found) = read_frame(ETHERNET, &frame) else { panic!("no segment") };
    assert_eq!((found.length, found.ip_bytes), (LENGTH, 52 + u64::from(LENGTH)));
}

#[test]
fn datagrams_to_the_ports_of_tunnels_that_carry_none_stay() {
    for port in [4789, 4790, 6081, 2152, 6635] {
        let frame = udp([192, 0, 2, 7], 443, port, &[0x45; 40]);
        let wire = frame.len() as u32;
        let packet = CapturedPacket { at: Some(0), link_type: RAW, wire, data: &frame, start: 0 };
        let Carried::Udp(found) = read(&packet) else { panic!("{port}") };
        assert_eq!((found.to.port(), found.length), (port, 40));
    }
}

#[test]
fn other_packets_say_what_they_are() {
    let words = |link_type, frame: &[u8]| match read_frame(link_type, frame) {
        Carried::Other(kind) => kind.words(2),
        _ => panic!("{frame:?}"),
    };
    let mut later = segment();
    later[6] = 0x20;
    later[7] = 9;
    for (link_type, frame, expected) in [
        (147, vec![1], "2 packets of link type 147, which is not read"),
        (ETHERNET, ethernet(0x0806, &[]), "2 ARP packets"),
        (ETHERNET, ethernet(0x1234, &[]), "2 EtherType 0x1234 packets"),
        (RAW, version_4(1, &[]), "2 ICMP packets"),
        (RAW, version_4(50, &[]), "2 ESP (encrypted) packets"),
        (RAW, later, "2 fragments"),
        (RAW, vec![0x45], "2 packets cut off before the header of TCP or UDP"),
        (RAW, vec![0x15; 40], "2 packets with malformed headers"),
        (105, [&[8, 0x41][..], &[0; 30]].concat(), "2 encrypted 802.11 packets"),
        (105, [&[0x80, 0][..], &[0; 30]].concat(), "2 802.11 management or control packets"),
        (9, vec![0xc0, 0x21, 1], "2 PPP protocol 0xc021 packets"),
        (
            ETHERNET,
            [&[0; 12][..], &[0x81, 0, 0, 1].repeat(40)].concat(),
            "2 packets in too many tunnels",
        ),
    ] {
        assert_eq!(words(link_type, &frame), expected);
    }
}

proptest! {
    #[test]
    fn frames_of_any_link_type_are_read_or_refused(
        link_type in 0..300_u32,
        any in proptest::collection::vec(any::<u8>(), 0..200),
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut frames = frames();
        let (_, of_frame, mut frame) = frames.swap_remove(which.index(frames.len()));
        for (at, byte) in changes {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        let _ = read_frame(link_type as u16, &any);
        let _ = read_frame(of_frame, &frame);
        let packets = [(0, any.clone(), 0), (1, any, 9)];
        let _ = Recording::parse(pcap_of(link_type, &packets), &[]);
        let packets = [(0, frame.clone(), LENGTH), (1, frame, LENGTH)];
        if let Ok(trace) = CapturedConnection::parse(&pcap_of(of_frame.into(), &packets), &[]) {
            prop_assert!(trace.events.len() <= 8);
        }
    }
}

/// Returns a packet with a datagram of which neither says its length, as of a large send.
fn large_send(data: &[u8]) -> Vec<u8> {
    let mut bytes = udp([10, 0, 0, 1], 50_000, 443, data);
    bytes[2..4].fill(0);
    bytes[24..26].fill(0);
    bytes
}

#[test]
fn a_datagram_is_no_larger_than_its_length_field_can_say() {
    let data = &large_send(&[0x40; 31]);
    let found = |wire| {
        let packet = CapturedPacket { at: Some(0), link_type: RAW, wire, data, start: 0 };
        matches!(read(&packet), Carried::Udp(_))
    };
    assert!(found(60_000) && found(20 + 65_535));
    assert!(!found(20 + 65_536) && !found(u32::MAX));
}

#[test]
fn a_small_file_that_names_large_packets_makes_few() {
    // The first packet of a handshake; then the size of packets is learned to be a byte.
    let mut long = [&[0xc0, 0, 0, 0, 1, 8][..], &[1; 8], &[8], &[2; 8], &[0, 0x44, 0x90]].concat();
    long.resize(1200, 7);
    let mut packets = vec![
        (1, udp([10, 0, 0, 1], 50_000, 443, &long), 0),
        (2, udp([10, 0, 0, 1], 50_000, 443, &[0x40]), 0),
    ];
    let large = (0..10).map(|at| (3 + at, large_send(&[0x40; 31]), 65_000));
    packets.extend(large);
    let file = pcap_of(u32::from(RAW), &packets);
    let trace = CapturedConnection::parse(&file, &[]).expect("a connection");
    let events = trace.events.len();
    assert!((10..=10 * 128 + 10).contains(&events), "{events}");
}
