//! Routers in the middle of an emulated path.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

mod common;

use bentpipe_emu::{
    Emulator, EmulatorSettings, Hop, Monitor, Testbed, client_addresses, server_addresses,
};
use bentpipe_link::{DirectionConfig, LossConfig};
use bentpipe_units::{Bytes, Ratio};
use common::{
    cannot_run, client, direction, hop, inside, path, server_socket, server_v4, stop, udp_socket,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

fn three_hops(satellite: &DirectionConfig) -> Vec<Hop> {
    let near = direction(100, 5);
    vec![
        hop("lan", &near, &near, false),
        hop("satellite", satellite, satellite, true),
        hop("internet", &near, &near, true),
    ]
}

/// Starts an emulation with a router on each side of the satellite.
fn start(satellite: &DirectionConfig, clients: usize, monitor: &Monitor) -> Emulator {
    let testbed = Testbed::with_routers(clients, Bytes::new(1500), &[1, 2]).expect("namespaces");
    let path = path(three_hops(satellite));
    Emulator::start_monitored(testbed, &path, EmulatorSettings::default(), monitor).expect("starts")
}

/// Returns the shortest of three times until the server's kernel refuses a connection.
fn refusal(emulator: &Emulator, index: usize, server: IpAddr) -> Duration {
    let once = || {
        let begin = Instant::now();
        let error = TcpStream::connect(SocketAddr::new(server, 9)).expect_err("no listener");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
        begin.elapsed()
    };
    let times = inside(client(emulator, index), || [(); 3].map(|()| once()));
    times.into_iter().min().expect("three times")
}

#[test]
fn packets_cross_the_hops_on_both_sides_of_a_router() {
    if cannot_run() {
        return;
    }
    let emulator = start(&direction(50, 90), 2, &Monitor::default());
    // 200 ms, and up to 60 ms on a busy machine. IPv6 is forwarded too.
    for (index, server) in [(0, server_addresses()[0]), (1, server_addresses()[1])] {
        let rtt = refusal(&emulator, index, server).as_secs_f64() * 1e3;
        assert!((200.0..260.0).contains(&rtt), "{server}: {rtt} ms");
    }
    // From one client to the other, forwarded by the first router.
    let between = refusal(&emulator, 0, client_addresses(1)[0]).as_secs_f64() * 1e3;
    assert!((20.0..80.0).contains(&between), "{between} ms");
    let report = stop(emulator);
    let names = |links: &[bentpipe_emu::LinkReport]| {
        links.iter().map(|link| link.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&report.forward.links),
        ["internet/forward", "satellite/forward", "lan/forward#0", "lan/forward#1"]
    );
    assert_eq!(
        names(&report.reverse.links),
        ["lan/return#0", "lan/return#1", "satellite/return", "internet/return"]
    );
}

#[test]
fn a_download_and_datagrams_pass_routers_whole() {
    if cannot_run() {
        return;
    }
    const SIZE: usize = 3_000_000;
    let lossy = DirectionConfig {
        loss: LossConfig::bernoulli(Ratio::new(0.002).expect("valid ratio")),
        ..direction(50, 5)
    };
    let emulator = start(&lossy, 1, &Monitor { ports: vec![5001], ..Monitor::default() });
    let listener = inside(emulator.testbed().server(), || TcpListener::bind(("0.0.0.0", 5001)))
        .expect("binds");
    let content: Vec<u8> = (0..SIZE).map(|index| (index * 7 % 251) as u8).collect();
    std::thread::scope(|scope| {
        let content = &content;
        scope.spawn(move || listener.accept().expect("accepts").0.write_all(content));
        let connect = || TcpStream::connect(SocketAddr::new(server_v4(), 5001));
        let mut stream = inside(client(&emulator, 0), connect).expect("connects");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("reads");
        assert!(received == *content, "{} of {SIZE} bytes, or others", received.len());
    });
    // Datagrams back to back, which routers merge and split.
    let (server, to) = server_socket(&emulator, server_v4());
    let sender = udp_socket(client(&emulator, 0), server_v4());
    for number in 0..50u32 {
        sender.send_to(&number.to_be_bytes().repeat(250), to).expect("sends");
    }
    let mut buffer = [0; 2048];
    let arrived = std::iter::from_fn(|| server.recv(&mut buffer).ok())
        .inspect(|length| assert_eq!(*length, 1000))
        .count();
    assert!((45..=50).contains(&arrived), "{arrived}");
    let report = stop(emulator);
    let port = &report.forward.ports[0];
    // Packets are counted where they enter the path and where they leave it, not at each router.
    assert!(port.lost_random > 0, "{port:?}");
    assert_eq!(port.packets, port.delivered + port.lost_random + port.lost_queue, "{port:?}");
    assert!((2072..3000).contains(&port.packets), "{port:?}");
}

#[test]
fn routers_stand_between_two_hops_in_order() {
    if cannot_run() {
        return;
    }
    for places in [&[0][..], &[3], &[2, 1], &[1, 1]] {
        let testbed = Testbed::with_routers(1, Bytes::new(1500), places).expect("namespaces");
        let path = path(three_hops(&direction(50, 5)));
        let error =
            Emulator::start(testbed, &path, EmulatorSettings::default()).expect_err("rejected");
        assert!(error.to_string().contains("between two hops"), "{places:?}: {error}");
    }
}
