//! iperf3's JSON: bytes in each interval. Rates of payload become rates of IP packets.

use super::iperf3_json::{Document, Interval, Stream, parse};
use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Direction, Measured, RateBin, Times};
use crate::rows::place;
use crate::table::{LATEST, bounded};

/// Bytes of IP and TCP headers with the time stamp option, beside each segment.
const TCP_HEADERS: f64 = 52.0;
/// Bytes of IP and UDP headers.
const UDP_HEADERS: f64 = 28.0;
/// Shortest bin: a sender counts bytes when it writes them, 128 kB at a time.
const BIN_S: f64 = 1.0;
/// Ratio of UDP packets that a path may lose, so that what was sent is a rate of the path.
const LOSS: f64 = 0.01;
const NANOS: f64 = 1e9;

/// What one direction of a test has transferred.
#[derive(Default)]
struct Series {
    bins: Vec<RateBin>,
    /// The bin that is not yet a second long: start, end, bytes.
    open: Option<(f64, f64, f64)>,
    bytes: f64,
    retransmits: u64,
    packets: u64,
    lost: u64,
    loaded_rtt: bool,
}

/// Reads the JSON of iperf3.
///
/// # Errors
/// It is not what iperf3 writes, or the file cannot say what arrived.
pub fn read(text: &str) -> Result<Measured, Fault> {
    let document = parse(text)?;
    let own = series(&document)?;
    // Of an upload only the server knows what arrived.
    let far = document.server_output_json.as_deref().map(series).transpose()?;
    let sent_up = far.is_none() && document.start.accepted_connection.is_none();
    let [mut up, down] = own;
    if let Some([far_up, _]) = far {
        up = far_up;
    }
    let udp = document.start.test_start.protocol == "UDP";
    if udp && sent_up && !up.bins.is_empty() {
        arrived(&document)?;
    }
    if up.bins.is_empty() && down.bins.is_empty() {
        let problem = "there is no interval of a second or more in it; allowed: one or more";
        return Err(Fault::whole(problem));
    }
    let mut notes = Vec::new();
    for (series, direction) in [(&up, Direction::Up), (&down, Direction::Down)] {
        series.describe(direction, udp, &mut notes);
    }
    if let Some(error) = &document.error {
        notes.push(format!("the test ended early: {error}"));
    }
    let content = match (up.bins.is_empty(), down.bins.is_empty()) {
        (false, false) => Content::BothRates([up.bins, down.bins]),
        (is_down, _) => {
            let (bins, direction) =
                if is_down { (down.bins, Direction::Down) } else { (up.bins, Direction::Up) };
            let delays_ms = vec![None; bins.len()];
            Content::Rates { bins, direction: Some(direction), delays_ms }
        }
    };
    Ok(Measured { format: Format::Iperf3, content, times: Times::Utc, notes })
}

/// Checks that what was sent up by UDP arrived: then it is a rate of the path.
fn arrived(document: &Document) -> Result<(), Fault> {
    let remedy = "allowed: a download (`-R`), or the JSON of the server (`iperf3 -s -J`)";
    let sum = document.end.sum.as_ref().filter(|sum| sum.packets > 0.0 && document.error.is_none());
    let Some(sum) = sum else {
        let problem = format!("it does not say how much of an upload by UDP arrived; {remedy}");
        return Err(Fault::whole(problem));
    };
    let loss = sum.lost_packets / sum.packets;
    if loss <= LOSS {
        return Ok(());
    }
    Err(Fault::whole(format!(
        "{:.1} % of an upload by UDP was lost, and only the server knows when the rest arrived; \
            {remedy}",
        100.0 * loss
    )))
}

/// Returns what was transferred up and down.
fn series(document: &Document) -> Result<[Series; 2], Fault> {
    bounded(document.intervals.len(), 1)?;
    let start = &document.start;
    let begun = start.timestamp.timesecs;
    if !(0..LATEST).contains(&begun) {
        return Err(Fault::whole(format!("`timesecs` is {begun}; allowed: seconds since 1970")));
    }
    // Headers per byte of payload.
    let udp = start.test_start.protocol == "UDP";
    let segment = start.tcp_mss.or(start.tcp_mss_default).unwrap_or(0.0);
    let per_packet = if udp { start.test_start.blksize } else { segment };
    let headers = if udp { UDP_HEADERS } else { TCP_HEADERS };
    let factor = if per_packet >= 1.0 { 1.0 + headers / per_packet } else { 1.0 };
    let mut both: [Series; 2] = Default::default();
    for interval in &document.intervals {
        for direction in [Direction::Up, Direction::Down] {
            let of = |stream: &&Stream| stream.direction(start) == direction;
            both[place(direction)].add(interval, of, (begun, factor))?;
        }
    }
    Ok(both)
}

impl Series {
    /// Adds the streams of an interval that are `of` this direction, of a test that begun at a
    /// time in seconds, with IP bytes for each byte of payload.
    fn add(
        &mut self,
        interval: &Interval,
        of: impl Fn(&&Stream) -> bool,
        (begun, factor): (i64, f64),
    ) -> Result<(), Fault> {
        let (mut from, mut to, mut sum) = (f64::MAX, 0.0f64, 0.0);
        for stream in interval.streams.iter().filter(|stream| !stream.omitted).filter(of) {
            let valid = 0.0..1e7;
            if !valid.contains(&stream.start) || !valid.contains(&stream.end) || stream.bytes < 0.0
            {
                return Err(Fault::whole(format!(
                    "an interval from {} to {} s with {} bytes; allowed: times from 0 on, and no \
                        bytes below 0",
                    stream.start, stream.end, stream.bytes
                )));
            }
            (from, to) = (from.min(stream.start), to.max(stream.end));
            sum += stream.bytes;
            self.retransmits = self.retransmits.saturating_add(stream.retransmits);
            self.packets = self.packets.saturating_add(stream.packets);
            self.lost = self.lost.saturating_add(stream.lost_packets);
            self.loaded_rtt |= stream.rtt.is_some_and(|rtt| rtt > 0.0);
        }
        if from >= to {
            return Ok(());
        }
        self.bytes += sum;
        let (first, _, before) = self.open.unwrap_or((from, to, 0.0));
        self.open = Some((first, to, before + sum));
        if to - first >= BIN_S - 0.01 {
            self.bins.extend(self.open.take().map(|bin| rate(bin, begun, factor)));
        }
        Ok(())
    }

    /// Adds what a person should know of it.
    fn describe(&self, direction: Direction, udp: bool, notes: &mut Vec<String>) {
        let (Some(first), Some(last)) = (self.bins.first(), self.bins.last()) else { return };
        let open = self.open.map_or(0.0, |(_, _, bytes)| bytes);
        let seconds = (last.end - first.start) as f64 / NANOS;
        let mbps = (self.bytes - open) * 8.0 / seconds / 1e6;
        notes.push(format!("{mbps:.3} Mbps of payload, {}", direction.name()));
        if udp {
            let (packets, lost) = (self.packets, self.lost);
            notes
                .push(format!("{packets} packets sent, {lost} lost: those that found no capacity"));
            return;
        }
        let retransmits = self.retransmits;
        notes.push(format!("{retransmits} retransmissions; a rate of TCP is a lower bound"));
        if self.loaded_rtt {
            notes.push("RTTs of the loaded connection contain its queue: not used".to_owned());
        }
    }
}

/// Returns the rate of IP packets of a bin (start, end, bytes of payload).
fn rate((from, to, bytes): (f64, f64, f64), start: i64, factor: f64) -> RateBin {
    let nanos = |secs: f64| start * NANOS as i64 + (secs * NANOS).round() as i64;
    RateBin { start: nanos(from), end: nanos(to), bps: bytes * 8.0 * factor / (to - from) }
}
