//! Captures and live statistics match the packets that crossed the path.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

mod common;

use bentpipe_emu::{CaptureConfig, Emulator, EmulatorSettings, Monitor};
use bentpipe_link::{DirectionConfig, LossConfig};
use bentpipe_units::{Bytes, Ratio, Span};
use common::{
    cannot_run, client, direction, hop, one_hop, path, server_socket, server_v4, start_with, stop,
    testbed, udp_socket,
};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A packet of a capture.
struct CapturedPacket {
    at: Duration,
    interface: u32,
    bytes: Vec<u8>,
    comment: Option<String>,
}

fn read(file: &Path) -> Vec<CapturedPacket> {
    let file = File::open(file).expect("opens the file");
    let mut reader = PcapNgReader::new(file).expect("valid pcapng");
    let mut all = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("valid block") {
            let comment = packet.options.iter().find_map(|option| match option {
                EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
                _ => None,
            });
            let (at, interface, bytes) =
                (packet.timestamp, packet.interface_id, packet.data.to_vec());
            all.push(CapturedPacket { at, interface, bytes, comment });
        }
    }
    all
}

/// Returns the one's complement sum over a whole datagram of UDP over IPv4 and its pseudo-header:
/// 0xffff if its checksum is right (RFC 768).
fn udp_sum(packet: &[u8]) -> u32 {
    let words = |bytes: &[u8]| -> u32 {
        bytes
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
            .sum()
    };
    let mut sum = words(&packet[12..20]) + 17 + (packet.len() as u32 - 20) + words(&packet[20..]);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

fn monitor(capture: CaptureConfig) -> Monitor {
    Monitor { capture, ..Monitor::default() }
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bentpipe-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("creates the folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sends `count` datagrams of odd length, each with its number, from client `index` to the server.
fn send(emulator: &Emulator, index: usize, count: u32) {
    let (_server, to) = server_socket(emulator, server_v4());
    let client = udp_socket(client(emulator, index), server_v4());
    for number in 0..count {
        let mut payload = vec![3; 501];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        client.send_to(&payload, to).expect("sends");
        std::thread::sleep(Duration::from_micros(500));
    }
    std::thread::sleep(Duration::from_millis(200));
}

#[test]
fn captures_contain_sent_received_and_lost_packets() {
    if cannot_run() {
        return;
    }
    let folder = Folder::new("captures");
    let file = |name: &str| Some(folder.0.join(name));
    let capture = CaptureConfig {
        server: file("server.pcapng"),
        clients: file("clients.pcapng"),
        lost: file("lost.pcapng"),
        ..CaptureConfig::default()
    };
    let lossy = DirectionConfig {
        loss: LossConfig::bernoulli(Ratio::new(0.1).expect("valid ratio")),
        ..direction(50, 50)
    };
    let hops = vec![hop("access", &direction(50, 50), &lossy, true)];
    let emulator = start_with(hops, 2, EmulatorSettings::default(), &monitor(capture));
    send(&emulator, 1, 200);
    let report = stop(emulator);
    let [server, clients, lost] =
        ["server", "clients", "lost"].map(|name| read(&folder.0.join(format!("{name}.pcapng"))));
    assert_eq!(clients.len(), 200);
    assert_eq!(server.len() as u64, report.reverse.packets_written);
    assert_eq!(lost.len() as u64, report.reverse.lost);
    assert_eq!(server.len() + lost.len(), 200);
    assert!(
        (5..50).contains(&lost.len()),
        "{}: expected 20 with a standard error of 4",
        lost.len()
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("current time");
    for (index, captured) in clients.iter().enumerate() {
        assert_eq!(udp_sum(&captured.bytes), 0xffff, "packet {index}: checksum");
        assert_eq!(captured.interface, 1, "interface of the second client");
        assert!(now - captured.at < Duration::from_secs(60), "{:?}", captured.at);
    }
    for captured in &server {
        let sent = clients
            .iter()
            .find(|sent| sent.bytes == captured.bytes)
            .expect("received packet was sent");
        let took = captured.at - sent.at;
        assert!(took >= Duration::from_millis(50), "{took:?}");
        assert!(
            captured.comment.as_ref().is_some_and(|comment| comment.starts_with("after ")),
            "{:?}",
            captured.comment
        );
    }
    for captured in &lost {
        assert_eq!(captured.interface, 1, "return direction");
        assert!(
            captured.comment.as_ref().is_some_and(|comment| comment.contains("loss process 0")),
            "{:?}",
            captured.comment
        );
    }
    for written in &report.captures {
        assert_eq!((written.missed, &written.error), (0, &None), "{written:?}");
    }
}

#[test]
fn full_and_truncated_captures_count_missed_packets() {
    if cannot_run() {
        return;
    }
    let folder = Folder::new("full");
    let file = folder.0.join("clients.pcapng");
    let capture = CaptureConfig {
        clients: Some(file.clone()),
        snap_length: Bytes::new(60),
        max_size: Bytes::new(3000),
        ..CaptureConfig::default()
    };
    let hops = vec![hop("access", &direction(50, 5), &direction(50, 5), true)];
    let emulator = start_with(hops.clone(), 1, EmulatorSettings::default(), &monitor(capture));
    send(&emulator, 0, 50);
    let report = stop(emulator);
    let captured = read(&file);
    assert!(captured.iter().all(|captured| captured.bytes.len() == 60));
    assert!(std::fs::metadata(&file).expect("file exists").len() < 3500);
    let [written] = &report.captures[..] else { panic!("expected one capture: {report:?}") };
    assert_eq!(written.packets, captured.len() as u64);
    assert!(written.packets > 0);
    assert_eq!(written.packets + written.missed, 50);

    let nowhere =
        CaptureConfig { server: Some(folder.0.join("no/such/folder")), ..CaptureConfig::default() };
    let monitor = monitor(nowhere);
    let error =
        Emulator::start_monitored(testbed(1), &path(hops), EmulatorSettings::default(), &monitor)
            .expect_err("no such folder");
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

#[test]
fn live_statistics_follow_the_packets() {
    if cannot_run() {
        return;
    }
    // At 1 Mbps, 100 packets of 529 bytes take 0.4 s, and some wait in the queue.
    let emulator = one_hop(&direction(1, 80), &direction(1, 80));
    let stats = emulator.stats();
    let monitor = std::thread::spawn(move || {
        let mut max_queue = 0;
        let mut last = stats.read().reverse;
        for _ in 0..60 {
            std::thread::sleep(Duration::from_millis(10));
            let now = stats.read().reverse;
            assert!(
                now.at >= last.at && now.bytes_written >= last.bytes_written,
                "{now:?} after {last:?}"
            );
            max_queue = max_queue.max(now.queue_bytes);
            last = now;
        }
        (max_queue, last)
    });
    send(&emulator, 0, 100);
    let (max_queue, _) = monitor.join().expect("monitor thread");
    assert!(max_queue > 529, "{max_queue}");
    std::thread::sleep(Duration::from_millis(400));
    let now = emulator.stats().read();
    let report = stop(emulator);
    assert_eq!(now.reverse.packets_written, report.reverse.packets_written);
    assert_eq!(now.reverse.lost, report.reverse.lost);
    assert_eq!((now.reverse.queue_packets, now.reverse.queue_bytes), (0, 0));
    assert!(now.reverse.delay >= Span::from_millis(80), "{now:?}");
    assert!(now.reverse.delays >= now.reverse.delay, "{now:?}");
}
