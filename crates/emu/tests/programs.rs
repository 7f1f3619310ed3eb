//! Programs and forwarded ports in the namespaces of a testbed.
// The tests measure real time.
#![allow(clippy::disallowed_methods)]

mod common;

use bentpipe_emu::{Program, TcpForwarder, UdpForwarder, server_addresses};
use common::{
    cannot_run, client, direction, inside, one_hop, server_v4, stop, testbed, udp_socket,
};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_tcp_forwarder_reaches_an_outside_service() {
    if cannot_run() {
        return;
    }
    let service = TcpListener::bind(("127.0.0.1", 0)).expect("binds a listener");
    let target = service.local_addr().expect("has an address").to_string();
    let emulator = one_hop(&direction(20, 30), &direction(20, 30));
    let forwarder = TcpForwarder::start(emulator.testbed().server(), 0, &target).expect("starts");
    let port = forwarder.port();
    std::thread::spawn(move || {
        let (mut stream, _) = service.accept().expect("accepts");
        let mut request = String::new();
        stream.read_to_string(&mut request).expect("receives the request");
        stream.write_all(request.to_uppercase().as_bytes()).expect("responds");
    });
    let to = SocketAddr::new(server_v4(), port);
    let mut stream = inside(client(&emulator, 0), || TcpStream::connect(to)).expect("connects");
    stream.write_all(b"hello").expect("sends");
    stream.shutdown(std::net::Shutdown::Write).expect("closes its direction");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("receives the response");
    assert_eq!(response, "HELLO");
    let report = forwarder.report();
    assert_eq!((report.accepted, report.refused, report.failed), (1, 0, 0));
    drop(forwarder);
    stop(emulator);
}

#[test]
fn a_udp_forwarder_returns_each_response_to_its_sender() {
    if cannot_run() {
        return;
    }
    let service = UdpSocket::bind(("127.0.0.1", 0)).expect("binds a UDP socket");
    service.set_read_timeout(Some(Duration::from_secs(5))).expect("sets a timeout");
    let target = service.local_addr().expect("has an address").to_string();
    let emulator = one_hop(&direction(20, 30), &direction(20, 30));
    let forwarder = UdpForwarder::start(emulator.testbed().server(), 0, &target).expect("starts");
    let responder = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = service.recv_from(&mut buffer) {
            let response = buffer[..length].to_ascii_uppercase();
            service.send_to(&response, from).expect("responds");
            if response == b"END" {
                return;
            }
        }
    });
    let request = |server: IpAddr, text: &'static [u8]| {
        let socket = udp_socket(client(&emulator, 0), server);
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("sets a timeout");
        let begin = Instant::now();
        socket.connect(SocketAddr::new(server, forwarder.port())).expect("connects");
        socket.send(text).expect("sends");
        let mut buffer = [0; 2048];
        let length = socket.recv(&mut buffer).expect("receives the response");
        assert!(
            begin.elapsed() >= Duration::from_millis(60),
            "crossed the path in both directions"
        );
        assert_eq!(buffer[..length], text.to_ascii_uppercase(), "{server}");
        socket
    };
    let [v4, v6] = server_addresses();
    let _open = (request(v4, b"one"), request(v6, b"two"), request(v4, b"end"));
    responder.join().expect("responder");
    let report = forwarder.report();
    assert_eq!((report.accepted, report.refused, report.failed), (3, 0, 0));
    drop(forwarder);
    stop(emulator);
}

#[test]
fn a_udp_forwarder_limits_the_number_of_senders() {
    if cannot_run() {
        return;
    }
    let service = UdpSocket::bind(("127.0.0.1", 0)).expect("binds a UDP socket");
    let emulator = one_hop(&direction(100, 1), &direction(100, 1));
    let target = service.local_addr().expect("has an address").to_string();
    let forwarder = UdpForwarder::start(emulator.testbed().server(), 0, &target).expect("starts");
    let to = SocketAddr::new(server_v4(), forwarder.port());
    let flood = || {
        for _ in 0..300 {
            let socket = UdpSocket::bind(("0.0.0.0", 0)).expect("binds a UDP socket");
            socket.send_to(b"hello", to).expect("sends");
            std::thread::sleep(Duration::from_micros(500));
        }
    };
    inside(client(&emulator, 0), flood);
    std::thread::sleep(Duration::from_millis(300));
    let report = forwarder.report();
    // Some of the 300 may share a source port, if the kernel assigns one again, and so a slot.
    assert_eq!(report.accepted, 256, "{report:?}");
    assert!((30..=44).contains(&report.refused), "{report:?}");
}

#[test]
fn a_program_returns_its_status_and_ends_with_its_children() {
    if cannot_run() {
        return;
    }
    let testbed = testbed(1);
    let client = testbed.client(0).expect("client exists");
    let run = |script: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        Program::start(client, command).expect("shell starts")
    };
    let timeout = Duration::from_secs(20);
    assert_eq!(run("exit 7").wait_for(timeout).expect("waits"), Some(7));
    assert_eq!(run("kill -9 $$").wait_for(timeout).expect("waits"), Some(137));
    let mut stubborn = run("trap 'exit 5' TERM; while :; do sleep 0.05; done");
    assert_eq!(stubborn.wait_for(Duration::from_millis(300)).expect("waits"), None);
    stubborn.terminate();
    assert_eq!(stubborn.wait_for(timeout).expect("waits"), Some(5));

    // A daemon that outlives its parent would hold the namespace.
    let marker = format!("31.{}", std::process::id());
    let mut parent = run(&format!("setsid sleep {marker} & exit 0"));
    assert_eq!(parent.wait_for(timeout).expect("waits"), Some(0));
    assert!(!is_running(&marker), "the daemon has ended when the status is returned");
    let killed = run(&format!("setsid sleep {marker} & sleep {marker}"));
    while !is_running(&marker) {
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill();
    drop(killed);
    assert!(!is_running(&marker));

    let missing =
        Program::start(client, Command::new("/no/such/program")).expect_err("no such program");
    assert!(missing.to_string().contains("/no/such/program"), "{missing}");
}

/// Returns true if a `sleep` process has `marker` among its arguments.
fn is_running(marker: &str) -> bool {
    let all = std::fs::read_dir("/proc").expect("reads /proc").flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(marker))
}
