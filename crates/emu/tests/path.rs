//! The emulator on a real kernel: what programs see of the path is what the path is.
//!
//! Needs CAP_SYS_ADMIN: root, or a user namespace (`unshare -Ur cargo test -p bentpipe-emu`).
//! Without, a reason is printed.
// What is tested is the wall clock.
#![allow(clippy::disallowed_methods)]

mod common;

use bentpipe_emu::{
    DelayChanges, Emulator, Monitor, Program, Settings, TcpForwarder, Testbed, UdpForwarder,
    client_addresses, server_addresses,
};
use bentpipe_link::{
    CapacityAllocation, CapacityAllocationPreset, Dama, DirectionConfig, LossConfig, QueueConfig,
    QueueLimit,
};
use bentpipe_units::{Bytes, LinearDelay, Rate, Ratio, Span, Time};
use common::{cannot_run, direction, hop, one_hop, path, start, stop};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long until the server's kernel says that nobody listens: one round trip, in which no program
/// has a part.
fn refusal(emulator: &Emulator, client: usize, server: IpAddr) -> Duration {
    let connect = || {
        let begin = Instant::now();
        let error = TcpStream::connect(SocketAddr::new(server, 9)).expect_err("nobody listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
        begin.elapsed()
    };
    emulator.testbed().client(client).expect("a client").inside(connect).expect("the namespace")
}

/// Holds that `measured` is no shorter than the path says, and not longer by more than what a busy
/// machine takes to wake this thread, which has no priority: 11 ms were seen at a load of 24.
fn assert_ms(measured: Duration, min_delay: f64) {
    const BUSY: f64 = 60.0;
    let ms = measured.as_secs_f64() * 1e3;
    assert!(
        (min_delay..min_delay + BUSY).contains(&ms),
        "{ms} ms; expected {min_delay} to {}",
        min_delay + BUSY
    );
}

#[test]
fn a_round_trip_takes_what_the_path_says_over_both_families() {
    if cannot_run() {
        return;
    }
    let emulator = one_hop(&direction(50, 120), &direction(10, 80));
    for server in server_addresses() {
        // The best of three: another process may have the processor for a moment.
        let best = (0..3).map(|_| refusal(&emulator, 0, server)).min().expect("three");
        // 200 ms and the transmission of two small packets.
        assert_ms(best, 200.0);
    }
    let report = stop(emulator);
    assert_eq!(report.forward.packets_written, 6, "{report:?}");
    assert_eq!(report.reverse.packets_written, 6, "{report:?}");
}

#[test]
fn hops_add_up_and_terminals_of_their_own_do_not_share() {
    if cannot_run() {
        return;
    }
    let hops = vec![
        hop("home", &direction(100, 5), &direction(100, 5), false),
        hop("satellite", &direction(50, 100), &direction(10, 100), true),
    ];
    let emulator = start(hops, 2);
    for client in 0..2 {
        let best =
            (0..3).map(|_| refusal(&emulator, client, server_addresses()[0])).min().expect("three");
        assert_ms(best, 210.0);
    }
    // Through the server's host, which sends on: to one client from the other, twice over both hops
    // each way.
    let to = client_addresses(1)[0];
    assert_ms((0..3).map(|_| refusal(&emulator, 0, to)).min().expect("three"), 420.0);
    let report = stop(emulator);
    let names: Vec<&str> = report.forward.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["satellite/forward", "home/forward#0", "home/forward#1"]);
    assert_eq!(report.reverse.links[0].name, "home/return#0");
    // Three refusals each, and those of the way between them: a SYN and an RST of each cross each
    // client's links.
    assert_eq!(report.reverse.links[0].counters.packets_out, 6);
}

#[test]
fn terminals_share_a_carrier_by_its_allocation_and_not_by_who_sends_more() {
    if cannot_run() {
        return;
    }
    // 4 Mbps, of which each terminal has 1 Mbps in every frame and nothing on demand.
    let cra = CapacityAllocationPreset::find("cra").expect("a preset").dama;
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
    let bind = || UdpSocket::bind(("0.0.0.0", 0)).expect("a socket");
    let server = emulator.testbed().server().inside(bind).expect("the namespace");
    let to =
        SocketAddr::new(server_addresses()[0], server.local_addr().expect("an address").port());
    std::thread::scope(|scope| {
        // 8 Mbps and 400 kbps, for a second.
        for (client, gap_ms) in [(0, 1), (1, 20)] {
            let socket = emulator
                .testbed()
                .client(client)
                .expect("a client")
                .inside(bind)
                .expect("the namespace");
            scope.spawn(move || {
                for _ in 0..1000 / gap_ms {
                    socket.send_to(&[1; 972], to).expect("sent");
                    std::thread::sleep(Duration::from_millis(gap_ms));
                }
            });
        }
    });
    let seconds = emulator.elapsed().as_secs_f64();
    std::thread::sleep(Duration::from_millis(300));
    let report = stop(emulator);
    let [greedy, modest] = &report.reverse.links[0].terminals[..] else {
        panic!("two terminals: {report:?}")
    };
    assert_eq!((modest.packets_in, modest.packets_out), (50, 50), "{modest:?}");
    assert_eq!(greedy.packets_in, 1000);
    let mbps = greedy.bytes_out as f64 * 8.0 / 1e6 / (seconds + 0.3);
    // No more than its own, and most of it: a frame holds three packets and a part of one.
    assert!((0.6..=1.05).contains(&mbps), "{mbps}");
}

#[test]
fn a_way_that_changes_while_it_is_used_is_seen_by_the_terminal_that_it_leads_to() {
    if cannot_run() {
        return;
    }
    let spec = path(vec![hop("sky", &direction(50, 20), &direction(50, 20), true)]);
    // From half a second on terminal 1 is 150 ms away each way, as behind a handover to a farther
    // satellite.
    let course = vec![(
        Time::from_millis(500),
        LinearDelay::new(Time::from_millis(500), Span::from_millis(150), 0),
    )];
    let motion = DelayChanges { hop: 0, terminal: 1, forward: course.clone(), reverse: course };
    let testbed = || Testbed::new(2, Bytes::new(1500)).expect("namespaces");
    let begin = |motion: &DelayChanges| {
        Emulator::start_with_delay_changes(
            testbed(),
            &spec,
            std::slice::from_ref(motion),
            Settings::default(),
            &Monitor::default(),
        )
    };
    let emulator = begin(&motion).expect("an emulator");
    let server = server_addresses()[0];
    if emulator.elapsed() < Span::from_millis(200) {
        assert_ms(refusal(&emulator, 1, server), 40.0);
    }
    while emulator.elapsed() < Span::from_millis(510) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let best = |client| (0..3).map(|_| refusal(&emulator, client, server)).min().expect("three");
    assert_ms(best(1), 300.0);
    assert_ms(best(0), 40.0);
    stop(emulator);

    for wrong in
        [DelayChanges { hop: 1, ..motion.clone() }, DelayChanges { terminal: 2, ..motion.clone() }]
    {
        let error = begin(&wrong).expect_err("refused");
        assert!(error.to_string().contains("allowed"), "{error}");
    }
}

/// Sends `bytes` from the server to the client over TCP; how long from the first byte to the last.
fn download(emulator: &Emulator, bytes: usize) -> Duration {
    let server = emulator.testbed().server();
    let listener = server
        .inside(|| TcpListener::bind(("0.0.0.0", 0)))
        .expect("the namespace")
        .expect("a port");
    let address =
        SocketAddr::new(server_addresses()[0], listener.local_addr().expect("an address").port());
    let connect = || TcpStream::connect(address);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.write_all(&vec![b'x'; bytes]).expect("sent");
        });
        let client = emulator.testbed().client(0).expect("a client");
        let mut stream = client.inside(connect).expect("the namespace").expect("a connection");
        let (mut buffer, mut captured, mut begin) = (vec![0; 1 << 16], 0, None);
        loop {
            let length = stream.read(&mut buffer).expect("read");
            let now = Instant::now();
            let begin = *begin.get_or_insert(now);
            captured += length;
            if length == 0 {
                assert_eq!(captured, bytes);
                return now - begin;
            }
        }
    })
}

#[test]
fn a_tcp_download_has_the_path_s_rate() {
    if cannot_run() {
        return;
    }
    // A short round trip and a deep queue: the kernel's TCP, whichever it is, fills the link after
    // a moment.
    let emulator = one_hop(&direction(20, 5), &direction(20, 5));
    let seconds = download(&emulator, 5_000_000).as_secs_f64();
    let goodput = 5.0 * 8.0 / seconds;
    // 1448 bytes of payload in 1500.
    assert!((12.0..19.4).contains(&goodput), "{goodput} Mbps");
    let report = stop(emulator);
    assert!(report.forward.packets_written > 3453, "super-packets are cut: {report:?}");
    assert!(report.forward.links[0].counters.bytes_out > 5_000_000 + 3453 * 52);
}

/// Sends so many datagrams of `payload` bytes through the path, one each millisecond; how many
/// arrive.
fn datagrams(emulator: &Emulator, count: usize, payload: usize) -> usize {
    let testbed = emulator.testbed();
    let bind = || UdpSocket::bind(("0.0.0.0", 0)).expect("a socket");
    let server = testbed.server().inside(bind).expect("the namespace");
    server.set_read_timeout(Some(Duration::from_millis(800))).expect("a timeout");
    let address =
        SocketAddr::new(server_addresses()[0], server.local_addr().expect("an address").port());
    let client = testbed.client(0).expect("a client").inside(bind).expect("the namespace");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..count {
                client.send_to(&vec![7; payload], address).expect("sent");
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
fn losses_and_drops_are_those_that_the_links_count() {
    if cannot_run() {
        return;
    }
    let lossy = DirectionConfig {
        loss: LossConfig::bernoulli(Ratio::new(0.2).expect("a ratio")),
        ..direction(20, 20)
    };
    let emulator = one_hop(&direction(20, 20), &lossy);
    let arrived = datagrams(&emulator, 500, 1000);
    let report = stop(emulator);
    let counters = &report.reverse.links[0].counters;
    assert_eq!((counters.packets_in, counters.packets_out), (500, arrived as u64));
    // The seed is fixed, and with it what is lost: 100 expected, one standard error is 9.
    assert!((60..140).contains(&counters.dropped_loss.packets), "{counters:?}");

    // 1 Mbps carries 122 packets of 1028 bytes a second; the queue of a round trip holds five.
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
fn what_the_emulator_itself_drops_is_counted_and_said() {
    if cannot_run() {
        return;
    }
    let testbed = Testbed::new(1, Bytes::new(1500)).expect("namespaces");
    // Room for ten packets; 200 are under way.
    let settings = Settings { memory: Bytes::new(12_000), ..Settings::default() };
    let spec = path(vec![hop("access", &direction(20, 200), &direction(20, 200), true)]);
    let emulator = Emulator::start(testbed, &spec, settings).expect("an emulator");
    let arrived = datagrams(&emulator, 200, 1000);
    let report = stop(emulator);
    assert_eq!(report.reverse.dropped_memory, 200 - arrived as u64);
    assert!(report.reverse.dropped_memory > 100, "{report:?}");
    assert!(
        report.warnings(Span::from_secs(10)).iter().any(|doubt| doubt.contains("want of memory"))
    );
}

#[test]
fn two_emulators_at_the_same_time_do_not_meet() {
    if cannot_run() {
        return;
    }
    let slow = one_hop(&direction(20, 150), &direction(20, 150));
    let fast = one_hop(&direction(20, 10), &direction(20, 10));
    let server = server_addresses()[0];
    let (slow_took, fast_took) = std::thread::scope(|scope| {
        let slow = scope.spawn(|| (0..3).map(|_| refusal(&slow, 0, server)).min().expect("three"));
        let fast = (0..10).map(|_| refusal(&fast, 0, server)).min().expect("ten");
        (slow.join().expect("joined"), fast)
    });
    assert_ms(slow_took, 300.0);
    assert_ms(fast_took, 20.0);
    assert_eq!(stop(slow).reverse.packets_read, 3);
    assert_eq!(stop(fast).reverse.packets_read, 10);
}

#[test]
fn a_relay_leads_to_a_service_outside() {
    if cannot_run() {
        return;
    }
    let service = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let target = service.local_addr().expect("an address").to_string();
    let emulator = one_hop(&direction(20, 30), &direction(20, 30));
    let relay = TcpForwarder::start(emulator.testbed().server(), 0, &target).expect("a relay");
    let port = relay.port();
    std::thread::spawn(move || {
        let (mut stream, _) = service.accept().expect("a connection");
        let mut asked = String::new();
        stream.read_to_string(&mut asked).expect("what was asked");
        stream.write_all(asked.to_uppercase().as_bytes()).expect("answered");
    });
    let client = emulator.testbed().client(0).expect("a client");
    let mut stream = client
        .inside(|| TcpStream::connect(SocketAddr::new(server_addresses()[0], port)))
        .expect("the namespace")
        .expect("a connection");
    stream.write_all(b"hello").expect("asked");
    stream.shutdown(std::net::Shutdown::Write).expect("the end is passed on");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "HELLO");
    let report = relay.report();
    assert_eq!((report.taken, report.refused, report.failed), (1, 0, 0));
    drop(relay);
    stop(emulator);
}

#[test]
fn datagrams_reach_a_service_outside_and_each_sender_gets_its_own_answers() {
    if cannot_run() {
        return;
    }
    let service = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
    service.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let target = service.local_addr().expect("an address").to_string();
    let emulator = one_hop(&direction(20, 30), &direction(20, 30));
    let relay = UdpForwarder::start(emulator.testbed().server(), 0, &target).expect("a relay");
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = service.recv_from(&mut buffer) {
            let answer = buffer[..length].to_ascii_uppercase();
            service.send_to(&answer, from).expect("answered");
            if answer == b"END" {
                return;
            }
        }
    });
    let ask = |server: IpAddr, what: &'static [u8]| {
        let bind = || {
            UdpSocket::bind(if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })
                .expect("a socket")
        };
        let socket =
            emulator.testbed().client(0).expect("a client").inside(bind).expect("the namespace");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
        let begin = Instant::now();
        socket.connect(SocketAddr::new(server, relay.port())).expect("connected");
        socket.send(what).expect("sent");
        let mut buffer = [0; 2048];
        let length = socket.recv(&mut buffer).expect("an answer");
        assert!(begin.elapsed() >= Duration::from_millis(60), "it crossed the path both ways");
        assert_eq!(buffer[..length], what.to_ascii_uppercase(), "{server}");
        socket
    };
    let [v4, v6] = server_addresses();
    let _open = (ask(v4, b"one"), ask(v6, b"two"), ask(v4, b"end"));
    answering.join().expect("joined");
    let report = relay.report();
    assert_eq!((report.taken, report.refused, report.failed), (3, 0, 0));
    drop(relay);
    stop(emulator);
}

#[test]
fn a_relay_refuses_more_senders_than_it_has_places_for() {
    if cannot_run() {
        return;
    }
    let service = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
    let emulator = one_hop(&direction(100, 1), &direction(100, 1));
    let target = service.local_addr().expect("an address").to_string();
    let relay = UdpForwarder::start(emulator.testbed().server(), 0, &target).expect("a relay");
    let to = SocketAddr::new(server_addresses()[0], relay.port());
    let flood = || {
        for _ in 0..300 {
            let socket = UdpSocket::bind(("0.0.0.0", 0)).expect("a socket");
            socket.send_to(b"hello", to).expect("sent");
            std::thread::sleep(Duration::from_micros(500));
        }
    };
    emulator.testbed().client(0).expect("a client").inside(flood).expect("the namespace");
    std::thread::sleep(Duration::from_millis(300));
    let report = relay.report();
    // A port that the kernel gave out twice would find the place it had.
    assert_eq!(report.taken, 256, "{report:?}");
    assert!((30..=44).contains(&report.refused), "{report:?}");
}

#[test]
fn a_program_s_status_comes_back_and_all_it_started_ends_with_it() {
    if cannot_run() {
        return;
    }
    let testbed = Testbed::new(1, Bytes::new(1500)).expect("namespaces");
    let client = testbed.client(0).expect("a client");
    let run = |script: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        Program::start(client, command).expect("a shell")
    };
    let merge_delay = Duration::from_secs(20);
    assert_eq!(run("exit 7").wait_for(merge_delay).expect("waited"), Some(7));
    assert_eq!(run("kill -9 $$").wait_for(merge_delay).expect("waited"), Some(137));
    let mut stubborn = run("trap 'exit 5' TERM; while :; do sleep 0.05; done");
    assert_eq!(stubborn.wait_for(Duration::from_millis(300)).expect("waited"), None);
    stubborn.terminate();
    assert_eq!(stubborn.wait_for(merge_delay).expect("waited"), Some(5));

    // A daemon that nobody waits for: it would hold the namespace.
    let marker = format!("31.{}", std::process::id());
    let mut parent = run(&format!("setsid sleep {marker} & exit 0"));
    assert_eq!(parent.wait_for(merge_delay).expect("waited"), Some(0));
    assert!(!is_running(&marker), "the daemon is gone when the status is told");
    let killed = run(&format!("setsid sleep {marker} & sleep {marker}"));
    while !is_running(&marker) {
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill();
    drop(killed);
    assert!(!is_running(&marker));

    let missing = Program::start(client, Command::new("/no/such/program")).expect_err("refused");
    assert!(missing.to_string().contains("/no/such/program"), "{missing}");
}

/// Whether a process other than a shell has `marker` among its arguments.
fn is_running(marker: &str) -> bool {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(marker))
}

#[test]
fn packets_that_leave_together_arrive_each_by_itself_and_in_order() {
    if cannot_run() {
        return;
    }
    // Frames of 40 ms: at 20 Mbps some sixty packets are due at the same time, and are handed over
    // as one.
    let queue = QueueConfig { limit: QueueLimit::Bytes(Bytes::from_mb(1)), codel: None };
    let framed = DirectionConfig { frame: Some(Span::from_millis(40)), queue, ..direction(20, 5) };
    let emulator = one_hop(&framed, &framed);
    for server in server_addresses() {
        let unspecified = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let bind = || UdpSocket::bind(unspecified).expect("a socket");
        let receiver = emulator.testbed().server().inside(bind).expect("the namespace");
        receiver.set_read_timeout(Some(Duration::from_millis(800))).expect("a timeout");
        let sender =
            emulator.testbed().client(0).expect("a client").inside(bind).expect("the namespace");
        let to = SocketAddr::new(server, receiver.local_addr().expect("an address").port());
        // Of one length, but each hundredth, with contents of its own.
        let length = |number: u32| if number % 100 == 99 { 700 } else { 1000 };
        let payload = move |number: u32| number.to_be_bytes().repeat(length(number) / 4);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..300 {
                    sender.send_to(&payload(number), to).expect("sent");
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
            // Read while they come: the kernel holds about a hundred.
            let mut buffer = vec![0; 4096];
            for number in 0..300 {
                let got = receiver.recv(&mut buffer).expect("it arrives");
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
