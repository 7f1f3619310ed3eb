//! The path that a trace shows.

use bentpipe_units::{Bytes, Rate, Span, Time};

/// Fewest packets, and fewest arrivals apart from each other, over which a rate is measured: an
/// acknowledgement stands for many packets.
const RATE_PACKETS: u64 = 32;
const RATE_ARRIVALS: usize = 6;

/// What a trace shows of its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathEstimate {
    /// Smallest round-trip time.
    pub rtt: Span,
    /// Rate towards the receiver of the data: the highest at which packets left the path.
    pub rate: Rate,
    /// True if data waited in a queue at that rate. Otherwise the link may be faster.
    pub is_filled: bool,
    /// Longest wait of data in a queue.
    pub queue: Span,
    /// True if data was lost while it was about that long: it has no room for more.
    pub is_full: bool,
    /// Share of the data packets that were lost while the queue was not full.
    pub loss: f64,
}

/// A packet that passed: time of sending if known, of arrival, and bytes.
pub type Passed = (Option<Time>, Time, u64);

/// Packets that arrived together, such as those of one acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Time,
    /// Time at which the last of them was sent.
    sent: Option<Time>,
    /// Bytes and packets of all arrivals up to this one.
    bytes: u64,
    packets: u64,
}

/// Returns the highest rate at which packets passed, and whether the path determined it and not the
/// sender: bytes over the time in which they arrived or, if longer, in which they were sent.
/// `packets` are in the order of arrival.
///
/// The time of sending is what keeps acknowledgements that arrive together from showing a rate that
/// no link has (as in draft-ietf-ccwg-bbr, "Estimating Delivery Rate").
pub fn highest_rate(packets: &[Passed]) -> Option<(Rate, bool)> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    let (mut bytes, mut count) = (0_u64, 0);
    for &(sent, at, size) in packets {
        bytes = bytes.saturating_add(size);
        count += 1;
        match arrivals.last_mut() {
            Some(last) if last.at >= at => {
                (last.sent, last.bytes, last.packets) = (last.sent.max(sent), bytes, count);
            }
            _ => arrivals.push(Arrival { at, sent, bytes, packets: count }),
        }
    }
    let apart = RATE_ARRIVALS.min(arrivals.len() / 2).max(1);
    let least = RATE_PACKETS.min(count / 2);
    let mut last = 0;
    let mut best = None;
    for (index, first) in arrivals.iter().enumerate() {
        last = last.max(index + apart);
        while arrivals.get(last).is_some_and(|end| end.packets - first.packets < least) {
            last += 1;
        }
        let Some(end) = arrivals.get(last) else { break };
        let arrived = end.at.since(first.at);
        let sent = first.sent.zip(end.sent).map_or(Span::ZERO, |(from, to)| to.since(from));
        let passed = Bytes::new(end.bytes - first.bytes);
        let by_path = sent.mul_f64(1.1) < arrived;
        best = best.max(Some((Rate::over(passed, arrived.max(sent)), by_path)));
    }
    best
}
