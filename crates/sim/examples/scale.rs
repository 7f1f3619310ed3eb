//! Measures how CPU time and memory grow with the number of flows: `cargo run --release -p
//! bentpipe-sim --example scale -- tcp 1 10 100 1000 10000`.
//!
//! Arguments: `tcp` or `quic`, and numbers of flows. Flows download over one path, whose rate is
//! 1 Mbps for each, with an RTT of 100 ms. Prints a row of a Markdown table for each number.
//!
//! Each run is a process of its own, since the system reports the peak memory of a process. The
//! cost of a packet is the difference between a run and one of a quarter of its length, so that
//! handshakes and setup drop out.

mod common;

use bentpipe_link::DirectionConfig;
use bentpipe_quic::congestion::{CongestionConfig, SlowStartName};
use bentpipe_quic::{Http, QuicSettings};
use bentpipe_sim::{FlowSpec, HopSpec, Object, RunSpec, Stack, TcpStack, Visit};
use bentpipe_tcp::http::{self, Version};
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

type Error = Box<dyn std::error::Error>;

const RTT: Span = Span::from_millis(100);
/// Rate of the path for each flow.
const RATE: Rate = Rate::from_mbps(1);
/// Buffers of each flow: several bandwidth-delay products.
const WINDOW: Bytes = Bytes::new(64 << 10);
/// Shortest run. Runs of few flows are longer, so that they have packets to measure.
const SHORTEST_S: u64 = 10;
/// Length of a run of one flow.
const LONGEST_S: u64 = 2400;

fn stack(name: &str) -> Result<Stack, Error> {
    let congestion =
        CongestionConfig { slow_start: SlowStartName::STANDARD, ..CongestionConfig::default() };
    let http = http::HttpSettings {
        version: Version::Raw,
        connections: 1,
        stream_window: WINDOW,
        connection_window: WINDOW,
        priorities: false,
    };
    match name {
        "tcp" => {
            let tcp = bentpipe_tcp::TcpSettings {
                receive_buffer: WINDOW,
                send_buffer: WINDOW,
                ..Default::default()
            };
            Ok(Stack::Tcp(Box::new(TcpStack { tcp, congestion, http, pep: None })))
        }
        "quic" => Ok(Stack::quic(QuicSettings {
            http: Http::Raw,
            congestion,
            stream_window: WINDOW,
            connection_window: WINDOW,
            send_buffer: WINDOW,
            ..QuicSettings::default()
        })),
        _ => Err(format!("`{name}` is unknown; allowed: tcp, quic").into()),
    }
}

fn spec(name: &str, flows: u64, duration: Span) -> Result<RunSpec, Error> {
    let direction = |rate| DirectionConfig::new(rate, RTT / 2).load(Path::new("."));
    let rate = Rate::from_bps(RATE.as_bps() * flows);
    let flow = |number: u64| -> Result<FlowSpec, Error> {
        Ok(FlowSpec {
            // Spread over an RTT, so that flows do not send in step.
            start: Span::from_nanos(RTT.as_nanos() / flows * number),
            ..FlowSpec::new(
                format!("flow {number}"),
                stack(name)?,
                vec![Visit {
                    duration: Some(duration),
                    objects: vec![Object::new("object", Bytes::new(1 << 50))],
                    ..Visit::default()
                }],
            )
        })
    };
    Ok(RunSpec {
        seed: 1,
        run: 0,
        base_rtt: RTT,
        mesh: None,
        hops: vec![HopSpec {
            name: "satellite".into(),
            forward: direction(rate)?,
            reverse: direction(rate)?,
            shared: true,
        }],
        terminals: 1,
        flows: (0..flows).map(flow).collect::<Result<_, _>>()?,
        time_limit: duration * 2,
        trace: None,
        qlog: Default::default(),
        controller_state: false,
        reconfigurations: Vec::new(),
        path_changes: Vec::new(),
        encrypt: false,
        capture: None,
    })
}

/// What one run has cost.
struct Cost {
    /// Data packets sent.
    packets: u64,
    cpu_s: f64,
    /// Peak memory of the process in bytes.
    memory: u64,
}

/// Runs in this process, and prints what it has cost for [`measure`].
fn run(name: &str, flows: u64, millis: u64) -> Result<(), Error> {
    let spec = spec(name, flows, Span::from_millis(millis))?;
    let outcome = bentpipe_sim::run(&spec, &AtomicBool::new(false))?;
    let packets: u64 = outcome.flows.iter().map(|flow| flow.packets_sent).sum();
    let (cpu_s, memory) = common::usage();
    println!("{packets} {cpu_s} {memory}");
    Ok(())
}

/// Runs in a process of its own.
fn measure(name: &str, flows: u64, millis: u64) -> Result<Cost, Error> {
    let numbers = [flows.to_string(), millis.to_string()];
    let output =
        Command::new(std::env::current_exe()?).arg(name).args(["run"]).args(numbers).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace();
    let mut word = || words.next().ok_or_else(|| String::from_utf8_lossy(&output.stderr));
    Ok(Cost { packets: word()?.parse()?, cpu_s: word()?.parse()?, memory: word()?.parse()? })
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("tcp", String::as_str);
    if let [_, word, flows, millis] = &arguments[..]
        && word == "run"
    {
        return run(name, flows.parse()?, millis.parse()?);
    }
    println!("| {name} flows | data packets | µs per data packet | memory | kB per flow |");
    println!("|---|---|---|---|---|");
    let base = measure(name, 1, 1000)?.memory;
    for flows in arguments.iter().skip(1) {
        let flows: u64 = flows.parse()?;
        let millis = SHORTEST_S.max(LONGEST_S / flows.max(1)) * 1000;
        let (short, long) = (measure(name, flows, millis / 4)?, measure(name, flows, millis)?);
        let packets = long.packets - short.packets;
        println!(
            "| {flows} | {packets} | {:.2} | {:.0} MB | {:.1} |",
            (long.cpu_s - short.cpu_s) * 1e6 / packets as f64,
            long.memory as f64 / 1e6,
            long.memory.saturating_sub(base) as f64 / 1e3 / flows as f64,
        );
    }
    Ok(())
}
