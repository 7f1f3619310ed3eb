//! Runs one download over a GEO path, with the library alone: `cargo run --release -p bentpipe-sim
//! --example transfer -- 100`.
//!
//! Arguments: megabytes (100), forward Mbps (250), return Mbps (3), RTT in ms (600), protocol `h3`,
//! `raw`, `h2`, `h1` or `tcp`, output `none`, `trace`, `qlog`, `qvis`, `capture` or `encrypt`, and
//! a directory for qlog and capture files. `congestion=bbr3`, `start=standard` and `ack=1:10` may
//! stand anywhere between them.
#![allow(clippy::disallowed_methods, reason = "an example writes where it is told to")]

use bentpipe_link::DirectionConfig;
use bentpipe_quic::qlog::Forms;
use bentpipe_quic::{Http, QuicSettings};
use bentpipe_sim::{
    CapturePoint, FlowSpec, HopEnd, HopSpec, Object, RunSpec, Stack, TcpStack, Visit,
};
use bentpipe_tcp::http::{self, Version};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Returns the stack called `name`, with windows that do not limit it on a path of `bdp`.
fn stack(name: &str, chosen: QuicSettings, bdp: Bytes) -> Result<Stack, String> {
    let window = bdp.mul_f64(4.0);
    let send_buffer = bdp.mul_f64(2.0) + Bytes::from_mb(1);
    let version = match name {
        "h3" | "raw" => {
            return Ok(Stack::quic(QuicSettings {
                http: if name == "raw" { Http::Raw } else { Http::H3 },
                stream_window: window,
                connection_window: window,
                send_buffer,
                ..chosen
            }));
        }
        "h2" => Version::H2,
        "h1" => Version::H1,
        "tcp" => Version::Raw,
        _ => return Err(format!("`{name}` is unknown; allowed: h3, raw, h2, h1, tcp")),
    };
    let http = http::HttpSettings {
        version,
        connections: 6,
        stream_window: window,
        connection_window: window,
        priorities: false,
    };
    let receive_buffer = bdp.mul_f64(8.0).max(Bytes::from_mb(1));
    let tcp = bentpipe_tcp::TcpSettings { receive_buffer, send_buffer, ..Default::default() };
    Ok(Stack::Tcp(Box::new(TcpStack { tcp, congestion: chosen.congestion, http, pep: None })))
}

/// Returns the settings that `choices` change.
fn chosen(choices: &[String]) -> Result<QuicSettings, Box<dyn std::error::Error>> {
    let mut chosen = QuicSettings::default();
    for choice in choices {
        match choice.split_once('=') {
            Some(("congestion", name)) => chosen.congestion.controller = name.parse()?,
            Some(("start", name)) => chosen.congestion.slow_start = name.parse()?,
            Some(("ack", ratio)) => chosen.ack = ratio.parse()?,
            _ => {
                return Err(format!(
                    "`{choice}` is unknown; allowed: congestion=NAME, start=NAME, ack=1:N"
                )
                .into());
            }
        }
    }
    Ok(chosen)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (choices, arguments): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.contains('='));
    let chosen = chosen(&choices)?;
    let number =
        |index: usize, default: u64| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let (megabytes, forward, back, rtt) =
        (number(0, 100)?, number(1, 250)?, number(2, 3)?, number(3, 600)?);
    let text = |index: usize, default: &'static str| {
        arguments.get(index).map_or(default, String::as_str).to_owned()
    };
    let direction = |mbps| {
        DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(rtt / 2)).load(Path::new("."))
    };
    let bdp = Rate::from_mbps(forward).bytes_in(Span::from_millis(rtt));
    let spec = RunSpec {
        seed: 1,
        run: 0,
        base_rtt: Span::from_millis(rtt),
        mesh: None,
        hops: vec![HopSpec {
            name: "satellite".into(),
            forward: direction(forward)?,
            reverse: direction(back)?,
            shared: true,
        }],
        terminals: 1,
        flows: vec![FlowSpec::new(
            "download",
            stack(&text(4, "h3"), chosen, bdp)?,
            vec![Visit {
                objects: vec![Object::new("object", Bytes::from_mb(megabytes))],
                ..Visit::default()
            }],
        )],
        time_limit: Span::from_secs(3600),
        trace: (text(5, "none") == "trace").then_some(SeriesLimit::DEFAULT),
        qlog: match text(5, "none").as_str() {
            "qlog" => Forms::CURRENT,
            "qvis" => Forms::BOTH,
            _ => Forms::NONE,
        },
        controller_state: false,
        reconfigurations: Vec::new(),
        path_changes: Vec::new(),
        encrypt: text(5, "none") == "encrypt",
        capture: (text(5, "none") == "capture")
            .then(|| CapturePoint { hop: "satellite".to_owned(), end: HopEnd::default() }),
    };
    let outcome = bentpipe_sim::run(&spec, &AtomicBool::new(false))?;
    let flow = &outcome.flows[0];
    let qlog: usize = outcome.qlog.iter().map(|file| file.current.len()).sum();
    println!(
        "{megabytes} MB at {forward}/{back} Mbps, {rtt} ms: {:?}, {} packets, {} dropped, {} \
            declared lost, {} events, qlog {qlog} bytes {}",
        flow.completion,
        flow.packets_sent,
        flow.packets_lost_queue,
        flow.packets_declared_lost.unwrap_or_default(),
        outcome.events,
        flow.error.as_deref().unwrap_or_default(),
    );
    if let Some(directory) = arguments.get(6).map(Path::new) {
        std::fs::create_dir_all(directory)?;
        for file in &outcome.qlog {
            std::fs::write(directory.join(format!("{}.sqlog", file.name)), &file.current)?;
            if !file.qvis.is_empty() {
                std::fs::write(directory.join(format!("{}.qvis.sqlog", file.name)), &file.qvis)?;
            }
        }
        if let Some(capture) = &outcome.capture {
            std::fs::write(directory.join("satellite.pcapng"), capture)?;
        }
    }
    Ok(())
}
