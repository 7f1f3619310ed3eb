//! The readers of the formats: a file each, and how one format is told from another.

mod atlas;
mod dish;
mod iperf3;
mod irtt;
mod leoreplayer;
mod ping;
mod ping_table;
mod udp;

use crate::error::{Fault, ImportError};
use crate::format::Format;
use crate::measured::Measured;

/// Number of characters that are looked at to tell a format.
const LOOK: usize = 4096;
/// Largest file, compressed or not.
const MAX_BYTES: u64 = 256 << 20;

/// Reads the file called `name`, of which errors speak. A file compressed with gzip or Zstandard is
/// read as its content. Without `format` the content tells it.
///
/// # Errors
/// The format is unknown, or a line is invalid.
pub fn read(name: &str, bytes: Vec<u8>, format: Option<Format>) -> Result<Measured, ImportError> {
    parsed(bytes, format).map_err(|fault| fault.in_file(name))
}

fn parsed(bytes: Vec<u8>, format: Option<Format>) -> Result<Measured, Fault> {
    let bytes = bentpipe_captures::decompressed(bytes, MAX_BYTES)
        .map_err(|error| Fault::whole(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Fault::whole(format!("it has more than {MAX_BYTES} bytes; allowed: a part")));
    }
    other(&bytes)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Fault::at(line, "it is no text; allowed: files that `bentpipe import --help` lists")
    })?;
    let format = match format {
        Some(format) => format,
        None => recognised(text)?,
    };
    match format {
        Format::Ping => ping::read(text),
        Format::PingTable => ping_table::read(text),
        Format::Irtt => irtt::read(text),
        Format::Atlas => atlas::read(text),
        Format::Iperf3 => iperf3::read(text),
        Format::Mahimahi => leoreplayer::opportunities(text),
        Format::LeoReplayer => leoreplayer::delays(text),
        Format::Dish => dish::read(text),
        Format::UdpRecords => udp::read(text),
    }
}

/// Refuses files of other kinds, with the way in which they can be used.
fn other(bytes: &[u8]) -> Result<(), Fault> {
    const PCAP: [[u8; 4]; 5] = [
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    if PCAP.iter().any(|magic| bytes.starts_with(magic)) {
        let problem = "it is a capture; `bentpipe explain FILE --scenario NEW.toml` makes a \
            scenario of one";
        return Err(Fault::whole(problem));
    }
    if bytes.starts_with(b"PAR1") {
        let problem = "it is a Parquet file; allowed: its columns @timestamp, \
            pop_ping_drop_rate, pop_ping_latency_ms, downlink_throughput_bps and \
            uplink_throughput_bps as CSV with the header of starlink-grpc-tools";
        return Err(Fault::whole(problem));
    }
    if bytes.is_empty() {
        return Err(Fault::whole("it is empty"));
    }
    Ok(())
}

/// Tells the format of a text.
fn recognised(text: &str) -> Result<Format, Fault> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let look: String = start.chars().take(LOOK).collect();
    let first = look.lines().find(|line| !line.starts_with('#')).unwrap_or_default().trim();
    if look.starts_with('{') || look.starts_with('[') && !ping::is_line(first) {
        return json(text);
    }
    let format = if ping::is_format(&look) {
        Format::Ping
    } else if dish::is_header(first) {
        Format::Dish
    } else if udp::is_header(first) {
        Format::UdpRecords
    } else if first.starts_with("time_s,") {
        let problem = "it is a recording already; allowed: `recording = \"FILE\"` in a direction \
            of a scenario";
        return Err(Fault::at(1, problem));
    } else if ping_table::is_first(first) {
        Format::PingTable
    } else if leoreplayer::is_trace(text) {
        Format::Mahimahi
    } else if leoreplayer::is_number(first) {
        Format::LeoReplayer
    } else {
        return Err(Fault::at(1, unknown()));
    };
    Ok(format)
}

/// Tells the tool that wrote a document of JSON.
fn json(text: &str) -> Result<Format, Fault> {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("round_trips") {
        Ok(Format::Irtt)
    } else if has("test_start") || has("intervals") {
        Ok(Format::Iperf3)
    } else if has("dishGetHistory") || has("popPingLatencyMs") {
        Ok(Format::Dish)
    } else if has("prb_id") || has("msm_id") {
        Ok(Format::Atlas)
    } else if has("qlog_version") || has("qlog_format") {
        let problem = "it is qlog; `bentpipe explain FILE --scenario NEW.toml` makes a scenario \
            of one";
        Err(Fault::whole(problem))
    } else {
        Err(Fault::at(1, unknown()))
    }
}

fn unknown() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|(_, name)| *name).collect();
    format!("its format is none that is known; allowed: {}, or `--format`", names.join(", "))
}
