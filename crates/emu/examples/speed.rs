//! What the emulator can do on this machine: how late packets leave, how many and how much it carries, and how well it keeps a rate.
//!
//! `cargo run --release -p bentpipe-emu --example speed [late|tcp|small|rate]…`; all of them where none is named. Needs root, or runs in a user namespace, without real-time priority then.
// It measures by the wall clock.
#![allow(clippy::disallowed_methods)]

use bentpipe_emu::{Emulator, Ground, Hop, PathSpec, Report, Settings, prepare, server_addresses};
use bentpipe_link::{DirectionConfig, QueueConfig, QueueLimit};
use bentpipe_units::{Bytes, Rate, Span};
use nix::sys::socket::sockopt::{RcvBuf, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use std::error::Error;
use std::io::IoSliceMut;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    prepare()?;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    println!("load {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    if wanted("late") {
        for spin_us in [0, 40, 100] {
            for delay_ms in [10, 300] {
                late(delay_ms, spin_us)?;
            }
        }
    }
    if wanted("tcp") {
        tcp()?;
    }
    if wanted("small") {
        small()?;
    }
    if wanted("rate") {
        for mbps in [10, 100, 500] {
            rate(mbps)?;
        }
    }
    Ok(())
}

fn path(mbps: u64, delay_ms: u64) -> Result<PathSpec, Failed> {
    let mut config = DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(delay_ms));
    // Never full for long: it is the emulator that is measured.
    config.queue = QueueConfig { limit: QueueLimit::Bytes(Bytes::from_mb(64)), codel: None };
    let model = config.load(Path::new("."))?;
    let hop = Hop { name: "path".to_owned(), forward: model.clone(), reverse: model, shared: true };
    Ok(PathSpec { hops: vec![hop], base_rtt: Span::from_millis(2 * delay_ms), seed: 1, run: 0 })
}

fn start(mbps: u64, delay_ms: u64, spin_us: u64) -> Result<Emulator, Failed> {
    let settings = Settings { spin: Span::from_micros(spin_us), ..Settings::default() };
    Ok(Emulator::start(Ground::new(1, Bytes::new(1500))?, &path(mbps, delay_ms)?, settings)?)
}

/// Sockets of the server and the client, and the client's address.
fn sockets(emulator: &Emulator) -> Result<(UdpSocket, UdpSocket, SocketAddr), Failed> {
    let bind = || UdpSocket::bind(("0.0.0.0", 0));
    let server = emulator.ground().server().inside(bind)??;
    let client = emulator.ground().client(0).ok_or("no client")?.inside(bind)??;
    let port = client.local_addr()?.port();
    client.set_read_timeout(Some(Duration::from_millis(500)))?;
    Ok((server, client, SocketAddr::new(bentpipe_emu::client_addresses(0)[0], port)))
}

fn say(what: &str, report: &Report, seconds: f64) {
    let forward = &report.forward;
    let late = forward.lateness;
    println!(
        "{what}; late {} median, {} p99, {} most; processor {:.0} % and {:.0} %; dropped by the emulator {}; unaccounted {}{}",
        late.p50,
        late.p99,
        late.max,
        forward.processor.as_secs_f64() / seconds * 100.0,
        report.reverse.processor.as_secs_f64() / seconds * 100.0,
        forward.dropped_by_emulator() + report.reverse.dropped_by_emulator(),
        forward.unaccounted() + report.reverse.unaccounted(),
        forward.without_realtime.as_deref().map_or(String::new(), |why| format!("; no real-time priority: {why}")),
    );
}

/// 100 Mbps of 1250-byte packets, each 100 us one, for five seconds.
fn late(delay_ms: u64, spin_us: u64) -> Result<(), Failed> {
    let emulator = start(1000, delay_ms, spin_us)?;
    let (server, client, to) = sockets(&emulator)?;
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 2048];
            while !stop.load(Ordering::Relaxed) {
                let _ = client.recv(&mut buffer);
            }
        });
        let mut sent = 0u32;
        while begin.elapsed() < Duration::from_secs(5) {
            // In groups, as sleeping takes longer than the time between two.
            // A sender that has too little of the processor to keep up ends all the same.
            while begin.elapsed() >= Duration::from_micros(100) * sent && begin.elapsed() < Duration::from_secs(5) {
                let _ = server.send_to(&[0; 1222], to);
                sent += 1;
            }
            thread::sleep(Duration::from_micros(50));
        }
        thread::sleep(Duration::from_millis(delay_ms + 100));
        stop.store(true, Ordering::Relaxed);
    });
    let seconds = begin.elapsed().as_secs_f64();
    let report = emulator.stop()?;
    let mbps = report.forward.bytes_written as f64 * 8.0 / 5.0 / 1e6;
    say(&format!("late:  {delay_ms} ms, spin {spin_us} us, {mbps:.1} Mbps"), &report, seconds);
    Ok(())
}

/// One TCP flow for five seconds over a path that is faster than the machine.
fn tcp() -> Result<(), Failed> {
    let emulator = start(20_000, 0, 0)?;
    let listener = emulator.ground().server().inside(|| TcpListener::bind(("0.0.0.0", 0)))??;
    let address = SocketAddr::new(server_addresses()[0], listener.local_addr()?.port());
    let client = emulator.ground().client(0).ok_or("no client")?;
    let length = Duration::from_secs(5);
    let begin = Instant::now();
    let received = thread::scope(|scope| -> Result<u64, Failed> {
        scope.spawn(move || -> Result<(), Failed> {
            let (mut stream, _) = listener.accept()?;
            let (data, begin) = (vec![0; 1 << 17], Instant::now());
            while begin.elapsed() < length {
                stream.write_all(&data)?;
            }
            Ok(())
        });
        let mut stream = client.inside(|| TcpStream::connect(address))??;
        let (mut buffer, mut received) = (vec![0; 1 << 18], 0);
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(received),
                length => received += length as u64,
            }
        }
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let gbps = received as f64 * 8.0 / seconds / 1e9;
    say(&format!("tcp:   {gbps:.2} Gbps of one flow"), &emulator.stop()?, seconds);
    Ok(())
}

/// UDP of 64 bytes in 92, as fast as a sender can.
fn small() -> Result<(), Failed> {
    let emulator = start(20_000, 0, 0)?;
    let (server, client, to) = sockets(&emulator)?;
    server.connect(to)?;
    let length = Duration::from_secs(5);
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            // Only so that packets are not answered as unreachable; the kernel may drop what nobody reads.
            let mut buffer = [0; 128];
            while client.recv(&mut buffer).is_ok() {}
        });
        while begin.elapsed() < length {
            for _ in 0..64 {
                let _ = server.send(&[0; 64]);
            }
        }
    });
    let report = emulator.stop()?;
    let kpps = report.forward.packets_written as f64 / length.as_secs_f64() / 1e3;
    let offered = (report.forward.packets_read + report.forward.dropped_ring) as f64 / length.as_secs_f64() / 1e3;
    say(&format!("small: {kpps:.0} thousand packets a second of {offered:.0} offered"), &report, length.as_secs_f64());
    Ok(())
}

/// The next datagram's length, and when the kernel received it, however late this thread is.
fn receive(socket: &UdpSocket) -> Option<(Duration, usize)> {
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut buffer = [0; 2048];
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty()).ok()?;
    let at = message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
        _ => None,
    })?;
    Some((at, message.bytes))
}

/// The rate of every second that begins at a tenth of one, as the receiver sees it.
fn rate(mbps: u64) -> Result<(), Failed> {
    const SECONDS: usize = 6;
    let emulator = start(mbps, 10, 40)?;
    let (server, client, to) = sockets(&emulator)?;
    setsockopt(&client, ReceiveTimestampns, &true)?;
    // A receiver that has no processor for a while loses nothing.
    setsockopt(&client, RcvBuf, &(16 << 20))?;
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    // Bytes in each hundredth of a second since the first packet.
    let bins = thread::scope(|scope| -> Result<Vec<u64>, Failed> {
        scope.spawn(|| {
            let gap = Duration::from_nanos(1500 * 8 * 1000 / mbps * 95 / 100);
            let begin = Instant::now();
            let mut sent = 0u32;
            while !stop.load(Ordering::Relaxed) {
                // Five in a hundred more than the link carries, so that it is never idle.
                while begin.elapsed() >= gap * sent && !stop.load(Ordering::Relaxed) {
                    let _ = server.send_to(&[0; 1472], to);
                    sent += 1;
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        let (mut bins, mut first) = (vec![0; 100 * SECONDS], None);
        while let Some((at, length)) = receive(&client) {
            let bin = (at - *first.get_or_insert(at)).as_millis() as usize / 10;
            match bins.get_mut(bin) {
                Some(bin) => *bin += length as u64 + 28,
                None => break,
            }
        }
        stop.store(true, Ordering::Relaxed);
        Ok(bins)
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let of = |window: &[u64]| window.iter().sum::<u64>() as f64 * 8.0 / 1e6 / (mbps as f64) - 1.0;
    // Not the first tenth, while the sender builds its queue.
    let errors: Vec<f64> = bins.windows(100).skip(10).map(of).collect();
    let (low, high) =
        errors.iter().fold((f64::MAX, f64::MIN), |(low, high), error| (low.min(*error), high.max(*error)));
    let what = format!("rate:  {mbps} Mbps, any second within {:+.2} % to {:+.2} %", low * 100.0, high * 100.0);
    say(&what, &emulator.stop()?, seconds);
    Ok(())
}
