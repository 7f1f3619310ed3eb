//! Packets on a real kernel see the delays, rates and losses of the configured path.
//!
//! The tests need CAP_SYS_ADMIN: root, or a user namespace (`unshare -Ur cargo test -p
//! bentpipe-emu`). Without it, they print the reason and pass.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

mod common;

use bentpipe_emu::{
    DelayChanges, Emulator, EmulatorSettings, Monitor, client_addresses, server_addresses,
};
use bentpipe_link::{
    CapacityAllocation, CapacityAllocationPreset, Dama, DirectionConfig, LossConfig, QueueConfig,
    QueueLimit,
};
use bentpipe_units::{Bytes, LinearDelay, Rate, Ratio, Span, Time};
use common::{
    cannot_run, client, direction, hop, inside, one_hop, path, server_socket, server_v4, start,
    start_with, stop, testbed, udp_socket,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Returns the time until the server's kernel refuses a connection: one RTT without any program.
fn refusal(emulator: &Emulator, index: usize, server: IpAddr) -> Duration {
    let connect = || {
        let begin = Instant::now();
        let error = TcpStream::connect(SocketAddr::new(server, 9)).expect_err("no listener");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
        begin.elapsed()
    };
    inside(client(emulator, index), connect)
}

/// Three connections that were refused. Another process may delay single ones.
struct Refusals {
    /// The shortest time until a refusal.
    best: Duration,
    /// Most SYNs that the kernel may have repeated: it waits a second or more before each.
    repeated: u64,
}

impl Refusals {
    fn new(emulator: &Emulator, index: usize, server: IpAddr) -> Self {
        let times = [(); 3].map(|()| refusal(emulator, index, server));
        let best = times.into_iter().min().expect("three refusals");
        Self { best, repeated: times.iter().map(Duration::as_secs).sum() }
    }
}

/// Checks that `packets` are the `expected` ones, and repeated SYNs if the machine was very busy.
fn assert_packets(packets: u64, expected: u64, repeated: u64) {
    assert!(
        (expected..=expected + repeated).contains(&packets),
        "{packets} packets, expected {expected} and at most {repeated} repeated"
    );
}

/// Checks that `measured` is at least `min_delay`, and at most 60 ms longer.
///
/// The margin is for a busy machine, which wakes this thread without priority late: 11 ms were
/// measured at a load average of 24.
fn assert_ms(measured: Duration, min_delay: f64) {
    const BUSY: f64 = 60.0;
    let ms = measured.as_secs_f64() * 1e3;
    assert!(
        (min_delay..min_delay + BUSY).contains(&ms),
        "{ms} ms, expected {min_delay} to {}",
        min_delay + BUSY
    );
}

#[test]
fn rtt_matches_the_path_for_ipv4_and_ipv6() {
    if cannot_run() {
        return;
    }
    let emulator = one_hop(&direction(50, 120), &direction(10, 80));
    let mut repeated = 0;
    for server in server_addresses() {
        let refusals = Refusals::new(&emulator, 0, server);
        // 200 ms and the transmission of two small packets.
        assert_ms(refusals.best, 200.0);
        repeated += refusals.repeated;
    }
    let report = stop(emulator);
    assert_packets(report.forward.packets_written, 6, repeated);
    assert_packets(report.reverse.packets_written, 6, repeated);
}

#[test]
fn hop_delays_add_up_and_separate_terminals_do_not_share_links() {
    if cannot_run() {
        return;
    }
    let hops = vec![
        hop("home", &direction(100, 5), &direction(100, 5), false),
        hop("satellite", &direction(50, 100), &direction(10, 100), true),
    ];
    let emulator = start(hops, 2);
    let [first, second] = [0, 1].map(|client| Refusals::new(&emulator, client, server_v4()));
    assert_ms(first.best, 210.0);
    assert_ms(second.best, 210.0);
    // From one client to the other, forwarded by the server: twice over both hops in each
    // direction.
    let between = Refusals::new(&emulator, 0, client_addresses(1)[0]);
    assert_ms(between.best, 420.0);
    let report = stop(emulator);
    let names: Vec<&str> = report.forward.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["satellite/forward", "home/forward#0", "home/forward#1"]);
    assert_eq!(report.reverse.links[0].name, "home/return#0");
    // Three SYNs to the server and three to the other client.
    let packets = report.reverse.links[0].counters.packets_out;
    assert_packets(packets, 6, first.repeated + between.repeated);
}

#[test]
fn capacity_allocation_limits_a_terminal_to_its_share() {
    if cannot_run() {
        return;
    }
    // 4 Mbps, of which each terminal has 1 Mbps in every frame and nothing on demand.
    let cra = CapacityAllocationPreset::find("cra").expect("preset exists").dama;
    let allocation = CapacityAllocation::Dama(Dama { cra: Rate::from_mbps(1), ..cra });
    let emulator = start(
        vec![hop(
            "satellite",
            &direction(20, 40),
            &DirectionConfig { allocation, ..direction(4, 40) },
            true,
        )],
        2,
    );
    let (_server, to) = server_socket(&emulator, server_v4());
    std::thread::scope(|scope| {
        // 8 Mbps and 400 kbps, for one second.
        for (index, gap_ms) in [(0, 1), (1, 20)] {
            let socket = udp_socket(client(&emulator, index), server_v4());
            scope.spawn(move || {
                for _ in 0..1000 / gap_ms {
                    socket.send_to(&[1; 972], to).expect("sends");
                    std::thread::sleep(Duration::from_millis(gap_ms));
                }
            });
        }
    });
    let seconds = emulator.elapsed().as_secs_f64();
    std::thread::sleep(Duration::from_millis(300));
    let report = stop(emulator);
    let [greedy, modest] = &report.reverse.links[0].terminals[..] else {
        panic!("expected two terminals: {report:?}")
    };
    assert_eq!((modest.packets_in, modest.packets_out), (50, 50), "{modest:?}");
    assert_eq!(greedy.packets_in, 1000);
    let mbps = greedy.bytes_out as f64 * 8.0 / 1e6 / (seconds + 0.3);
    // At most its share, and most of it: a frame holds three packets and part of another.
    assert!((0.6..=1.05).contains(&mbps), "{mbps}");
}

#[test]
fn a_delay_change_affects_only_its_terminal() {
    if cannot_run() {
        return;
    }
    let spec = path(vec![hop("sky", &direction(50, 20), &direction(50, 20), true)]);
    // From 500 ms on, terminal 1 has 150 ms of delay in each direction, as after a handover to a
    // more distant satellite.
    let changes = vec![(
        Time::from_millis(500),
        LinearDelay::new(Time::from_millis(500), Span::from_millis(150), 0),
    )];
    let change = DelayChanges { hop: 0, terminal: 1, forward: changes.clone(), reverse: changes };
    let begin = |change: &DelayChanges| {
        Emulator::start_with_delay_changes(
            testbed(2),
            &spec,
            std::slice::from_ref(change),
            EmulatorSettings::default(),
            &Monitor::default(),
        )
    };
    let emulator = begin(&change).expect("emulator starts");
    let server = server_v4();
    if emulator.elapsed() < Span::from_millis(200) {
        assert_ms(refusal(&emulator, 1, server), 40.0);
    }
    while emulator.elapsed() < Span::from_millis(510) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_ms(Refusals::new(&emulator, 1, server).best, 300.0);
    assert_ms(Refusals::new(&emulator, 0, server).best, 40.0);
    stop(emulator);

    for wrong in
        [DelayChanges { hop: 1, ..change.clone() }, DelayChanges { terminal: 2, ..change.clone() }]
    {
        let error = begin(&wrong).expect_err("invalid delay change");
        assert!(error.to_string().contains("allowed"), "{error}");
    }
}

/// Sends `bytes` from the server to the client over TCP. Returns the time from the first byte to
/// the last.
fn download(emulator: &Emulator, bytes: usize) -> Duration {
    let listener = inside(emulator.testbed().server(), || TcpListener::bind(("0.0.0.0", 0)))
        .expect("binds a listener");
    let port = listener.local_addr().expect("has an address").port();
    let address = SocketAddr::new(server_v4(), port);
    let connect = || TcpStream::connect(address);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepts");
            stream.write_all(&vec![b'x'; bytes]).expect("sends");
        });
        let mut stream = inside(client(emulator, 0), connect).expect("connects");
        let (mut buffer, mut received, mut begin) = (vec![0; 1 << 16], 0, None);
        loop {
            let length = stream.read(&mut buffer).expect("reads");
            let now = Instant::now();
            let begin = *begin.get_or_insert(now);
            received += length;
            if length == 0 {
                assert_eq!(received, bytes);
                return now - begin;
            }
        }
    })
}

#[test]
fn a_tcp_download_reaches_the_link_rate() {
    if cannot_run() {
        return;
    }
    // With a short RTT and a deep queue, any congestion control of the kernel soon fills the link.
    let emulator = one_hop(&direction(20, 5), &direction(20, 5));
    let seconds = download(&emulator, 5_000_000).as_secs_f64();
    let goodput = 5.0 * 8.0 / seconds;
    // A packet of 1500 bytes carries 1448 of payload.
    assert!((12.0..19.4).contains(&goodput), "{goodput} Mbps");
    let report = stop(emulator);
    assert!(report.forward.packets_written > 3453, "super-packets are split: {report:?}");
    assert!(report.forward.links[0].counters.bytes_out > 5_000_000 + 3453 * 52);
}

/// Sends `count` datagrams of `payload` bytes to the server, one per millisecond. Returns the
/// number that arrive.
fn datagrams(emulator: &Emulator, count: usize, payload: usize) -> usize {
    let (server, address) = server_socket(emulator, server_v4());
    let client = udp_socket(client(emulator, 0), server_v4());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..count {
                client.send_to(&vec![7; payload], address).expect("sends");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut buffer = vec![0; 2048];
        std::iter::from_fn(|| server.recv(&mut buffer).ok())
            .inspect(|length| assert_eq!(*length, payload))
            .count()
    })
}

#[test]
fn lost_datagrams_match_the_link_counters() {
    if cannot_run() {
        return;
    }
    let lossy = DirectionConfig {
        loss: LossConfig::bernoulli(Ratio::new(0.2).expect("valid ratio")),
        ..direction(20, 20)
    };
    let emulator = one_hop(&direction(20, 20), &lossy);
    let arrived = datagrams(&emulator, 500, 1000);
    let report = stop(emulator);
    let counters = &report.reverse.links[0].counters;
    assert_eq!((counters.packets_in, counters.packets_out), (500, arrived as u64));
    // The seed determines the losses. Expected: 100 with a standard error of 9.
    assert!((60..140).contains(&counters.dropped_loss.packets), "{counters:?}");

    // 1 Mbps carries 122 packets of 1028 bytes per second. The queue of one BDP holds five.
    let emulator = one_hop(&direction(20, 20), &direction(1, 20));
    let arrived = datagrams(&emulator, 500, 1000);
    let report = stop(emulator);
    let counters = &report.reverse.links[0].counters;
    assert_eq!(counters.packets_in, 500);
    assert_eq!(counters.dropped_queue.packets, 500 - arrived as u64, "{counters:?}");
    assert!(counters.dropped_queue.packets > 100, "{counters:?}");
    assert_eq!(
        report.forward.dropped_by_emulator() + report.reverse.dropped_by_emulator(),
        0,
        "{report:?}"
    );
}

#[test]
fn packets_dropped_by_the_emulator_are_counted_and_reported() {
    if cannot_run() {
        return;
    }
    // Memory for ten packets, with 200 in flight.
    let settings = EmulatorSettings { memory: Bytes::new(12_000), ..EmulatorSettings::default() };
    let hops = vec![hop("access", &direction(20, 200), &direction(20, 200), true)];
    let emulator = start_with(hops, 1, settings, &Monitor::default());
    let arrived = datagrams(&emulator, 200, 1000);
    let report = stop(emulator);
    assert_eq!(report.reverse.dropped_memory, 200 - arrived as u64);
    assert!(report.reverse.dropped_memory > 100, "{report:?}");
    let warnings = report.warnings(Span::from_secs(10));
    assert!(warnings.iter().any(|warning| warning.contains("memory limit")), "{warnings:?}");
}

#[test]
fn two_emulators_run_independently() {
    if cannot_run() {
        return;
    }
    let slow = one_hop(&direction(20, 150), &direction(20, 150));
    let fast = one_hop(&direction(20, 10), &direction(20, 10));
    let server = server_v4();
    let (slow_refusals, fast_times) = std::thread::scope(|scope| {
        let slow = scope.spawn(|| Refusals::new(&slow, 0, server));
        let fast = [(); 10].map(|()| refusal(&fast, 0, server));
        (slow.join().expect("slow emulator"), fast)
    });
    assert_ms(slow_refusals.best, 300.0);
    assert_ms(fast_times.into_iter().min().expect("ten refusals"), 20.0);
    assert_packets(stop(slow).reverse.packets_read, 3, slow_refusals.repeated);
    let repeated = fast_times.iter().map(Duration::as_secs).sum();
    assert_packets(stop(fast).reverse.packets_read, 10, repeated);
}

#[test]
fn merged_packets_arrive_separately_and_in_order() {
    if cannot_run() {
        return;
    }
    // With frames of 40 ms at 20 Mbps, about 60 packets are due at the same time and delivered as
    // one super-packet.
    let queue = QueueConfig::drop_tail(QueueLimit::Bytes(Bytes::from_mb(1)));
    let framed = DirectionConfig { frame: Some(Span::from_millis(40)), queue, ..direction(20, 5) };
    let emulator = one_hop(&framed, &framed);
    for server in server_addresses() {
        let (receiver, to) = server_socket(&emulator, server);
        let sender = udp_socket(client(&emulator, 0), server);
        // Each has its own contents. Every hundredth is shorter than the others.
        let length = |number: u32| if number % 100 == 99 { 700 } else { 1000 };
        let payload = move |number: u32| number.to_be_bytes().repeat(length(number) / 4);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..300 {
                    sender.send_to(&payload(number), to).expect("sends");
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
            // Reads while they arrive, because the kernel buffers about a hundred.
            let mut buffer = vec![0; 4096];
            for number in 0..300 {
                let got = receiver.recv(&mut buffer).expect("datagram arrives");
                assert!(buffer[..got] == payload(number), "{server}, datagram {number}");
            }
        });
    }
    let report = stop(emulator);
    assert_eq!(report.reverse.packets_written, 600, "{report:?}");
    let emulator = one_hop(&framed, &framed);
    download(&emulator, 2_000_000);
    assert_eq!(stop(emulator).forward.dropped_write, 0);
}
