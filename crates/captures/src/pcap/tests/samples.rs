//! Captures made here: a download over 200 ms and 12 Mbps, as the server's interface sees it.

pub const RTT_US: u64 = 200_000;
/// Time of a packet of 1500 bytes at 12 Mbps.
pub const PACKET_US: u64 = 1000;
pub const SEGMENT: u32 = 1448;

/// A segment: time in microseconds, and whether it is the client's.
#[derive(Clone, Default)]
pub struct Sent {
    pub at: u64,
    pub by_client: bool,
    pub syn: bool,
    pub seq: u32,
    pub ack: Option<u32>,
    pub length: u32,
    pub sack: Option<(u32, u32)>,
    pub data: Vec<u8>,
    pub times: (u32, u32),
    pub window: Option<u16>,
}

/// Returns an IPv4 packet with the first bytes of its data.
pub fn ip(sent: &Sent) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend([sent.times.0.to_be_bytes(), sent.times.1.to_be_bytes()].concat());
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
    bytes.extend([u8::try_from(header / 4).unwrap() << 4, flags]);
    bytes.extend(sent.window.unwrap_or(0xffff).to_be_bytes().into_iter().chain([0; 4]));
    bytes.extend(options);
    bytes.extend(&sent.data);
    bytes
}

pub fn pcap(sent: &[Sent]) -> Vec<u8> {
    let packets: Vec<_> = sent.iter().map(|one| (one.at, ip(one), one.length)).collect();
    pcap_of(101, &packets)
}

pub fn pcapng(sent: &[Sent]) -> Vec<u8> {
    let mut file = Vec::new();
    let section = [0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    block(&mut file, 0x0a0d_0d0a, &section);
    // An interface of Ethernet with nanoseconds.
    block(&mut file, 1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0]);
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
        block(&mut file, 6, &body);
    }
    file
}

/// A download in slow start from ten segments on, of which each acknowledgement releases two.
pub fn download(count: u32) -> Vec<Sent> {
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

/// Returns a pcap file of packets: time in microseconds, bytes kept, and bytes cut off.
pub fn pcap_of(link_type: u32, packets: &[(u64, Vec<u8>, u32)]) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link_type] {
        file.extend(field.to_le_bytes());
    }
    for (at, packet, cut) in packets {
        let (seconds, part) = (at / 1_000_000, at % 1_000_000);
        let length = packet.len() as u32;
        for field in [seconds as u32, part as u32, length, length + cut] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Returns an IPv4 packet with a datagram to 198.51.100.1.
pub fn udp(from: [u8; 4], source: u16, target: u16, data: &[u8]) -> Vec<u8> {
    let length = 8 + data.len() as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + length).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(from.into_iter().chain([198, 51, 100, 1]));
    for field in [source, target, length, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(data);
    bytes
}

/// Adds a big-endian block to a pcapng file.
pub fn block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    file.extend(kind.to_be_bytes().into_iter().chain(length.to_be_bytes()));
    file.extend(body);
    file.resize(file.len().next_multiple_of(4), 0);
    file.extend(length.to_be_bytes());
}
