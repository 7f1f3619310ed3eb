//! The requests of a connection and their answers.

use super::asks::Asks;
use super::sent::main_streams;
use super::spending::Interval;
use super::spent::Spent;
use crate::event::{CapturedConnection, Event, Transport};
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// Share of the time of a request from which on something held it up.
const WORTH: f64 = 0.1;
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
    /// Data of other answers that passed between the request and its last byte.
    pub beside: Bytes,
    /// What most of the time from the request to the last byte was spent on, but for the time to
    /// send the data; `None` if that was less than a tenth of what the other end waited.
    pub cause: Option<(TimePart, Span)>,
}

/// What the time of one request was spent on, from when it was asked to its last byte.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestAccount {
    /// That time.
    pub completion: Span,
    /// Its parts in seconds, [`TimePart::Serialisation`] with the headers of its packets. With
    /// `others_s` they add up to it.
    pub budget: TimeBudget<f64>,
    /// Time in which the link carried data of other requests, in seconds.
    pub others_s: f64,
}

impl Exchange {
    /// Returns when it was asked or, if the file does not have that, when its first byte came.
    pub fn begin(&self) -> Time {
        self.asked.unwrap_or(self.first)
    }

    /// Divides its time. `intervals` are those of its transfer, in order.
    pub(super) fn account(&self, intervals: &[Interval]) -> RequestAccount {
        let completion = self.last.since(self.begin());
        let times = Spent::new(intervals).between(self.begin(), self.last);
        let mut budget = TimeBudget::from_iter([]);
        for (part, time) in TimePart::ALL.into_iter().zip(times) {
            budget.add(part, time.as_secs_f64());
        }
        let busy = (completion.as_secs_f64() - budget.total_s()).max(0.0);
        let all = self.bytes.get().saturating_add(self.beside.get()).max(1);
        let own = busy * (self.bytes.get() as f64 / all as f64);
        budget.add(TimePart::Serialisation, own);
        RequestAccount { completion, budget, others_s: busy - own }
    }
}

/// Returns the exchanges of a connection in the order of their requests: by streams in QUIC, in TCP
/// and without keys by turns, which are the times at which the answer to a request began.
pub fn exchanges(
    trace: &CapturedConnection,
    is_sender: bool,
    asks: &Asks,
    turns: &[Time],
    rtt: Span,
    intervals: &[Interval],
) -> Vec<Exchange> {
    // The end that asks waits for a round trip besides what the end that answers sees.
    let besides = if is_sender { rtt } else { Span::ZERO };
    let mut counts = ByteCounts::default();
    let mut found = match trace.transport {
        // Streams of packets that are not opened are not known.
        Transport::Quic if !trace.is_encrypted => by_streams(trace, is_sender, asks, &mut counts),
        _ => by_turns(trace, is_sender, asks, turns, &mut counts),
    };
    found.sort_by_key(Exchange::begin);
    let spent = Spent::new(intervals);
    for one in &mut found {
        let least = (one.last.since(one.begin()) + besides).mul_f64(WORTH);
        one.cause = spent.most(one.begin(), one.last).filter(|(_, time)| *time >= least);
        one.beside = counts.between(one.begin(), one.last).saturating_sub(one.bytes);
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

/// Number of new bytes of the main data up to each time.
#[derive(Debug, Default)]
struct ByteCounts(Vec<(Time, u64)>);

impl ByteCounts {
    fn add(&mut self, at: Time, bytes: u64) {
        let before = self.0.last().map_or(0, |(_, bytes)| *bytes);
        self.0.push((at, before.saturating_add(bytes)));
    }

    /// Returns the bytes from `from` to `to`, ends included.
    fn between(&self, from: Time, to: Time) -> Bytes {
        let before = |index: usize| {
            let last = index.checked_sub(1).and_then(|last| self.0.get(last));
            last.map_or(0, |(_, bytes)| *bytes)
        };
        let first = before(self.0.partition_point(|(at, _)| *at < from));
        Bytes::new(before(self.0.partition_point(|(at, _)| *at <= to)).saturating_sub(first))
    }
}

fn by_streams(
    trace: &CapturedConnection,
    is_sender: bool,
    asks: &Asks,
    counts: &mut ByteCounts,
) -> Vec<Exchange> {
    let main = if is_sender { main_streams(trace.sent()) } else { main_streams(trace.received()) };
    let mut found: BTreeMap<u64, Exchange> = BTreeMap::new();
    new_bytes(trace, is_sender, |at, stream, bytes| {
        counts.add(at, bytes);
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
    counts: &mut ByteCounts,
) -> Vec<Exchange> {
    let mut found: Vec<Exchange> = Vec::new();
    let mut next = 0;
    new_bytes(trace, is_sender, |at, _, bytes| {
        counts.add(at, bytes);
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
    let (bytes, beside) = (Bytes::new(0), Bytes::new(0));
    Exchange { stream, asked, first: at, last: at, bytes, beside, cause: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn the_time_of_a_request_is_its_waits_and_its_share_of_the_link() {
        let interval = |part, from, to| Interval { part, from: ms(from), to: ms(to) };
        let intervals = [
            interval(TimePart::Handshake, 0, 100),
            interval(TimePart::Request, 100, 200),
            interval(TimePart::SlowStart, 250, 400),
            interval(TimePart::Application, 480, 600),
        ];
        let request = Exchange {
            asked: Some(ms(150)),
            last: ms(500),
            bytes: Bytes::new(1000),
            beside: Bytes::new(1000),
            ..new(Some(4), None, ms(200))
        };
        let RequestAccount { completion, budget, others_s } = request.account(&intervals);
        assert_eq!(completion, Span::from_millis(350));
        let of = |part| (budget.get(part) * 1e3).round();
        assert_eq!(
            [TimePart::Handshake, TimePart::Request, TimePart::SlowStart].map(of),
            [0.0, 50.0, 150.0]
        );
        // 130 ms are left, of which half is of others.
        assert_eq!((of(TimePart::Application), of(TimePart::Serialisation)), (20.0, 65.0));
        assert!((others_s - 0.065).abs() < 1e-9);
    }

    #[test]
    fn what_passed_between_two_times_is_told() {
        let mut counts = ByteCounts::default();
        for (at, bytes) in [(10, 5), (20, 7), (20, 1), (30, 9)] {
            counts.add(ms(at), bytes);
        }
        assert_eq!(counts.between(ms(11), ms(20)), Bytes::new(8));
        assert_eq!(counts.between(ms(0), ms(40)), Bytes::new(22));
    }
}
