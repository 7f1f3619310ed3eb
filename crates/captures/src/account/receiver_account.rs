//! The account of a transfer from its receiver's trace.

use super::asks::{Ask, Asks};
use super::exchange::exchanges;
use super::fluid_link::FullLink;
use super::frames::Frames;
use super::handshake::{first_wait, handshake_wait};
use super::late_acks::LateAcks;
use super::named_gaps::NamedGaps;
use super::own_waits::OwnWaits;
use super::path::{PathEstimate, rate_of};
use super::reading::find_windows;
use super::received::{Arrival, Received};
use super::spending::{FlowLimit, LimitKind, Spending, Turn};
use super::steady::{COMPARED, COVERED, LONG, Pattern, Steady, prompt};
use super::transfer::{CapturedTransfer, Carried, divide_busy, hides_rate};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Round trips of silence, without a loss, from which on no window of the sender explains it.
const IDLE: f64 = 1.5;
/// Share of a round trip from which on a silence is long, and the share of it by which data may
/// come later than a round trip after what it waited for.
const LONG_WAIT: f64 = 0.3;
const LATE: f64 = 0.1;
/// Share by which the RTT of a handshake may be longer than that of other packets.
const SIGNED: f64 = 0.1;
/// Longest time for which what waited in an outage comes before what was sent again.
const BEHIND: Span = Span::from_millis(1000);
/// Fewest packets that others overtook, and one in so many, from which on a path reorders.
const OVERTAKEN: (usize, usize) = (3, 50);
/// Silence of more than a round trip and this before data that was lost is a timeout.
const TIMEOUT: Span = Span::from_millis(100);
/// A first timeout of a sender is about this share of a round trip, and a time besides.
const FIRST_TIMEOUT: (f64, Span) = (1.5, Span::from_millis(300));
/// First timeouts in which a second one has passed, too, which is twice as long: what was sent
/// again had no answer either.
const SECOND_TIMEOUT: f64 = 3.5;

/// Packets of one size in a row that are full, without keys.
const FULL: usize = 3;
/// Longest time after which what came last is acknowledged.
const ANSWERED: Span = Span::from_millis(150);

/// Divides the time of a transfer.
pub fn receiver_account(
    trace: &CapturedConnection,
    received: &Received,
    rate: Option<Rate>,
) -> Result<CapturedTransfer, CaptureError> {
    let Received { arrivals, start, handshake, request, rtt, .. } = received;
    let passed: Vec<_> = arrivals.iter().map(|one| (None, one.at, one.wire)).collect();
    let waits = OwnWaits::new(trace, *rtt);
    let late = LateAcks::at_receiver(trace.transport, arrivals, *rtt, &waits);
    let seen = rate_of(&passed, *rtt, late.common_share(), rate);
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return Err(CaptureError::Empty("it has no data that was received"));
    };
    let frames = Frames::find(trace, false);
    let mut spending = Spending::default();
    let first_wait = first_wait(trace, *rtt);
    let is_late = first_wait.is_some();
    let (part, wait) = handshake_wait(trace, (*start, *handshake), *rtt, first_wait);
    spending.add(part, *start, *start + wait);
    spending.round_trips(TimePart::Handshake, *start + wait, *handshake, frames.as_ref());
    spending.add(TimePart::Request, *handshake, *request);
    let (answered, come) = answer(*request, *rtt, frames.as_ref());
    // Where the handshake had to wait, so has the request.
    let walk = Walk::new(trace, received, seen.rate, frames, waits);
    let first_ask = walk.asks.at(*request).filter(|_| is_late);
    let on_its_way = first_ask.map(|ask| ask.on_its_way(*rtt));
    let come = come.max(answered + on_its_way.unwrap_or_default());
    let turn = Turn { come, ..Turn::new(*request, *request, answered) };
    spending.turn(*request, turn, first.at);
    let walk = walk.run(&mut spending);
    let mut carried = walk.carried;
    carried.data = received.bytes.min(walk.data);
    carried.repeated = walk.data.saturating_sub(received.bytes);
    spending.evidence.hides_losses = trace.is_encrypted && !walk.gaps.are_told();
    spending.evidence.names_gaps = trace.is_encrypted && walk.gaps.are_some();
    divide_busy(&mut spending.budget, walk.busy.as_secs_f64(), &carried);
    spending.evidence.lost = walk.repairs;
    spending.evidence.loss_episodes = walk.episodes;
    let late = arrivals.iter().filter(|one| one.is_late).count();
    spending.evidence.frame = frames.map(|frames| frames.period);
    spending.evidence.reordered = late as f64 / arrivals.len() as f64;
    spending.finish();
    let is_shown = walk.was_full && !hides_rate(&spending.budget, spending.evidence.reordered);
    find_windows(&mut spending, trace, false, *rtt);
    let exchanges = exchanges(trace, false, &walk.asks, &walk.turns, *rtt, &spending.intervals);
    Ok(CapturedTransfer {
        bytes: Bytes::new(received.bytes),
        is_encrypted: trace.is_encrypted,
        is_sender: false,
        is_upload: false,
        completion: last.at.since(*start),
        budget: spending.budget,
        path: PathEstimate {
            rtt: *rtt,
            rate: seen.rate,
            proven: seen.proven,
            is_filled: rate.is_some() || seen.is_sustained && is_shown,
            queue: Span::ZERO,
            is_full: false,
            loss: walk.repairs as f64 / arrivals.len().max(1) as f64,
        },
        intervals: spending.intervals,
        both: None,
        evidence: spending.evidence,
        exchanges,
        losses: arrivals.iter().filter(|one| one.fills_gap).map(|one| (one.at, false)).collect(),
        notes: Vec::new(),
    })
}

/// Returns when the answer to what was asked at `asked` can come, and when it comes if it has to
/// wait for a frame.
fn answer(asked: Time, rtt: Span, frames: Option<&Frames>) -> (Time, Time) {
    match frames {
        Some(Frames { period, round_trip }) => (asked + *round_trip, asked + *round_trip + *period),
        None => (asked + rtt, asked + rtt),
    }
}

/// Follows the arrivals with a link that brings them, and gives each idle time of that link to what
/// held the sender back.
struct Walk<'a> {
    received: &'a Received,
    rate: Rate,
    frames: Option<Frames>,
    asks: Asks,
    waits: OwnWaits,
    /// Times at which this end sent anything: what waits for it comes a round trip later.
    own: Vec<Time>,
    steady: Steady,
    slow_start: bool,
    /// True while data is missing before the highest that has come, or may be taken for it.
    is_missing: bool,
    has_lost: bool,
    /// Packets that others overtook.
    late: usize,
    is_encrypted: bool,
    gaps: NamedGaps,
    last_repair: Option<Time>,
    /// The results.
    carried: Carried,
    busy: Span,
    data: u64,
    repairs: usize,
    episodes: usize,
    was_full: bool,
    turns: Vec<Time>,
}

impl<'a> Walk<'a> {
    fn new(
        trace: &CapturedConnection,
        received: &'a Received,
        rate: Rate,
        frames: Option<Frames>,
        waits: OwnWaits,
    ) -> Self {
        let own = trace.events.iter().filter_map(|(at, event)| match event {
            Event::Sent(_) => Some(*at),
            _ => None,
        });
        let mut asks = Asks::find(trace, false);
        if trace.is_encrypted {
            asks.answered_by_transport(trace, received.rtt);
        }
        Self {
            received,
            rate,
            frames,
            asks,
            waits,
            own: own.collect(),
            steady: Steady::new(received.rtt, trace.is_encrypted),
            slow_start: true,
            is_missing: false,
            has_lost: false,
            late: 0,
            is_encrypted: trace.is_encrypted,
            gaps: NamedGaps::find(trace, false),
            last_repair: None,
            carried: Carried::default(),
            busy: Span::ZERO,
            data: 0,
            repairs: 0,
            episodes: 0,
            was_full: false,
            turns: received.arrivals.first().map(|first| first.at).into_iter().collect(),
        }
    }

    fn run(mut self, spending: &mut Spending) -> Self {
        let rtt = self.received.rtt;
        let Some(first) = self.received.arrivals.first().map(|arrival| arrival.at) else {
            return self;
        };
        let mut unaccounted = Span::ZERO;
        let mut previous = first;
        let mut full = FullLink::new(rtt);
        for (index, arrival) in self.received.arrivals.iter().enumerate() {
            unaccounted += self.rate.time_for(Bytes::new(arrival.wire));
            let gap = arrival.at.since(previous);
            let on_link = gap.min(unaccounted);
            unaccounted -= on_link;
            self.busy += on_link;
            let idle = gap.saturating_sub(on_link);
            if self.gaps.are_some_until(arrival.at) {
                self.slow_start = false;
                self.has_lost = true;
            }
            if !idle.is_zero() {
                self.waited(previous, previous + idle, index, arrival, spending);
                full.idle(arrival.at, idle);
            }
            self.late += usize::from(arrival.is_late);
            let is_reordered = self.late >= OVERTAKEN.0 && self.late >= index / OVERTAKEN.1;
            // A sender takes for lost what others overtake.
            if arrival.loses || arrival.fills_gap || is_reordered {
                self.slow_start = false;
                self.has_lost = true;
            }
            self.is_missing = arrival.is_missing || is_reordered;
            if arrival.fills_gap {
                self.repairs += 1;
                let since = self.last_repair.map(|last| arrival.at.since(last));
                self.episodes += usize::from(since.is_none_or(|since| since > rtt));
                self.last_repair = Some(arrival.at);
            }
            self.steady.add(arrival.at, arrival.wire);
            if full.is_full(first, arrival.at) {
                (self.slow_start, self.was_full) = (false, true);
            }
            previous = arrival.at;
            self.carried.total += arrival.wire;
            self.data += arrival.data;
        }
        self
    }

    /// Spends the idle time of the link from `from` to `to`, before `arrival`.
    fn waited(
        &mut self,
        from: Time,
        to: Time,
        index: usize,
        arrival: &Arrival,
        spending: &mut Spending,
    ) {
        let rtt = self.received.rtt;
        let silence = to.since(from);
        if let Some(end) = self.out_until(arrival, from, to) {
            spending.add(TimePart::Outage, from, end);
            return spending.add(TimePart::Timeout, end, to);
        }
        if arrival.fills_gap {
            // Duplicate acknowledgements bring a repair within a round trip of what follows the
            // loss.
            let is_timeout = silence > rtt + TIMEOUT;
            let part = if is_timeout { TimePart::Timeout } else { TimePart::LossDetection };
            return spending.add(part, from, to);
        }
        if !self.is_missing
            && let Some((first, last)) = self.asked(from, arrival)
        {
            self.steady.restart();
            self.turns.push(arrival.at);
            let (answered, come) = answer(last.at, rtt, self.frames.as_ref());
            let on_its_way = last.on_its_way(rtt).max(self.waits.of_data(arrival.at));
            let come = come.max(answered + on_its_way);
            let turn = Turn::new(from, first.at, answered);
            return spending.turn(from, Turn { come, ..turn }, to);
        }
        let is_prompt = self.is_prompt(arrival.at, silence);
        self.steady.waited(arrival.at, silence, is_prompt);
        if let Some(limit) = arrival.limit {
            return spending.limited(limit, from, to);
        }
        let is_timeout = silence > rtt + TIMEOUT;
        // What ends a timeout shows that packets before it were lost, and its acknowledgement does.
        let answered = if is_timeout { self.answered(to) } else { to };
        if self.gaps.are_at(from, answered, rtt) {
            // Without keys, it is not known which data repeats what was lost.
            let part = if is_timeout { TimePart::Timeout } else { TimePart::CongestionWindow };
            return spending.add(part, from, to);
        }
        let mut to = to;
        if let Some(frames) = &self.frames {
            to = spending.add_at_end(TimePart::Capacity, frames.wait(silence), from, to);
        }
        let silence = to.since(from);
        let is_long = silence > rtt.mul_f64(IDLE) && !self.is_missing;
        if self.was_cut_off(index, from, to) {
            return spending.add(TimePart::Outage, from, to);
        }
        if is_long && (self.was_cut(index, silence) || self.waits.is_unanswered(from, to)) {
            return spending.add(TimePart::Outage, from, to);
        }
        let back = self.received.back_link.as_ref().map(|link| link.of_data(arrival.at));
        let to = self.waits.spend(arrival.at, back.unwrap_or_default(), (from, to), spending);
        let to = if self.is_encrypted && self.frames.is_none() {
            self.waits.of_held_acknowledgement(from, to, spending)
        } else {
            to
        };
        // What is left of a wait for an acknowledgement that was held back is its round trip.
        let is_trip = self.is_encrypted && to.since(from) <= rtt.mul_f64(IDLE);
        if is_long && !is_trip {
            return spending.pause(true, from, to);
        }
        let is_covered = self.is_encrypted && self.shows_losses(arrival.at);
        match self.steady.pattern(arrival.at) {
            Pattern::Constant(bytes) if !self.has_lost && is_covered => {
                let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(bytes) };
                let since = arrival.at.saturating_sub(rtt * COMPARED);
                spending.capped(limit, &COVERED, since, from, to);
            }
            Pattern::Constant(bytes) if !self.has_lost => {
                let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(bytes) };
                spending.limited(limit, from, to);
            }
            // Losses may be what keeps a window small.
            Pattern::Capped(bytes) if !self.has_lost && self.shows_losses(arrival.at) => {
                let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(bytes) };
                let parts = if is_covered { &COVERED[..] } else { &COVERED[..1] };
                spending.capped(limit, parts, arrival.at.saturating_sub(rtt * LONG), from, to);
            }
            Pattern::Clocked if !self.has_lost => spending.pause(true, from, to),
            Pattern::Growing if self.slow_start => spending.add(TimePart::SlowStart, from, to),
            _ => spending.add(TimePart::CongestionWindow, from, to),
        }
    }

    /// Returns when this end answered what came at a time, within a round trip.
    fn answered(&self, at: Time) -> Time {
        let next = self.own.get(self.own.partition_point(|own| *own < at));
        next.copied().filter(|own| *own <= at + self.received.rtt).unwrap_or(at)
    }

    /// Returns true if the file would show losses until a time.
    fn shows_losses(&self, at: Time) -> bool {
        !self.is_encrypted || self.gaps.are_none_until(at)
    }

    /// Returns the first and the last request for the data of `arrival`.
    fn asked(&mut self, from: Time, arrival: &Arrival) -> Option<(Ask, Ask)> {
        let rtt = self.received.rtt;
        if arrival.begins
            && let Some(ask) = self.asks.on(arrival.stream)
        {
            return (ask.at + rtt > from).then_some((ask, ask));
        }
        self.asks.between(from, arrival.at, rtt)
    }

    /// Returns until when the path was out in the silence from `from` to `to`, if it is longer than
    /// timeouts of the sender explain: until this end had an answer that it had called for or, if
    /// it had not but data is missing, all of it.
    fn out_until(&self, arrival: &Arrival, from: Time, to: Time) -> Option<Time> {
        let (share, besides) = FIRST_TIMEOUT;
        let first = self.received.rtt.mul_f64(share) + besides;
        if to.since(from) < first.mul_f64(SECOND_TIMEOUT) {
            return None;
        }
        let is_cut = arrival.fills_gap || self.is_missing;
        self.waits.unanswered_until(from, to, first).or(is_cut.then_some(to))
    }

    /// Returns true if the sender had gone on sending in a `silence` before the arrival numbered
    /// `index`: within a round trip from then on data is missing or comes again, or, behind what
    /// had waited, comes again later.
    fn was_cut(&self, index: usize, silence: Span) -> bool {
        let after = self.received.arrivals.get(index..).unwrap_or_default();
        let Some(first) = after.first() else { return false };
        let soon = first.at + self.received.rtt.mul_f64(1.5);
        let later = soon + silence.min(BEHIND);
        let mut after = after.iter().take_while(|one| one.at <= later);
        after.any(|one| one.repeats || one.at <= soon && (one.fills_gap || one.at_gap))
    }

    /// Returns true if the packets are not opened and the silence from `from` to `to`, in which
    /// several timeouts would have passed, is one of the path: the packets before and after it are
    /// full, so that the sender had more to send, and nothing that this end sent ended it. What an
    /// application has sent before it pauses ends with a packet that is not full.
    fn was_cut_off(&self, index: usize, from: Time, to: Time) -> bool {
        let (share, besides) = FIRST_TIMEOUT;
        let first = self.received.rtt.mul_f64(share) + besides;
        if !self.is_encrypted || to.since(from) < first.mul_f64(SECOND_TIMEOUT) {
            return false;
        }
        let around =
            index.checked_sub(FULL).and_then(|begin| self.received.arrivals.get(begin..=index));
        let are_full =
            around.is_some_and(|around| around.windows(2).all(|two| two[0].wire == two[1].wire));
        let after = self.own.get(self.own.partition_point(|own| *own <= from + ANSWERED));
        are_full && after.is_none_or(|own| *own >= to)
    }

    /// Returns true if this end had sent something a round trip before the first data after a
    /// silence.
    fn is_prompt(&self, at: Time, silence: Span) -> bool {
        let rtt = self.received.rtt;
        // A silence as short as the tolerance says nothing.
        let late = silence.mul_f64(if silence >= rtt.mul_f64(LONG_WAIT) { LATE } else { 0.0 });
        let tolerance = prompt(rtt).max(late).min(silence);
        let (least, most) = (at.saturating_sub(rtt + tolerance), at.saturating_sub(rtt));
        let index = self.own.partition_point(|own| *own < least);
        // The RTT of a handshake has the time of the other end's signature in it.
        let signed = rtt.mul_f64(if self.is_encrypted { SIGNED } else { 0.0 });
        self.own.get(index).is_some_and(|own| *own <= most + tolerance + signed)
    }
}

#[cfg(test)]
mod tests {
    use crate::account::account;
    use crate::event::{CapturedConnection, Event, Packet, Side, StreamPart, Transport};
    use bentpipe_timeseries::TimePart;
    use bentpipe_units::Time;

    /// A client of QUIC, 50 ms away: of packets each 10 ms, one of which is lost, 20 come before a
    /// silence in milliseconds and 20 after it, which begins with the lost data or ends with it.
    fn silence(millis: u64, is_filled_first: bool) -> CapturedConnection {
        let packet = |number, offset| Packet {
            is_application: true,
            is_eliciting: true,
            bytes: 1040,
            number,
            data: vec![StreamPart { stream: 0, offset, length: 1000 }].into(),
            ..Packet::default()
        };
        let at = Time::from_millis;
        let mut events = vec![(at(0), Event::Sent(packet(0, 0)))];
        let mut number = 0;
        let mut add = |time, index| {
            let acknowledged = if number == 0 { vec![(0, 0)] } else { Vec::new() };
            let data = Packet { acknowledged: acknowledged.into(), ..packet(number, index * 1000) };
            events.push((at(time), Event::Received(data)));
            number += 1;
        };
        (0..21).filter(|index| *index != 10).for_each(|index| add(50 + index * 10, index));
        let after = 250 + millis;
        let (lost, others) =
            if is_filled_first { (after, after + 10) } else { (after + 200, after) };
        let mut times: Vec<(u64, u64)> =
            (21..40).map(|one| (others + one * 10 - 210, one)).collect();
        times.push((lost, 10));
        times.sort_unstable();
        times.into_iter().for_each(|(time, index)| add(time, index));
        CapturedConnection { events, ..CapturedConnection::empty(Transport::Quic, Side::Client) }
    }

    #[test]
    fn a_silence_that_several_timeouts_passed_in_is_an_outage() {
        for is_filled_first in [true, false] {
            let outage = |millis| {
                let recorded =
                    account(&silence(millis, is_filled_first), None).expect("a transfer");
                recorded.budget.get(TimePart::Outage)
            };
            let long = outage(4000);
            assert!((3.9..=4.1).contains(&long), "{is_filled_first}: {long}");
            assert!(outage(600) < 0.1, "{is_filled_first}: a timeout");
        }
    }
}
