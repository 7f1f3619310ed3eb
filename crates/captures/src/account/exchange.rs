//! The requests of a connection and their answers.

use super::asks::Asks;
use super::sent::main_streams;
use super::spending::Interval;
use crate::event::{CapturedConnection, Event, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// Most exchanges that are kept.
const MAX_EXCHANGES: usize = 10_000;

/// A request and its answer. Times are those of the end that recorded them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchange {
    /// Its stream in QUIC.
    pub stream: Option<u64>,
    /// When the request was sent or, at the end that answers, arrived; `None` if the file does not
    /// have it.
    pub asked: Option<Time>,
    /// The first byte of the answer.
    pub first: Time,
    /// The last byte of the answer.
    pub last: Time,
    /// Data of the answer.
    pub bytes: Bytes,
    /// What most of the time from the request to the last byte was spent on, but for the time to
    /// send the data; `None` if that is all.
    pub cause: Option<(TimePart, Span)>,
}

/// Returns the exchanges of a connection in the order of their requests: by streams in QUIC, in TCP
/// by turns, which are the times at which the answer to a request began.
pub fn exchanges(
    trace: &CapturedConnection,
    is_sender: bool,
    asks: &Asks,
    turns: &[Time],
    intervals: &[Interval],
) -> Vec<Exchange> {
    let mut found = match trace.transport {
        Transport::Quic => by_streams(trace, is_sender, asks),
        Transport::Tcp => by_turns(trace, is_sender, asks, turns),
    };
    found.sort_by_key(|one| one.asked.unwrap_or(one.first));
    for one in &mut found {
        one.cause = cause(intervals, one.asked.unwrap_or(one.first), one.last);
    }
    found
}

/// Calls `each` with the time, the stream and the new bytes of the main data.
fn new_bytes(trace: &CapturedConnection, is_sender: bool, mut each: impl FnMut(Time, u64, u64)) {
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, event) in &trace.events {
        let packet = match event {
            Event::Sent(packet) if is_sender => packet,
            Event::Received(packet) if !is_sender => packet,
            _ => continue,
        };
        for part in packet.data.iter().filter(|_| packet.is_application) {
            let known = ends.entry(part.stream).or_default();
            let end = part.offset.saturating_add(part.length);
            // Data that fills a gap is new, too, but its bytes are counted once.
            each(*at, part.stream, end.saturating_sub(*known).min(part.length));
            *known = (*known).max(end);
        }
    }
}

fn by_streams(trace: &CapturedConnection, is_sender: bool, asks: &Asks) -> Vec<Exchange> {
    let main = if is_sender { main_streams(trace.sent()) } else { main_streams(trace.received()) };
    let mut found: BTreeMap<u64, Exchange> = BTreeMap::new();
    new_bytes(trace, is_sender, |at, stream, bytes| {
        let asked = asks.on(stream).map(|ask| ask.at).filter(|asked| *asked <= at);
        if found.len() >= MAX_EXCHANGES && !found.contains_key(&stream) {
            return;
        }
        // Control streams have no request.
        if asked.is_none() && !main.contains_key(&stream) {
            return;
        }
        let one = found.entry(stream).or_insert(new(Some(stream), asked, at));
        (one.last, one.bytes) = (at, one.bytes + Bytes::new(bytes));
    });
    found.into_values().collect()
}

fn by_turns(
    trace: &CapturedConnection,
    is_sender: bool,
    asks: &Asks,
    turns: &[Time],
) -> Vec<Exchange> {
    let mut found: Vec<Exchange> = Vec::new();
    let mut next = 0;
    new_bytes(trace, is_sender, |at, _, bytes| {
        if turns.get(next).is_some_and(|turn| *turn <= at) || found.is_empty() {
            while turns.get(next).is_some_and(|turn| *turn <= at) {
                next += 1;
            }
            if found.len() < MAX_EXCHANGES {
                let after = found.last().map(|one| one.last);
                found.push(new(None, asks.after(after, at), at));
            }
        }
        if let Some(one) = found.last_mut() {
            (one.last, one.bytes) = (at, one.bytes + Bytes::new(bytes));
        }
    });
    found
}

fn new(stream: Option<u64>, asked: Option<Time>, at: Time) -> Exchange {
    Exchange { stream, asked, first: at, last: at, bytes: Bytes::new(0), cause: None }
}

/// Returns what most of the time from `from` to `to` was spent on.
fn cause(intervals: &[Interval], from: Time, to: Time) -> Option<(TimePart, Span)> {
    let begin = intervals.partition_point(|one| one.to <= from);
    let mut times = [Span::ZERO; TimePart::COUNT];
    for one in intervals.get(begin..)?.iter().take_while(|one| one.from < to) {
        if let Some(time) = times.get_mut(one.part as usize) {
            *time += one.to.min(to).since(one.from.max(from));
        }
    }
    let longest = TimePart::ALL.into_iter().zip(times).max_by_key(|(_, time)| *time);
    longest.filter(|(_, time)| !time.is_zero())
}
