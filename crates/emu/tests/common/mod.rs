//! Helpers of the emulator's tests: paths, sockets, and a check for the required permissions.

// Each test file uses some of them.
#![allow(dead_code)]

use bentpipe_emu::{
    Emulator, EmulatorSettings, Hop, Monitor, Namespace, PathSpec, Report, Testbed,
    server_addresses,
};
use bentpipe_link::DirectionConfig;
use bentpipe_units::{Bytes, Rate, Span};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

/// Returns true, with a note on standard error, if this process may not create namespaces.
pub fn cannot_run() -> bool {
    Testbed::new(1, Bytes::new(1500)).inspect_err(|error| eprintln!("skipped: {error}")).is_err()
}

pub fn direction(mbps: u64, delay_ms: u64) -> DirectionConfig {
    DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(delay_ms))
}

pub fn hop(name: &str, forward: &DirectionConfig, reverse: &DirectionConfig, shared: bool) -> Hop {
    let load = |config: &DirectionConfig| config.load(Path::new(".")).expect("valid direction");
    Hop { name: name.to_owned(), forward: load(forward), reverse: load(reverse), shared }
}

pub fn path(hops: Vec<Hop>) -> PathSpec {
    let rtt = hops.iter().map(|hop| hop.forward.base_delay() + hop.reverse.base_delay());
    PathSpec {
        base_rtt: rtt.fold(Span::ZERO, |sum, delay| sum + delay),
        hops,
        seed: 7,
        run: 0,
        utc: None,
    }
}

pub fn testbed(clients: usize) -> Testbed {
    Testbed::new(clients, Bytes::new(1500)).expect("creates namespaces")
}

pub fn start(hops: Vec<Hop>, clients: usize) -> Emulator {
    start_with(hops, clients, EmulatorSettings::default(), &Monitor::default())
}

pub fn start_with(
    hops: Vec<Hop>,
    clients: usize,
    settings: EmulatorSettings,
    monitor: &Monitor,
) -> Emulator {
    Emulator::start_monitored(testbed(clients), &path(hops), settings, monitor)
        .expect("emulator starts")
}

pub fn one_hop(forward: &DirectionConfig, reverse: &DirectionConfig) -> Emulator {
    start(vec![hop("access", forward, reverse, true)], 1)
}

pub fn client(emulator: &Emulator, index: usize) -> &Namespace {
    emulator.testbed().client(index).expect("client exists")
}

/// Runs `work` inside `namespace`.
pub fn inside<T: Send>(namespace: &Namespace, work: impl FnOnce() -> T + Send) -> T {
    namespace.inside(work).expect("enters the namespace")
}

/// Returns a UDP socket in `namespace`, of the same family as `like`.
pub fn udp_socket(namespace: &Namespace, like: IpAddr) -> UdpSocket {
    let any = if like.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    inside(namespace, || UdpSocket::bind(any)).expect("binds a UDP socket")
}

/// Returns a UDP socket of the server, and the address at which clients reach it.
pub fn server_socket(emulator: &Emulator, server: IpAddr) -> (UdpSocket, SocketAddr) {
    let socket = udp_socket(emulator.testbed().server(), server);
    socket.set_read_timeout(Some(Duration::from_millis(800))).expect("sets a timeout");
    let port = socket.local_addr().expect("has an address").port();
    (socket, SocketAddr::new(server, port))
}

/// IPv4 address of the server.
pub fn server_v4() -> IpAddr {
    server_addresses()[0]
}

/// Stops the emulator and checks that every packet is accounted for, by the links too.
pub fn stop(emulator: Emulator) -> Report {
    let report = emulator.stop().expect("emulator stops without an error");
    for direction in report.directions() {
        assert_eq!(direction.unaccounted(), 0, "{direction:?}");
        let lost: u64 = direction
            .links
            .iter()
            .map(|link| {
                let counters = &link.counters;
                [
                    counters.dropped_policer,
                    counters.dropped_queue,
                    counters.dropped_aqm,
                    counters.dropped_loss,
                ]
                .iter()
                .map(|tally| tally.packets)
                .sum::<u64>()
            })
            .sum();
        assert_eq!(direction.lost, lost, "{direction:?}");
    }
    report
}
