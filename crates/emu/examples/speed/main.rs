//! Benchmark of the emulator on this machine: lateness of packets, packet rate and throughput,
//! accuracy of the link rate, and accounting of every packet, each next to its target.
//!
//! `cargo run --release -p bentpipe-emu --example speed [late|tcp|small|rate]… [busy_poll=US]
//! [gro=US]` runs the named measurements, or all of them in a minute and a half. The exit status is
//! 1 if a target is missed.
//!
//! Needs root; in a user namespace it runs without real-time priority. The load generators also
//! request real-time priority (chrt(1)), below the emulator's, so that they do not delay the
//! emulator.
// Measures real time.
#![allow(clippy::disallowed_methods)]

mod load;

use bentpipe_emu::{
    Emulator, EmulatorSettings, Hop, PathSpec, Report, Testbed, prepare, server_addresses,
};
use bentpipe_link::{DirectionConfig, QueueConfig, QueueLimit};
use bentpipe_units::{Bytes, Rate, Span};
use load::{Sender, important};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Failed = Box<dyn Error + Send + Sync>;

/// Duration of each measurement.
const LENGTH: Duration = Duration::from_secs(5);

fn main() -> Result<ExitCode, Failed> {
    prepare()?;
    let mut speed = Speed { settings: EmulatorSettings::default(), passed: true };
    let mut named = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("busy_poll", us)) => speed.settings.busy_poll = Span::from_micros(us.parse()?),
            Some(("gro", us)) => speed.settings.gro = Span::from_micros(us.parse()?),
            _ => named.push(argument),
        }
    }
    let wanted = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    println!("load average {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    if wanted("late") {
        for delay_ms in [10, 300] {
            speed.lateness(delay_ms)?;
        }
    }
    if wanted("tcp") {
        speed.tcp()?;
    }
    if wanted("small") {
        speed.small("singly", Sender::Each, Some(225_000))?;
        speed.small("singly", Sender::Each, None)?;
        speed.small("with GSO", Sender::Gso, None)?;
    }
    if wanted("rate") {
        for mbps in [10, 100, 500] {
            speed.rate(mbps)?;
        }
    }
    println!("{}", if speed.passed { "all passed" } else { "some FAILED" });
    Ok(if speed.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn path(mbps: u64, delay_ms: u64) -> Result<PathSpec, Failed> {
    let mut config = DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(delay_ms));
    // Rarely full, so that the emulator is the bottleneck.
    config.queue = QueueConfig::drop_tail(QueueLimit::Bytes(Bytes::from_mb(64)));
    let model = config.load(Path::new("."))?;
    let hop = Hop { name: "path".to_owned(), forward: model.clone(), reverse: model, shared: true };
    Ok(PathSpec {
        hops: vec![hop],
        base_rtt: Span::from_millis(2 * delay_ms),
        seed: 1,
        run: 0,
        utc: None,
    })
}

struct Speed {
    settings: EmulatorSettings,
    passed: bool,
}

impl Speed {
    fn start(&self, mbps: u64, delay_ms: u64) -> Result<Emulator, Failed> {
        Ok(Emulator::start(
            Testbed::new(1, Bytes::new(1500))?,
            &path(mbps, delay_ms)?,
            self.settings,
        )?)
    }

    /// Prints the measured value, its target and whether it was met, and the emulator's own report.
    fn print_result(
        &mut self,
        measured: &str,
        target: &str,
        passed: bool,
        report: &Report,
        length: Duration,
    ) {
        let forward = &report.forward;
        let lateness = forward.lateness;
        let unaccounted = forward.unaccounted() + report.reverse.unaccounted();
        let passed = passed && unaccounted == 0;
        self.passed &= passed;
        let percent = |cpu_time: Span| cpu_time.as_secs_f64() / length.as_secs_f64() * 100.0;
        println!("{} {measured}; target: {target}", if passed { "passed" } else { "FAILED" });
        println!(
            "       lateness {} median, {} p99, {} max; CPU {:.0} % and {:.0} %; dropped by \
             the emulator {}; unaccounted {unaccounted}{}",
            lateness.p50,
            lateness.p99,
            lateness.max,
            percent(forward.cpu_time),
            percent(report.reverse.cpu_time),
            forward.dropped_by_emulator() + report.reverse.dropped_by_emulator(),
            forward
                .without_realtime
                .as_deref()
                .map_or(String::new(), |why| format!("; no real-time priority: {why}")),
        );
    }

    /// 100 Mbps of 1250-byte packets, one every 100 us.
    fn lateness(&mut self, delay_ms: u64) -> Result<(), Failed> {
        let emulator = self.start(1000, delay_ms)?;
        let (server, client) = load::sockets(&emulator)?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| -> Result<(), Failed> {
            scope.spawn(|| load::receive_all(&client, &stop));
            // On a separate thread, so that threads started later do not inherit its priority.
            let sender = scope.spawn(|| {
                important(2);
                load::send(&server, Sender::Each, 1222, Some(10_000), LENGTH)
            });
            sender.join().map_err(|_| "the sender panicked")??;
            thread::sleep(Duration::from_millis(delay_ms + 100));
            stop.store(true, Ordering::Relaxed);
            Ok(())
        })?;
        let report = emulator.stop()?;
        let mbps = report.forward.bytes_written as f64 * 8.0 / LENGTH.as_secs_f64() / 1e6;
        let lateness = report.forward.lateness;
        let measured = format!(
            "late:  {delay_ms} ms, {mbps:.1} Mbps: {} median, {} p99",
            lateness.p50, lateness.p99
        );
        let passed =
            lateness.p50 <= Span::from_micros(25) && lateness.p99 <= Span::from_micros(100);
        self.print_result(&measured, "25 us and 100 us", passed, &report, LENGTH);
        Ok(())
    }

    /// One TCP flow over a path faster than the machine.
    fn tcp(&mut self) -> Result<(), Failed> {
        let emulator = self.start(20_000, 0)?;
        let listener =
            emulator.testbed().server().inside(|| TcpListener::bind(("0.0.0.0", 0)))??;
        let address = SocketAddr::new(server_addresses()[0], listener.local_addr()?.port());
        let client = emulator.testbed().client(0)?;
        let begin = Instant::now();
        let received = thread::scope(|scope| -> Result<u64, Failed> {
            scope.spawn(move || -> Result<(), Failed> {
                let (mut stream, _) = listener.accept()?;
                let (data, begin) = (vec![0; 1 << 17], Instant::now());
                while begin.elapsed() < LENGTH {
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
        let length = begin.elapsed();
        let gbps = received as f64 * 8.0 / length.as_secs_f64() / 1e9;
        let report = emulator.stop()?;
        self.print_result(
            &format!("tcp:   {gbps:.2} Gbps in one flow"),
            "2 Gbps",
            gbps >= 2.0,
            &report,
            length,
        );
        Ok(())
    }

    /// UDP packets of 92 bytes (64 of payload), at a rate or as fast as the sender can.
    fn small(&mut self, how: &str, sender: Sender, each_second: Option<u32>) -> Result<(), Failed> {
        let emulator = self.start(20_000, 0)?;
        let (server, client) = load::sockets(&emulator)?;
        let stop = AtomicBool::new(false);
        let ((sent, each), received) = thread::scope(|scope| -> Result<_, Failed> {
            let receiver = scope.spawn(|| {
                important(1);
                load::receive_all(&client, &stop)
            });
            let sender = scope.spawn(move || {
                // A paced sender runs above the receiver. An unpaced one must not starve it.
                important(if each_second.is_some() { 2 } else { 1 });
                load::send(&server, sender, 64, each_second, LENGTH)
            });
            let sent = sender.join().map_err(|_| "the sender panicked")??;
            thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
            Ok((sent, receiver.join().map_err(|_| "the receiver panicked")?))
        })?;
        let report = emulator.stop()?;
        let thousands = |packets: u64| packets as f64 / LENGTH.as_secs_f64() / 1e3;
        let carried = thousands(report.forward.packets_written);
        let offered = each_second
            .map_or("as fast as possible".to_owned(), |rate| format!("{rate} per second"));
        let measured = format!(
            "small: {carried:.1} thousand packets per second (sent {how}, {offered}: {:.1} \
             thousand, {each:.1?} of CPU time each; {:.1} thousand reached the program)",
            thousands(sent),
            thousands(received)
        );
        self.print_result(&measured, "220 thousand", carried >= 220.0, &report, LENGTH);
        Ok(())
    }

    /// The link rate in every 1 s window in steps of 10 ms, by the receiving kernel's timestamps.
    fn rate(&mut self, mbps: u64) -> Result<(), Failed> {
        const SECONDS: usize = 6;
        let emulator = self.start(mbps, 10)?;
        let (server, client) = load::sockets(&emulator)?;
        // 5 % above the link rate, so that the link is never idle.
        let each_second = (mbps * 1_000_000 / 8 / 1500 * 105 / 100) as u32;
        let length = Duration::from_secs(SECONDS as u64 + 1);
        // Bytes in each 10 ms since the first packet.
        let bins = thread::scope(|scope| -> Result<Vec<u64>, Failed> {
            let sender = scope.spawn(move || {
                important(2);
                load::send(&server, Sender::Each, 1472, Some(each_second), length)
            });
            let receiver = scope.spawn(|| {
                important(1);
                load::received_by_time(&client, 100 * SECONDS)
            });
            sender.join().map_err(|_| "the sender panicked")??;
            receiver.join().map_err(|_| "the receiver panicked")?
        })?;
        let of = |window: &[u64]| {
            (window.iter().sum::<u64>() as f64 * 8.0 / 1e6 / (mbps as f64) - 1.0) * 100.0
        };
        // Skips the first 100 ms, while the sender builds its queue.
        let errors: Vec<f64> = bins.windows(100).skip(10).map(of).collect();
        let (low, high) = errors
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), error| (low.min(*error), high.max(*error)));
        let report = emulator.stop()?;
        let measured =
            format!("rate:  {mbps} Mbps, any second within {low:+.2} % and {high:+.2} %");
        self.print_result(&measured, "0.5 %", low >= -0.5 && high <= 0.5, &report, length);
        Ok(())
    }
}
