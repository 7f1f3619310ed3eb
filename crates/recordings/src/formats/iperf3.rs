//! iperf3's JSON: bytes in each interval. Rates of payload become rates of IP packets.

use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Direction, Measured, RateBin};
use crate::table::bounded;
use serde::Deserialize;

/// Bytes of IP and TCP headers with the time stamp option, beside each segment.
const TCP_HEADERS: f64 = 52.0;
/// Bytes of IP and UDP headers.
const UDP_HEADERS: f64 = 28.0;
/// Shortest bin: a sender counts bytes when it writes them, 128 kB at a time.
const BIN_S: f64 = 1.0;
const NANOS: f64 = 1e9;

#[derive(Deserialize)]
struct Document {
    start: Start,
    intervals: Vec<Interval>,
}

#[derive(Deserialize)]
struct Start {
    timestamp: Stamp,
    #[serde(default)]
    tcp_mss_default: f64,
    test_start: Test,
}

#[derive(Deserialize)]
struct Stamp {
    timesecs: i64,
}

#[derive(Deserialize)]
struct Test {
    protocol: String,
    #[serde(default)]
    reverse: u8,
    blksize: f64,
}

#[derive(Deserialize)]
struct Interval {
    streams: Vec<Stream>,
}

#[derive(Deserialize)]
struct Stream {
    start: f64,
    end: f64,
    bytes: f64,
    #[serde(default)]
    omitted: bool,
    #[serde(default)]
    retransmits: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    lost_packets: u64,
    rtt: Option<f64>,
}

/// Reads the JSON of iperf3.
///
/// # Errors
/// It is not what iperf3 writes.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let document: Document = serde_json::from_str(text)?;
    bounded(document.intervals.len(), 1)?;
    let Start { timestamp, tcp_mss_default: mss, test_start: test } = &document.start;
    let start = timestamp.timesecs;
    if !(0..7_258_118_400).contains(&start) {
        return Err(Fault::whole(format!("`timesecs` is {start}; allowed: seconds since 1970")));
    }
    let direction = if test.reverse == 0 { Direction::Up } else { Direction::Down };
    let udp = test.protocol == "UDP";
    // Headers per byte of payload.
    let per_packet = if udp { test.blksize } else { *mss };
    let headers = if udp { UDP_HEADERS } else { TCP_HEADERS };
    let factor = if per_packet >= 1.0 { 1.0 + headers / per_packet } else { 1.0 };
    let mut bins: Vec<RateBin> = Vec::new();
    let mut open: Option<(f64, f64, f64)> = None;
    let (mut bytes, mut retransmits, mut packets, mut lost) = (0.0, 0u64, 0u64, 0u64);
    for interval in &document.intervals {
        let streams = interval.streams.iter().filter(|stream| !stream.omitted);
        let (mut from, mut to, mut sum) = (f64::MAX, 0.0f64, 0.0);
        for stream in streams {
            let valid = 0.0..1e7;
            if !valid.contains(&stream.start) || !valid.contains(&stream.end) || stream.bytes < 0.0
            {
                let problem = format!(
                    "an interval from {} to {} s with {} bytes",
                    stream.start, stream.end, stream.bytes
                );
                return Err(Fault::whole(problem));
            }
            (from, to) = (from.min(stream.start), to.max(stream.end));
            sum += stream.bytes;
            retransmits = retransmits.saturating_add(stream.retransmits);
            packets = packets.saturating_add(stream.packets);
            lost = lost.saturating_add(stream.lost_packets);
        }
        if from >= to {
            continue;
        }
        bytes += sum;
        let (begun, _, before) = open.unwrap_or((from, to, 0.0));
        open = Some((begun, to, before + sum));
        if to - begun >= BIN_S - 0.01 {
            bins.extend(open.take().map(|bin| rate(bin, start, factor)));
        }
    }
    if bins.is_empty() {
        return Err(Fault::whole("there is no interval of a second or more in it"));
    }
    let last = bins.last().map_or(0, |bin| bin.end) - start * NANOS as i64;
    let mbps = bytes * 8.0 / (last as f64 / NANOS) / 1e6;
    let mut notes = vec![format!("{mbps:.3} Mbps of payload, {}", direction.name())];
    if udp {
        notes.push(format!("{packets} packets sent, {lost} lost: those that found no capacity"));
    } else {
        notes.push(format!("{retransmits} retransmissions; a rate of TCP is a lower bound"));
        let loaded = document.intervals.iter().flat_map(|interval| &interval.streams);
        if loaded.into_iter().any(|stream| stream.rtt.is_some_and(|rtt| rtt > 0.0)) {
            notes.push("RTTs of the loaded connection contain its queue: not used".to_owned());
        }
    }
    let delays_ms = vec![None; bins.len()];
    let content = Content::Rates { bins, direction: Some(direction), delays_ms };
    Ok(Measured { format: Format::Iperf3, content, utc: true, notes })
}

/// Returns the rate of IP packets of a bin (start, end, bytes of payload).
fn rate((from, to, bytes): (f64, f64, f64), start: i64, factor: f64) -> RateBin {
    let nanos = |secs: f64| start * NANOS as i64 + (secs * NANOS).round() as i64;
    RateBin { start: nanos(from), end: nanos(to), bps: bytes * 8.0 * factor / (to - from) }
}
