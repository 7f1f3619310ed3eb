//! What the time of a transfer was spent on, interval by interval, and what shows it.

use super::frames::Frames;
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::ops::Range;

/// A stretch of a transfer in which one thing held it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// What held it up.
    pub part: TimePart,
    /// Its begin, since the first event of the file.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

/// Which of the limits that are called flow control held a transfer up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// The receive window of TCP.
    ReceiveWindow,
    /// The limit of a QUIC connection (MAX_DATA).
    Connection,
    /// The limit of a QUIC stream (MAX_STREAM_DATA).
    Stream,
    /// A limit of the sender that stands still: its send buffer, or a largest congestion window.
    Sender,
}

/// A limit of the bytes in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLimit {
    /// Which limit.
    pub kind: LimitKind,
    /// Its size.
    pub size: Bytes,
}

/// How the receiver's application reads if it is slower than its data comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Share of the window that unread data took up, on average while it left no room.
    pub unread: f64,
    /// The rate at which it was read in that time.
    pub rate: Rate,
}

/// What the parts of a budget rest on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// Pauses of the application at the end that receives the data, which asks.
    pub asker_pauses: Span,
    /// Pauses of the application at the end that sends the data.
    pub sender_pauses: Span,
    /// The limit behind the most time of flow control, and that time.
    pub limit: Option<(FlowLimit, Span)>,
    /// The first receive window of TCP that was announced after the handshake.
    pub first_window: Option<Bytes>,
    /// How the receiver's application reads, if that is what the sender waited for.
    pub reading: Option<Reading>,
    /// Packets of data that were lost, and the episodes of such losses: those within a round trip
    /// are one.
    pub lost: usize,
    /// See `lost`.
    pub loss_episodes: usize,
    /// Lost packets that came upon a full queue.
    pub lost_at_queue: usize,
    /// Share of the packets of data that came out of order, as their receiver saw them.
    pub reordered: f64,
    /// True if the packets are not opened and the sizes of acknowledgements do not say whether any
    /// were lost: all have one size, or there are few. What losses cause then looks like something
    /// else.
    pub hides_losses: bool,
    /// True if the packets are not opened and the sizes of acknowledgements say that some of the
    /// packets before them were lost, but not which.
    pub names_gaps: bool,
    /// Time between the frames in which the link carries data, if it does.
    pub frame: Option<Span>,
}

/// What has been found of a transfer's time.
#[derive(Debug, Default)]
pub(super) struct Spending {
    pub budget: TimeBudget<f64>,
    pub intervals: Vec<Interval>,
    pub evidence: Evidence,
    /// Time of each limit of flow control.
    limits: Vec<(FlowLimit, Span)>,
    /// The intervals that [`Self::capped`] has been through.
    renamed: Range<usize>,
}

/// Most intervals that are kept: those after them are in the budget alone.
const MAX_INTERVALS: usize = 100_000;

impl Spending {
    /// Adds the time from `from` to `to`. Without any it does nothing.
    pub fn add(&mut self, part: TimePart, from: Time, to: Time) {
        if to <= from {
            return;
        }
        self.budget.add(part, to.since(from).as_secs_f64());
        if let Some(last) = self.intervals.last_mut()
            && last.part == part
            && last.to >= from
        {
            (last.from, last.to) = (last.from.min(from), last.to.max(to));
        } else if self.intervals.len() < MAX_INTERVALS {
            self.intervals.push(Interval { part, from, to });
        }
    }

    /// Adds the last `span` of the time from `from` to `to`. Returns until when the time is left.
    pub fn add_at_end(&mut self, part: TimePart, span: Span, from: Time, to: Time) -> Time {
        let begin = to.saturating_sub(span).max(from);
        self.add(part, begin, to);
        begin
    }

    /// Adds the round trips of `part` from `from` to `to`, each of which waits for a frame if the
    /// link has `frames`.
    pub fn round_trips(&mut self, part: TimePart, from: Time, to: Time, frames: Option<&Frames>) {
        let took = to.since(from);
        let needed = frames.map_or(took, |frames| frames.needed(took));
        self.add(part, from, from + needed);
        self.add(TimePart::Capacity, from + needed, to);
    }

    /// Puts the intervals in order, once all are known, and names silences for what they are:
    /// several that are alike are how the link gives its capacity, and no outages.
    pub fn finish(&mut self) {
        self.intervals.sort_by_key(|one| one.from);
        let mut silences: Vec<(Time, Time)> = Vec::new();
        for one in self.intervals.iter().filter(|one| one.part == TimePart::Outage) {
            let near = one.to.since(one.from).mul_f64(NEAR);
            match silences.last_mut() {
                // Repeated packets divide one silence.
                Some(last) if one.from.since(last.1) <= near => last.1 = one.to,
                _ => silences.push((one.from, one.to)),
            }
        }
        let lengths = silences.iter().map(|(from, to)| to.since(*from)).collect();
        if !is_habit(lengths) {
            return;
        }
        let time = self.budget.get(TimePart::Outage);
        self.budget.transfer(TimePart::Outage, TimePart::Capacity, time);
        for one in self.intervals.iter_mut().filter(|one| one.part == TimePart::Outage) {
            one.part = TimePart::Capacity;
        }
    }

    /// Adds a pause of the application, at the end that sends the data or at the other one.
    pub fn pause(&mut self, of_sender: bool, from: Time, to: Time) {
        self.add(TimePart::Application, from, to);
        let evidence = &mut self.evidence;
        let sum = if of_sender { &mut evidence.sender_pauses } else { &mut evidence.asker_pauses };
        *sum += to.since(from);
    }

    /// Adds time in which flow control left no room.
    pub fn limited(&mut self, limit: FlowLimit, from: Time, to: Time) {
        self.add(TimePart::FlowControl, from, to);
        self.add_limit(limit, to.since(from));
    }

    /// Adds `span` to the time of a limit of flow control.
    fn add_limit(&mut self, limit: FlowLimit, span: Span) {
        // Windows that grow are one limit.
        match self.limits.iter_mut().find(|(known, _)| known.kind == limit.kind) {
            Some((known, time)) => {
                known.size = known.size.max(limit.size);
                *time += span;
            }
            None => self.limits.push((limit, span)),
        }
        self.evidence.limit = self.limits.iter().copied().max_by_key(|(_, time)| *time);
    }

    /// Adds time in which flow control left no room, which shows that what looked like one of
    /// `parts` after `since` was the same limit.
    pub fn capped(
        &mut self,
        limit: FlowLimit,
        parts: &[TimePart],
        since: Time,
        from: Time,
        to: Time,
    ) {
        let mut time = Span::ZERO;
        let mut begin = self.intervals.len();
        loop {
            // A later limit may look further back than the one before: what that has been through
            // is passed over, so that each interval is looked at once.
            if begin == self.renamed.end {
                begin = self.renamed.start;
            }
            let before = begin.checked_sub(1);
            let Some(one) = before.and_then(|index| self.intervals.get_mut(index)) else { break };
            if one.from < since {
                break;
            }
            if parts.contains(&one.part) {
                let took = one.to.since(one.from);
                self.budget.transfer(one.part, TimePart::FlowControl, took.as_secs_f64());
                one.part = TimePart::FlowControl;
                time += took;
            }
            begin -= 1;
        }
        self.renamed = begin..self.intervals.len();
        self.add(TimePart::FlowControl, from, to);
        self.add_limit(limit, to.since(from) + time);
    }

    /// Adds the time from `from` to `to` before data that answers a request.
    pub fn turn(&mut self, from: Time, turn: Turn, to: Time) {
        let mut begin = from;
        let mut until = |end: Time| {
            let end = end.max(begin).min(to);
            (std::mem::replace(&mut begin, end), end)
        };
        let [back, late, asked, first, answered, come] =
            [turn.back, turn.late, turn.asked, turn.first, turn.answered, turn.come]
                .map(&mut until);
        let rest = until(to);
        self.add(TimePart::Request, back.0, back.1);
        self.add(TimePart::Capacity, late.0, late.1);
        self.pause(false, asked.0, asked.1);
        self.add(TimePart::Capacity, first.0, first.1);
        self.add(TimePart::Request, answered.0, answered.1);
        self.add(TimePart::Capacity, come.0, come.1);
        self.pause(true, rest.0, rest.1);
    }
}

/// Share of a silence up to which it follows on the one before.
const NEAR: f64 = 0.5;
/// Silences from which on they are a habit if they are alike.
const HABIT: usize = 4;

/// Returns true if there are several silences that are all alike: it is how an end, or the link,
/// always does.
pub(super) fn is_habit(mut lengths: Vec<Span>) -> bool {
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    lengths.len() >= HABIT && lengths.last().is_some_and(|longest| *longest <= median * 3)
}

/// The times of a request between two pieces of main data, at the end that recorded them. Each ends
/// what the time since the one before was spent on; one that is earlier than that ends nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// When a request could be there that follows on the data before: at the end that sends the
    /// data a round trip after that, at the other end at once.
    pub back: Time,
    /// The same with what the data before waited on its way.
    pub late: Time,
    /// When the first of the request was sent or, at the end that sends the data, would have come
    /// if it had not waited on its way.
    pub asked: Time,
    /// The first of the request.
    pub first: Time,
    /// When the answer could be there: with the last of the request or, at the end that receives
    /// the data, a round trip later.
    pub answered: Time,
    /// The same with what the request and its answer waited on their way, as far as this end knows
    /// it only from the answer.
    pub come: Time,
}

impl Turn {
    /// Returns a turn without waits on the way.
    pub fn new(back: Time, first: Time, answered: Time) -> Self {
        Self { back, late: back, asked: first, first, answered, come: answered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_turn_is_a_pause_a_round_trip_and_a_pause() {
        // At the end that receives the data.
        let mut spending = Spending::default();
        let turn = Turn::new(ms(100), ms(400), ms(1000));
        spending.turn(ms(100), turn, ms(1200));
        assert_eq!(spending.evidence.asker_pauses, Span::from_millis(300));
        assert_eq!(spending.evidence.sender_pauses, Span::from_millis(200));
        assert!((spending.budget.get(TimePart::Request) - 0.6).abs() < 1e-9);
        // The same at the end that sends it.
        let mut spending = Spending::default();
        let turn = Turn::new(ms(700), ms(1000), ms(1000));
        spending.turn(ms(100), turn, ms(1200));
        assert_eq!(spending.evidence.asker_pauses, Span::from_millis(300));
        assert_eq!(spending.evidence.sender_pauses, Span::from_millis(200));
        // A request that was sent before the data before it had come.
        let mut spending = Spending::default();
        let turn = Turn::new(ms(1000), ms(700), ms(1300));
        spending.turn(ms(1000), turn, ms(1300));
        assert_eq!(spending.evidence.asker_pauses, Span::ZERO);
        assert!((spending.budget.get(TimePart::Request) - 0.3).abs() < 1e-9);
    }

    #[test]
    fn silences_that_are_alike_are_how_a_link_gives_capacity() {
        for (lengths, part) in
            [([300, 500, 400, 600], TimePart::Capacity), ([300, 500, 400, 4000], TimePart::Outage)]
        {
            let mut spending = Spending::default();
            for (index, length) in (0..).zip(lengths) {
                spending.add(TimePart::Outage, ms(index * 9000), ms(index * 9000 + length));
            }
            spending.finish();
            let all = lengths.iter().sum::<u64>() as f64 / 1e3;
            assert!((spending.budget.get(part) - all).abs() < 1e-9, "{part:?}");
            assert!(spending.intervals.iter().all(|one| one.part == part));
        }
    }

    #[test]
    fn a_limit_that_looks_back_further_than_the_one_before_names_what_that_left() {
        let mut spending = Spending::default();
        let parts = [TimePart::CongestionWindow];
        let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(64_000) };
        // A wait of 80 ms in each round trip of 100 ms.
        for trip in 0..20 {
            let (from, to) = (ms(trip * 100), ms(trip * 100 + 80));
            let since = |trips: u64| ms((trip * 100_u64).saturating_sub(trips * 100));
            match trip {
                0..12 => spending.add(TimePart::CongestionWindow, from, to),
                12 => spending.capped(limit, &parts, since(4), from, to),
                13..16 => spending.add(TimePart::Pacing, from, to),
                _ => spending.capped(limit, &parts, since(12), from, to),
            }
        }
        // The first of those is in the sixteenth round trip, and looks back to the fourth.
        let seconds = spending.budget.get(TimePart::CongestionWindow);
        assert!((seconds - 4.0 * 0.08).abs() < 1e-9, "{seconds}");
        let (_, time) = spending.evidence.limit.expect("a limit");
        assert_eq!(time, Span::from_millis(13 * 80));
        assert!((spending.budget.get(TimePart::FlowControl) - 13.0 * 0.08).abs() < 1e-9);
    }

    #[test]
    fn a_window_that_grows_is_one_limit() {
        let mut spending = Spending::default();
        let limit = |kind, kb: u64| FlowLimit { kind, size: Bytes::new(kb * 1000) };
        spending.limited(limit(LimitKind::ReceiveWindow, 64), ms(0), ms(10));
        spending.limited(limit(LimitKind::Sender, 400), ms(10), ms(22));
        spending.limited(limit(LimitKind::ReceiveWindow, 128), ms(22), ms(32));
        let (found, time) = spending.evidence.limit.expect("a limit");
        assert_eq!(found, limit(LimitKind::ReceiveWindow, 128));
        assert_eq!(time, Span::from_millis(20));
    }
}
